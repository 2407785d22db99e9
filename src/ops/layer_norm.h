// ops/layer_norm.h: normalisation to mean 0 and variance 1 over the last dims.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over the dims from `axis` on.
struct LayerNorm {
  int64_t axis = -1;
  double epsilon = 1e-5;

  static constexpr std::string_view kName = "layer_norm";
  static constexpr std::string_view kDoc =
      "y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias, means over the "
      "dims from axis on.\n"
      "C1: x is a float; scale and bias have its type.\n"
      "C2: -rank <= axis < rank.\n"
      "C3: scale and bias have the dims of x from axis on.\n"
      "C4: epsilon is finite and at least 0.\n"
      "Sources: ONNX LayerNormalization-17, first output.";
  static constexpr std::array kInputs = {
      Port{"x", "rank above 0"}, Port{"scale", "dims of x from axis on", PortKind::optional},
      Port{"bias", "dims of x from axis on", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", "shape and type of x"}};
  static constexpr auto kFields =
      std::tuple{field("axis", &LayerNorm::axis), field("epsilon", &LayerNorm::epsilon)};
  // Two sums, a square root and a division; the difference to the mean is relative to the largest
  // element.
  static constexpr Accuracy kAccuracy = rounding(8);
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<LayerNorm> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
