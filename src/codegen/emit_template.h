// codegen/emit_template.h: regions around a matrix product or convolution as C++: the prelude's
// micro-kernel with every size literal, and a generated epilogue.
#pragma once

#include <string>
#include <vector>

#include "codegen/region.h"

namespace ingot {

/// The text of a kernel function and how its work is counted.
struct EmittedKernel {
  std::string text;
  std::vector<std::string> shared;  // definitions in front of it; other kernels may have the same
  Expr units;
  Expr unit_ns;               // i64
  Expr scratch_bytes;         // per worker
  double flops_per_unit = 0;  // of a full unit, where dims are constants; else 0
  double bytes_per_unit = 0;
};

/// How buffers are called in the text: by the values' names, or by number so that kernels of
/// different layers compare equal.
enum class BufferNames : uint8_t { of_values, neutral };

/// The node of a region that is a template, or none. Of two the one that reads the other.
NodeId find_template(const Graph& body);

/// Writes the kernel `name` of a region with a template.
EmittedKernel emit_template(const Graph& body, std::string_view name, BufferNames names);

/// Writes the kernel `name` of any other region through the loop IR.
EmittedKernel emit_loops(const Graph& body, std::string_view name, BufferNames names);

}  // namespace ingot
