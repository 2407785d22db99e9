// ops/broadcast_to.h: repeats a tensor to larger dims.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = x repeated along new leading dims and along dims of size 1.
struct BroadcastTo {
  Exprs dims = {};

  static constexpr std::string_view kName = "broadcast_to";
  static constexpr std::string_view kDoc =
      "y[i..] = x[i..] with the dims aligned at the last one; dims of x of size 1 repeat.\n"
      "C1: dims are expressions of symbols, constants in [0, 2^31), at least as many as x has.\n"
      "C2: each dim of x is 1 or that of y.\n"
      "Sources: numpy.broadcast_to, ONNX Expand-13.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"}};
  static constexpr std::array kOutputs = {Port{"y", "dims"}};
  static constexpr auto kFields = std::tuple{field("dims", &BroadcastTo::dims)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<BroadcastTo> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
