// ops/transpose.h: the dims of a tensor in another order.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// Dim a of y is dim order[a] of x.
struct Transpose {
  std::vector<int64_t> order = {};

  static constexpr std::string_view kName = "transpose";
  static constexpr std::string_view kDoc =
      "y[i0, i1, ..] = x[j..] with j[order[a]] = i[a]: dim a of y is dim order[a] of x.\n"
      "C1: order is a permutation of 0..rank-1.\n"
      "Sources: ONNX Transpose-13.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"}};
  static constexpr std::array kOutputs = {Port{"y", "x with its dims in another order"}};
  static constexpr auto kFields = std::tuple{field("order", &Transpose::order)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Transpose> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
