// codegen/dialect.h: the C-like languages of GPUs as tables of names and limits.
//
// The emitter writes one text for all of them: what the table does not tell apart is told apart by
// the prelude's headers (codegen/prelude/gpu), which the text stands on. Another GPU that is
// programmed in a C-like language is another row here and another back end there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "kernel/expr.h"

namespace ingot {

/// A language of GPU kernels.
struct Dialect {
  std::string_view name;
  std::vector<std::string_view> prelude;  ///< headers, as resource() knows them, in order

  // Words. {threads}, {type}, {name}, {count}, {op} and {value} are replaced.
  std::string_view kernel;        ///< before the name of a kernel
  std::string_view thread_index;  ///< of this thread in its block
  std::string_view block_index;   ///< of this block in the grid
  std::string_view grid_size;     ///< blocks in the grid
  std::string_view shared;        ///< declares an array that a block shares
  std::string_view barrier;       ///< waits for all threads of the block
  std::string_view block_reduce;  ///< joins a value of every thread of the block

  // Limits.
  int warp_size;
  int threads_per_block;  ///< what the emitter uses; at most 1024 and whole warps
  int64_t max_shared_bytes;
  int64_t max_blocks;
};

/// CUDA for sm_80 and later, by NVRTC or nvcc.
const Dialect& cuda_dialect();
/// HIP for AMD GPUs with waves of 64, by clang.
const Dialect& hip_dialect();

/// Name of the C++ type in memory ("gpu::f16"); empty for a type that GPU kernels cannot hold yet:
/// 8-bit floats, types narrower than a byte, strings and complex numbers.
std::string_view storage_type(DType dtype);
/// Name of the type of a value of that dtype in an expression.
std::string_view value_type(DType dtype);

/// The prelude's function for a kind of expression that is written as a call, or empty.
std::string_view function_name(ExprKind kind);
/// The prelude's class that joins two values of a reduction.
std::string_view reduction_name(ReduceKind kind);

/// The prelude as one text that includes nothing, to be put in front of kernels.
std::string gpu_prelude(const Dialect& dialect);

/// `words` with each {key} replaced.
std::string fill(std::string_view words,
                 const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace ingot
