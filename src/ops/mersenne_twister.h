// ops/mersenne_twister.h: the numbers that NumPy draws after a seed.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the first numbers in [0, 1) that MT19937 gives after a seed.
struct MersenneTwister {
  Expr count = {};

  static constexpr std::string_view kName = "mersenne_twister";
  static constexpr std::string_view kDoc =
      "y[i] = (2^26 floor(w[2i] / 2^5) + floor(w[2i+1] / 2^6)) / 2^53, w the words of MT19937 "
      "after "
      "its initialisation with the low 32 bits of seed. One number needs those before it: `random` "
      "is the faster op where nobody asked for these very numbers.\n"
      "C1: seed is one i64.\n"
      "C2: count is an expression of symbols, a constant in [0, 2^31).\n"
      "Sources: Matsumoto and Nishimura, Mersenne Twister (1998), mt19937ar.c, init_genrand and "
      "genrand_res53; numpy.random.RandomState(seed).random_sample, by which ONNX's reference "
      "implementation draws.";
  static constexpr std::array kInputs = {Port{"seed", "i64[]"}};
  static constexpr std::array kOutputs = {Port{"y", "f64 [count]"}};
  static constexpr auto kFields = std::tuple{field("count", &MersenneTwister::count)};
  static constexpr Accuracy kAccuracy = exact();  // integers below 2^53, scaled
  static constexpr RoutineInfo kRoutine = {"ingot_mersenne_twister"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<MersenneTwister> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
