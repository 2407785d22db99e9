// ops/pointwise.h: every elementwise operator, as one expression over its inputs.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = value(p0, p1, ...) for every element of the broadcast inputs.
struct Pointwise {
  Expr value = {};           // over params p0, p1, ..., constants and symbols
  DType dtype = DType::f32;  // of y

  static constexpr std::string_view kName = "pointwise";
  static constexpr std::string_view kDoc =
      "y[i] = value(p0, p1, ...) cast to dtype, where pk is element i of input k.\n"
      "Inputs broadcast as in NumPy; pk has the compute type of input k. Without inputs y is a "
      "scalar.\n"
      "Addition, comparison, selection, casts and activations are all this operator.\n"
      "C1: every input and y are floats, integers, booleans or strings.\n"
      "C2: the inputs' dims broadcast.\n"
      "C3: value is made of params, constants, symbols and arithmetic.\n"
      "C4: pk has k below the number of inputs and the compute type of input k.\n"
      "C5: y is strings if value is a choice among string operands, by what are none, and only "
      "then.\n"
      "Sources: NumPy broadcasting; the operations are defined in kernel/expr.def.";
  static constexpr std::array kInputs = {Port{"x", "operands", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "the broadcast shape"}};
  static constexpr auto kFields =
      std::tuple{field("value", &Pointwise::value), field("dtype", &Pointwise::dtype)};
  static constexpr Accuracy kAccuracy = rounding(8);  // a few operations of at most 4 ulp each
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Pointwise> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
