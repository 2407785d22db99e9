// ops/mersenne_twister.cc: the numbers that NumPy draws after a seed.
#include "ops/mersenne_twister.h"

#include <random>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> MersenneTwister::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<MersenneTwister>(ctx));
  TRY_STATUS(expect_rank(kName, "seed", ctx.tensor(0), 0));  // C1
  if (ctx.tensor(0).dtype != DType::i64) {                   // C1
    return invalid_argument(kName, ": seed: expected i64, got ", ctx.tensor(0).dtype);
  }
  return one_tensor(kName, DType::f64, {count});  // C2
}

std::vector<Tensor> MersenneTwister::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  std::mt19937 words(static_cast<uint32_t>(ctx.in[0].integer(0)));
  for (int64_t i = 0; i < y.size(); ++i) {
    const auto high = static_cast<double>(words() >> 5), low = static_cast<double>(words() >> 6);
    y.set_real(i, (high * 0x1p26 + low) * 0x1p-53);
  }
  return {std::move(y)};
}

Sample<MersenneTwister> MersenneTwister::sample(Random& rng, ExprPool& pool) {
  // 624 words make one turn of the generator's state, 312 numbers.
  const int64_t count = rng.chance(0.2) ? rng.range(300, 700) : rng.range(0, 9);
  return {{.count = pool.integer(count)}, {TensorType{DType::i64, {}}}, {{0, {-9, 9}}}};
}

const OpDef& define_mersenne_twister() {
  return define<MersenneTwister>();
}

}  // namespace ingot::ops
