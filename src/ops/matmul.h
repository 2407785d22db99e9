// ops/matmul.h: the matrix product, batched, optionally with the right operand in packed panels.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = a b over the last two dims.
struct MatMul {
  bool packed = false;  // b holds panels as pack_panels makes them
  Expr columns = {};    // N, when packed

  static constexpr std::string_view kName = "matmul";
  static constexpr std::string_view kDoc =
      "y[.., m, n] = sum over k of a[.., m, k] * b[.., k, n], k ascending; K = 0 gives zeros.\n"
      "packed: b is [.., P, K, W] with b[.., n div W, k, n mod W] (see pack_panels), and columns "
      "is N.\n"
      "C1: a and b are floats or integers of one type; integers wrap around.\n"
      "C2: a has rank 2 or more; b too, or 3 or more when packed.\n"
      "C3: a and b agree in K.\n"
      "C4: the dims before the matrices broadcast.\n"
      "C5: packed needs columns with ceil(columns / W) = P and a constant W >= 1.\n"
      "Sources: ONNX MatMul-13, numpy.matmul without the forms of rank 1.";
  static constexpr std::array kInputs = {Port{"a", "[.., M, K]"},
                                         Port{"b", "[.., K, N] or packed [.., P, K, W]"}};
  static constexpr std::array kOutputs = {Port{"y", "[.., M, N]"}};
  static constexpr auto kFields =
      std::tuple{field("packed", &MatMul::packed), field("columns", &MatMul::columns)};
  static constexpr Accuracy kAccuracy = rounding(1);  // a product and a sum per term
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<MatMul> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
