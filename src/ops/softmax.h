// ops/softmax.h: softmax along one axis, or its logarithm.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = softmax of x along `axis`.
struct Softmax {
  int64_t axis = -1;
  bool log = false;  // the logarithm of it

  static constexpr std::string_view kName = "softmax";
  static constexpr std::string_view kDoc =
      "y = exp(x - m) / sum(exp(x - m)), or with log x - m - log(sum(exp(x - m))), where m = "
      "max(x), all along axis. A NaN makes its whole slice NaN.\n"
      "C1: x is a float.\n"
      "C2: -rank <= axis < rank.\n"
      "Sources: ONNX Softmax-13, LogSoftmax-13.";
  static constexpr std::array kInputs = {Port{"x", "scores, rank above 0"}};
  static constexpr std::array kOutputs = {Port{"y", "shape and type of x"}};
  static constexpr auto kFields =
      std::tuple{field("axis", &Softmax::axis), field("log", &Softmax::log)};
  static constexpr Accuracy kAccuracy = rounding(4);  // an exp and a division around a sum
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Softmax> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
