// ops/shape_of.h: the dims of a tensor as a tensor.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the dims of x. Independent of its elements, so it folds into dimension expressions.
struct ShapeOf {
  static constexpr std::string_view kName = "shape_of";
  static constexpr std::string_view kDoc =
      "y[a] = size of dim a of x.\n"
      "Sources: ONNX Shape-21, with start and end as a slice.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"}};
  static constexpr std::array kOutputs = {Port{"y", "i64 [rank]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // integers
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<ShapeOf> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
