// codegen/closure.h: generated epilogues as function objects that kernels share.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ingot {

/// Names of a kernel's scope and their C++ types: "const f32*", "i64".
using Captures = std::map<std::string, std::string, std::less<>>;

/// A function object that names nothing of the kernel it was written for.
struct Closure {
  std::string type;        // its name, which stands for its text
  std::string definition;  // of the struct
  std::string arguments;   // "{x_1, y_2, 64}": what the kernel makes it of
};

/// Turns the statements of an epilogue into a function object. What they use of `captures`, and
/// whole numbers that something is multiplied by, become members: so kernels that differ in buffers
/// and strides alone share one type, and the compiler works on it once. Numbers that divide stay,
/// because dividing by a constant is much cheaper.
Closure close_epilogue(std::string_view statements, const Captures& captures);

}  // namespace ingot
