// ops/concat_copy.h: a concatenation of many parts, copied one by one.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// The same as Concat, as copies instead of an element that asks where it lies.
struct ConcatCopy {
  int64_t axis = 0;
  int64_t parts = 0;

  static constexpr std::string_view kName = "concat_copy";
  static constexpr std::string_view kDoc =
      "y holds the inputs one after the other along axis, as concat does. An element of a fused "
      "concat compares its index with every part's end; many parts are copied instead.\n"
      "C1: those of concat; parts inputs of whole bytes.\n"
      "Sources: none; made by passes.";
  static constexpr std::array kInputs = {Port{"x", "any type, rank above 0", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "the dims of x, summed along axis"}};
  static constexpr auto kFields =
      std::tuple{field("axis", &ConcatCopy::axis), field("parts", &ConcatCopy::parts)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_concat"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ConcatCopy> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
