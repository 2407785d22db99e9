// ops/random_test.cc: known answers, the distribution, and the numbered constraints.
#include "ops/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

// Source: Random123 1.14, kat_vectors, philox4x32 10.
TEST(Random, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), 0x6627e8d5e169c58d);
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}), 0x408f276d41c83b0e);
  EXPECT_EQ(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822), 0xd16cfe0994fdcceb);
}

Tensor draw(const RandomUniform& op, const std::shared_ptr<ExprPool>& pool) {
  return run_reference(op, pool, {});
}

TEST(Random, IsUniform) {
  const auto pool = std::make_shared<ExprPool>();
  constexpr int64_t kCount = 200000, kBins = 100;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t seed : {0, 1, 12345}) {
      const Tensor y = draw({{pool->integer(kCount)}, seed, 0, dtype}, pool);
      std::array<double, kBins> bins{};
      double sum = 0, neighbours = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        const double u = y.real(i);
        ASSERT_TRUE(u >= 0 && u < 1) << u;
        sum += u;
        if (i > 0) neighbours += (u - 0.5) * (y.real(i - 1) - 0.5);
        ++bins[static_cast<size_t>(u * kBins)];
      }
      double chi_square = 0;
      const double expected = static_cast<double>(kCount) / kBins;
      for (const double count : bins) chi_square += (count - expected) * (count - expected);
      chi_square /= expected;
      // Five standard deviations: of a mean of variance 1/12, of a product of two such, and of
      // chi-square with 99 degrees of freedom.
      const double root = std::sqrt(static_cast<double>(kCount));
      EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12) / root);
      EXPECT_NEAR(neighbours / kCount, 0, 5.0 / 12 / root);
      EXPECT_NEAR(chi_square, kBins - 1, 5 * std::sqrt(2.0 * (kBins - 1)));
    }
  }
}

TEST(Random, StreamsAndSeedsDiffer) {
  const auto pool = std::make_shared<ExprPool>();
  const auto values = [&](int64_t seed, int64_t stream) {
    return values_of(draw({{pool->integer(5)}, seed, stream, DType::f32}, pool));
  };
  EXPECT_EQ(values(1, 2), values(1, 2));
  EXPECT_NE(values(1, 2), values(1, 3));
  EXPECT_NE(values(1, 2), values(2, 2));
}

TEST(Random, TurnsDiffer) {
  const auto pool = std::make_shared<ExprPool>();
  const RandomUniform op{.dims = {pool->integer(3)}, .seed = 9};
  const auto turn = [&](double k) {
    return values_of(run_reference(op, pool, {tensor_of(DType::i64, {}, {k})}));
  };
  EXPECT_EQ(turn(0), values_of(draw(op, pool)));
  EXPECT_NE(turn(0), turn(1));
  EXPECT_NE(turn(1), turn(2));
}

TEST(Random, Constraints) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(infer_text(RandomUniform{.dims = {n}}, pool, {}), "f32[n]");
  EXPECT_EQ(infer_text(RandomUniform{.dims = {pool.integer(kMaxDim) + 1}}, pool, {}),  // C1
            "random: expected dims between 0 and 2147483647, got [2147483648]");
  EXPECT_EQ(infer_text(RandomUniform{.dims = {n}, .dtype = DType::f16}, pool, {}),  // C2
            "random: expected f32 or f64, got f16");
  EXPECT_EQ(infer_text(RandomUniform{.dims = {n}}, pool, {"i32[]"}),  // C3
            "random: expected a turn of i64[], got i32[]");
}

}  // namespace
}  // namespace ingot::ops
