// ops/reduce.h: sums, products, extremes, any and all over some axes.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = reduction of x over `axes`.
struct Reduce {
  ReduceKind kind = ReduceKind::sum;
  std::vector<int64_t> axes = {};  // distinct, each in [-rank, rank); none: y is x
  bool keepdims = false;           // reduced dims stay, with size 1

  static constexpr std::string_view kName = "reduce";
  static constexpr std::string_view kDoc =
      "y = sum, product, min, max, any or all of x over axes, in the compute type of x.\n"
      "Reducing nothing gives 0, 1, the largest, the smallest, false, true. NaN propagates.\n"
      "C1: x is a float or integer for sum, product, min, max, and boolean for any, all.\n"
      "C2: axes are distinct and each in [-rank, rank).\n"
      "Sources: ONNX ReduceSum-13, ReduceProd-18, ReduceMin-20, ReduceMax-20.";
  static constexpr std::array kInputs = {Port{"x", "any rank"}};
  static constexpr std::array kOutputs = {
      Port{"y", "x without the reduced dims, or with size 1 there"}};
  static constexpr auto kFields =
      std::tuple{field("kind", &Reduce::kind), field("axes", &Reduce::axes),
                 field("keepdims", &Reduce::keepdims)};
  static constexpr Accuracy kAccuracy = rounding(1);  // one rounding per term
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Reduce> sample(Random& rng, ExprPool& pool);

  /// Whether each of `rank` dims is reduced.
  std::vector<bool> reduced(int64_t rank) const;
};

}  // namespace ingot::ops
