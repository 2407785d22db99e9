// ops/reshape.h: the same elements in row-major order under other dims.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y holds the elements of x, in order, under `dims`.
struct Reshape {
  Exprs dims = {};

  static constexpr std::string_view kName = "reshape";
  static constexpr std::string_view kDoc =
      "y has the elements of x in row-major order under dims.\n"
      "C1: dims are expressions of symbols, constants in [0, 2^31).\n"
      "C2: x and y have equally many elements.\n"
      "Sources: ONNX Reshape-21, with its 0 and -1 resolved.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"}};
  static constexpr std::array kOutputs = {Port{"y", "dims"}};
  static constexpr auto kFields = std::tuple{field("dims", &Reshape::dims)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Reshape> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
