// ops/random.h: numbers that look random, from a seed.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = uniform numbers in [0, 1).
struct RandomUniform {
  Exprs dims = {};
  int64_t seed = 0;
  int64_t stream = 0;  // of one seed: numbers that have nothing to do with another stream's
  DType dtype = DType::f32;

  static constexpr std::string_view kName = "random";
  static constexpr std::string_view kDoc =
      "y[i..] = uniform in [0, 1): the upper 24 bits (f64: 53) of Philox4x32-10 under the key seed "
      "at counter (i, stream), i the flat index of the element. With a turn its low 32 bits are "
      "XORed to the upper half of stream. Each element depends on nothing but these, so that every "
      "run, tile and thread gives the same numbers.\n"
      "C1: dims are expressions of symbols, constants in [0, 2^31).\n"
      "C2: dtype is f32 or f64.\n"
      "C3: turn is one i64.\n"
      "Sources: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC11); ONNX "
      "RandomUniform-22.";
  static constexpr std::array kInputs = {
      Port{"turn", "i64 [], of a loop whose turns draw different numbers", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", "dims"}};
  static constexpr auto kFields =
      std::tuple{field("dims", &RandomUniform::dims), field("seed", &RandomUniform::seed),
                 field("stream", &RandomUniform::stream), field("dtype", &RandomUniform::dtype)};
  static constexpr Accuracy kAccuracy = exact();  // integers below 2^24 or 2^53, scaled
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<RandomUniform> sample(Random& rng, ExprPool& pool);
};

/// The first two of the four words of Philox4x32-10, the first in the upper half.
uint64_t philox(uint64_t counter, uint64_t stream, uint64_t key);

}  // namespace ingot::ops
