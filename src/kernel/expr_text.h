// kernel/expr_text.h: details of the text form that the text form of kernels shares.
#pragma once

#include <string>

#include "kernel/expr.h"
#include "kernel/stmt.h"
#include "kernel/syntax.h"

namespace ingot {

struct ExprTextOptions {
  /// Whether locals and loads carry their dtype: "t5:f32", "b2:f32[i0]".
  bool typed = true;
};

std::string to_text(Expr expr, ExprTextOptions options);

}  // namespace ingot
