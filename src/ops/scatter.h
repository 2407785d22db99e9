// ops/scatter.h: a copy of a tensor with some of its rows replaced or combined.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = x, then for each i in turn y[positions[i]] = updates[i], or combined with it.
struct ScatterRows {
  bool combine = false;
  ReduceKind kind = ReduceKind::sum;  // if combine

  static constexpr std::string_view kName = "scatter";
  static constexpr std::string_view kDoc =
      "y = x, then for i = 0, 1, ..: y[positions[i]] = updates[i], or with combine the sum, "
      "product, "
      "min or max of y[positions[i]] and updates[i], rounded to the type of x each time; NaN "
      "propagates. Positions outside of x have no effect. Several dims to choose from are reshaped "
      "into one.\n"
      "C1: x has rank 1 or more and elements of whole bytes; with combine these are floats of 16 "
      "bits "
      "or more or integers.\n"
      "C2: positions is i64[M].\n"
      "C3: updates has the type of x and its dims with M for the first.\n"
      "C4: kind is sum, product, min or max.\n"
      "Sources: ONNX ScatterND-18, ScatterElements-18.";
  static constexpr std::array kInputs = {Port{"x", "[N, ..]"}, Port{"positions", "i64 [M]"},
                                         Port{"updates", "[M, ..]"}};
  static constexpr std::array kOutputs = {Port{"y", "type and dims of x"}};
  static constexpr auto kFields =
      std::tuple{field("combine", &ScatterRows::combine), field("kind", &ScatterRows::kind)};
  static constexpr Accuracy kAccuracy = rounding(1);  // one operation a row
  static constexpr RoutineInfo kRoutine = {"ingot_scatter"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ScatterRows> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
