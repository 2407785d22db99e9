// ops/mersenne_twister_test.cc: known answers and the numbered constraints.
#include "ops/mersenne_twister.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<double> draw(int64_t seed, int64_t count) {
  const auto pool = std::make_shared<ExprPool>();
  Tensor given(DType::i64, {});
  given.set_integer(0, seed);
  return values_of(run_reference(MersenneTwister{pool->integer(count)}, pool, {given}));
}

// Source: numpy.random.RandomState(seed).random_sample.
TEST(MersenneTwister, DrawsWhatNumpyDraws) {
  EXPECT_EQ(draw(0, 2), (std::vector<double>{0.5488135039273248, 0.7151893663724195}));
  EXPECT_EQ(draw(4294967295, 1), (std::vector<double>{0.0976320289940138}));
  EXPECT_EQ(draw(42, 1000).back(), 0.44600577295795574);
  EXPECT_EQ(draw(-1, 1), draw(4294967295, 1)) << "the low 32 bits";
}

TEST(MersenneTwister, Constraints) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(infer_text(MersenneTwister{n}, pool, {"i64[]"}), "f64[n]");
  EXPECT_EQ(infer_text(MersenneTwister{n}, pool, {"i64[2]"}),  // C1
            "mersenne_twister: expected seed of rank 0, got i64[2]");
  EXPECT_EQ(infer_text(MersenneTwister{n}, pool, {"f32[]"}),  // C1
            "mersenne_twister: seed: expected i64, got f32");
  EXPECT_EQ(infer_text(MersenneTwister{pool.integer(-1)}, pool, {"i64[]"}),  // C2
            "mersenne_twister: expected dims between 0 and 2147483647, got [-1]");
}

}  // namespace
}  // namespace ingot::ops
