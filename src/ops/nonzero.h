// ops/nonzero.h: the indices of the elements that are not zero.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y[:, j] = index of the j-th element of x that is not zero.
struct NonZero {
  static constexpr std::string_view kName = "nonzero";
  static constexpr std::string_view kDoc =
      "y[a, j] = index along dim a of the j-th nonzero element of x, in row-major order. NaN is "
      "not "
      "zero. The number of columns is a new symbol, known only once y is computed.\n"
      "C1: x is a float, an integer or boolean.\n"
      "Sources: ONNX NonZero-13; a scalar gives y of shape [0, n].";
  static constexpr std::array kInputs = {Port{"x", "any rank"}};
  static constexpr std::array kOutputs = {Port{"y", "i64 [rank, n]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // integers
  static constexpr RoutineInfo kRoutine = {"ingot_nonzero"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<NonZero> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
