// ops/concat.h: tensors one after the other along an axis.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the inputs side by side along `axis`.
struct Concat {
  int64_t axis = 0;

  static constexpr std::string_view kName = "concat";
  static constexpr std::string_view kDoc =
      "y holds the inputs one after the other along axis.\n"
      "C1: there is an input, and all have one type and one rank above 0.\n"
      "C2: -rank <= axis < rank.\n"
      "C3: all other dims agree.\n"
      "Sources: ONNX Concat-13.";
  static constexpr std::array kInputs = {Port{"x", "any type, rank above 0", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "the dims of x, summed along axis"}};
  static constexpr auto kFields = std::tuple{field("axis", &Concat::axis)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Concat> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
