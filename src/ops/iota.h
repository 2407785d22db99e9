// ops/iota.h: the index along an axis.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = its own index along `axis`.
struct Iota {
  Exprs dims = {};
  int64_t axis = 0;
  DType dtype = DType::i64;

  static constexpr std::string_view kName = "iota";
  static constexpr std::string_view kDoc =
      "y[i..] = i[axis] cast to dtype. Ranges with a start and a step are a pointwise of it.\n"
      "C1: dims are expressions of symbols, constants in [0, 2^31).\n"
      "C2: -rank <= axis < rank.\n"
      "C3: dtype is a float or integer.\n"
      "Sources: StableHLO iota; ONNX Range-11.";
  static constexpr std::array<Port, 0> kInputs = {};
  static constexpr std::array kOutputs = {Port{"y", "dims"}};
  static constexpr auto kFields = std::tuple{field("dims", &Iota::dims), field("axis", &Iota::axis),
                                             field("dtype", &Iota::dtype)};
  static constexpr Accuracy kAccuracy = exact();  // integers, rounded once where stored
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Iota> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
