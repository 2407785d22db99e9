// ops/control_dims.h: the dims of what bodies give out, seen from the graph around them.
#pragma once

#include <map>
#include <set>

#include "base/check.h"
#include "ir/op_def.h"

namespace ingot::ops {

/// Dims outside of bodies: those that are equal and known stay; others become data-dependent
/// symbols, the same one for the same pair.
class DimJoiner {
 public:
  /// Symbols are named after `op`. Known are those in the types of ctx.inputs.
  DimJoiner(InferContext& ctx, std::string_view op);

  Expr join(Expr a, Expr b);
  /// Of the same rank.
  Exprs join(const Exprs& a, const Exprs& b);
  bool is_known(Expr dim) const;

  bool may_be_zero = false;  // whatever the range of what is joined

 private:
  InferContext& ctx_;
  std::string_view op_;
  std::set<uint32_t> known_;
  std::map<std::pair<uint32_t, uint32_t>, Expr> joined_;  // by the ids of both
};

/// Errors: `type` is not that of one element of `dtype`.
Status expect_scalar(std::string_view op, std::string_view what, const Type& type, DType dtype);

}  // namespace ingot::ops
