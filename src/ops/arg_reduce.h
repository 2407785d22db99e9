// ops/arg_reduce.h: where the maximum or minimum along an axis lies.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = position of the maximum (or minimum) of x along `axis`.
struct ArgReduce {
  bool max = true;  // or the minimum
  int64_t axis = 0;
  bool keepdims = false;
  bool last = false;  // of equal elements the last, not the first

  static constexpr std::string_view kName = "arg_reduce";
  static constexpr std::string_view kDoc =
      "y = position along axis of the maximum (max) or minimum of x; of equal elements the first, "
      "or the last. A NaN counts as the extreme. Along an empty symbolic axis y is 0.\n"
      "C1: x is a float or integer.\n"
      "C2: -rank <= axis < rank.\n"
      "C3: axis is not empty.\n"
      "Sources: ONNX ArgMax-13, ArgMin-13; NaN as numpy.argmax.";
  static constexpr std::array kInputs = {Port{"x", "rank above 0"}};
  static constexpr std::array kOutputs = {Port{"y", "i64, x without axis, or with size 1 there"}};
  static constexpr auto kFields =
      std::tuple{field("max", &ArgReduce::max), field("axis", &ArgReduce::axis),
                 field("keepdims", &ArgReduce::keepdims), field("last", &ArgReduce::last)};
  static constexpr Accuracy kAccuracy = exact();  // integers
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<ArgReduce> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
