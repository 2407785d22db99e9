// ops/non_max_suppression.h: the boxes that no better box of their class covers.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y[i] = batch, class and number of the i-th box that is kept.
struct NonMaxSuppression {
  bool centre = false;  // boxes are centre and size, not corners

  static constexpr std::string_view kName = "non_max_suppression";
  static constexpr std::string_view kDoc =
      "For each batch and class, boxes with a score above score_threshold are visited from the "
      "best "
      "score on, of equal scores the lower number first. A box is kept unless its intersection "
      "with "
      "one that was kept is more than overlap_threshold of their union, until most are kept. y "
      "holds "
      "batch, class and number of the kept ones, by batch, then class, then score. Boxes are two "
      "opposite corners y, x, y, x, or with centre x, y, width, height. The number of rows is a "
      "new "
      "symbol, known only once y is computed.\n"
      "C1: boxes f32[B, N, 4], scores f32[B, C, N].\n"
      "C2: most i64[], overlap_threshold and score_threshold f32[].\n"
      "Sources: ONNX NonMaxSuppression-11; the order of equal scores as onnxruntime.";
  static constexpr std::array kInputs = {
      Port{"boxes", "[B, N, 4]"}, Port{"scores", "[B, C, N]"}, Port{"most", "of one class"},
      Port{"overlap_threshold", "in [0, 1]"}, Port{"score_threshold", "a number"}};
  static constexpr std::array kOutputs = {Port{"y", "i64 [kept, 3]"}};
  static constexpr auto kFields = std::tuple{field("centre", &NonMaxSuppression::centre)};
  static constexpr Accuracy kAccuracy = exact();  // integers
  static constexpr RoutineInfo kRoutine = {"ingot_non_max_suppression"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<NonMaxSuppression> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
