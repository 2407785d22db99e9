// ops/topk.h: the largest or smallest elements along an axis, in order.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// The first k elements along `axis` of x in falling (or rising) order, and where they were.
struct TopK {
  int64_t axis = -1;
  bool largest = true;
  Expr count = {};  // k

  static constexpr std::string_view kName = "topk";
  static constexpr std::string_view kDoc =
      "values, indices = the first count elements of each slice of x along axis, sorted from the "
      "largest (or the smallest) on, and their positions along axis. Of equal elements the one "
      "with "
      "the lower position comes first; NaN is larger than everything.\n"
      "C1: x is a float of 16 bits or more or an integer of 8 bits or more.\n"
      "C2: -rank <= axis < rank.\n"
      "C3: count is an i64 expression of symbols, a dim not above the axis as far as both are "
      "constants. Whoever makes it of symbols sees to that.\n"
      "Sources: ONNX TopK-24; NaN as numpy.sort.";
  static constexpr std::array kInputs = {Port{"x", "rank above 0"}};
  static constexpr std::array kOutputs = {Port{"values", "dims of x with count along axis"},
                                          Port{"indices", "i64, dims of values"}};
  static constexpr auto kFields = std::tuple{
      field("axis", &TopK::axis), field("largest", &TopK::largest), field("count", &TopK::count)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_topk"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<TopK> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
