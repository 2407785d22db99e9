// tests/gpu/math_test.cc: the GPU prelude's arithmetic against the meaning in kernel/expr.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "gpu.h"

namespace ingot::emu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
using gpu::i64;

TEST(GpuMath, IntegerDivisionNeverTraps) {
  EXPECT_EQ(gpu::div(7, -2), -3);
  EXPECT_EQ(gpu::remainder(7, -2), 1);
  EXPECT_EQ(gpu::div(7, 0), 0);
  EXPECT_EQ(gpu::remainder(7, 0), 0);
  const int lowest = std::numeric_limits<int>::min();
  EXPECT_EQ(gpu::div(lowest, -1), lowest);
  EXPECT_EQ(gpu::remainder(lowest, -1), 0);
  const i64 lowest64 = std::numeric_limits<i64>::min();
  EXPECT_EQ(gpu::div(lowest64, i64{-1}), lowest64);
  EXPECT_EQ(gpu::div(200u, 3u), 66u);
}

TEST(GpuMath, FloorDivisionRoundsDown) {
  for (int a = -9; a <= 9; ++a) {
    for (int b = -4; b <= 4; ++b) {
      if (b == 0) continue;
      const int expected = static_cast<int>(std::floor(static_cast<double>(a) / b));
      EXPECT_EQ(gpu::floordiv(a, b), expected) << a << " // " << b;
      EXPECT_EQ(gpu::floormod(a, b), a - expected * b) << a << " mod " << b;
    }
  }
  EXPECT_EQ(gpu::floordiv(5, 0), 0);
  EXPECT_EQ(gpu::floormod(5, 0), 0);
  EXPECT_EQ(gpu::floormod(-1.5f, 1.0f), 0.5f);
  EXPECT_EQ(gpu::floormod(1.5, -1.0), -0.5);
}

TEST(GpuMath, ConversionsToIntegersSaturate) {
  EXPECT_EQ(gpu::to_i32(kNan), 0);
  EXPECT_EQ(gpu::to_i32(-1.9f), -1);
  EXPECT_EQ(gpu::to_i32(3e9f), std::numeric_limits<int>::max());
  EXPECT_EQ(gpu::to_i32(-kInf), std::numeric_limits<int>::min());
  EXPECT_EQ(gpu::to_u8(-3.0f), 0);
  EXPECT_EQ(gpu::to_u8(255.9f), 255);
  EXPECT_EQ(gpu::to_u8(256.0f), 255);
  EXPECT_EQ(gpu::to_i8(-128.5), -128);
  EXPECT_EQ(gpu::to_i64(1e30), std::numeric_limits<i64>::max());
  EXPECT_EQ(gpu::to_u64(1e30f), std::numeric_limits<gpu::u64>::max());
}

TEST(GpuMath, NanPropagates) {
  EXPECT_TRUE(std::isnan(gpu::min(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(gpu::min(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(gpu::max(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(gpu::max(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(gpu::sign(kNan)));
  EXPECT_TRUE(std::isnan(gpu::sigmoid(kNan)));
  EXPECT_EQ(gpu::min(2, 1), 1);
  EXPECT_EQ(gpu::max(2u, 1u), 2u);
}

TEST(GpuMath, Predicates) {
  EXPECT_TRUE(gpu::is_inf(-kInf));
  EXPECT_TRUE(gpu::is_inf(static_cast<double>(kInf)));
  EXPECT_FALSE(gpu::is_inf(kNan));
  EXPECT_FALSE(gpu::is_inf(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(gpu::is_inf(std::numeric_limits<double>::max()));
  EXPECT_TRUE(gpu::is_nan(kNan));
  EXPECT_FALSE(gpu::is_nan(kInf));
}

TEST(GpuMath, SigmoidAtItsEnds) {
  EXPECT_EQ(gpu::sigmoid(0.0f), 0.5f);
  EXPECT_EQ(gpu::sigmoid(200.0f), 1.0f);
  EXPECT_EQ(gpu::sigmoid(-200.0f), 0.0f);
  // Three roundings: of the exponential, the quotient and the product.
  EXPECT_NEAR(gpu::sigmoid(-3.0f), 1.0 / (1.0 + std::exp(3.0)), 3e-9);
}

TEST(GpuMath, IntegerPowers) {
  EXPECT_EQ(gpu::power(3, 4), 81);
  EXPECT_EQ(gpu::power(-2, 3), -8);
  EXPECT_EQ(gpu::power(7, 0), 1);
  EXPECT_EQ(gpu::power(2, -1), 0);
  EXPECT_EQ(gpu::power(-1, -3), -1);
  EXPECT_EQ(gpu::power(i64{10}, i64{18}), 1000000000000000000ll);
}

TEST(GpuMath, IntegersWrapAround) {
  const int highest = std::numeric_limits<int>::max();
  EXPECT_EQ(gpu::add(highest, 1), std::numeric_limits<int>::min());
  EXPECT_EQ(gpu::mul(highest, 2), -2);
  EXPECT_EQ(gpu::neg(static_cast<signed char>(-128)), -128);
  EXPECT_EQ(gpu::sub<unsigned char>(3, 4), 255);
  EXPECT_EQ(gpu::abs(std::numeric_limits<int>::min()), std::numeric_limits<int>::min());
}

TEST(GpuMath, ShiftsBeyondTheWidthShiftEverythingOut) {
  EXPECT_EQ(gpu::shift_left(3, 4), 48);
  EXPECT_EQ(gpu::shift_left(3, 32), 0);
  EXPECT_EQ(gpu::shift_left(3, -1), 0);
  EXPECT_EQ(gpu::shift_right(-8, 1), -4);
  EXPECT_EQ(gpu::shift_right(-8, 40), -1);
  EXPECT_EQ(gpu::shift_right(8u, 40u), 0u);
}

TEST(GpuMath, NegativeZeroIsBelowZero) {
  EXPECT_TRUE(std::signbit(gpu::min(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(gpu::min(-0.0, 0.0)));
  EXPECT_FALSE(std::signbit(gpu::max(-0.0f, 0.0f)));
  EXPECT_EQ(gpu::max(-2.0f, -2.0f), -2.0f);
}

// 1 + 2^-11 lies between two f16 numbers; a little more must round up although f32 cannot hold it.
TEST(GpuMath, DoublesRoundToHalvesOnce) {
  const double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(gpu::from_f32<gpu::f16>(static_cast<float>(above)).bits, 0x3C00);
  EXPECT_EQ(gpu::from_f32<gpu::f16>(gpu::odd_f32(above)).bits, 0x3C01);
  EXPECT_EQ(gpu::from_f32<gpu::f16>(gpu::odd_f32(-above)).bits, 0xBC01);
  EXPECT_EQ(gpu::from_f32<gpu::f16>(gpu::odd_f32(1e300)).bits, 0x7C00);
  EXPECT_EQ(gpu::odd_f32(0.5), 0.5f);
}

TEST(GpuMath, SmallFloatsRoundToNearestEven) {
  for (uint32_t pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<uint16_t>(pattern);
    const float wide = gpu::to_f32(gpu::f16{bits});
    const float brain = gpu::to_f32(gpu::bf16{bits});
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_float(bits)));
    } else {
      EXPECT_EQ(wide, f16_to_float(bits)) << pattern;
      EXPECT_EQ(gpu::from_f32<gpu::f16>(wide).bits, bits);
    }
    if (!std::isnan(brain)) {
      EXPECT_EQ(gpu::from_f32<gpu::bf16>(brain).bits, bits);
    }
  }
  // Halfway cases: 1 + 2^-8 lies between two bf16 numbers, the even one is 1.
  EXPECT_EQ(gpu::from_f32<gpu::bf16>(1.00390625f).bits, 0x3F80);
  EXPECT_EQ(gpu::from_f32<gpu::bf16>(1.01171875f).bits, 0x3F82);
  EXPECT_EQ(gpu::from_f32<gpu::f16>(1.00048828125f).bits, 0x3C00);
  EXPECT_EQ(gpu::from_f32<gpu::f16>(65520.0f).bits, 0x7C00);
  EXPECT_TRUE(std::isnan(gpu::to_f32(gpu::from_f32<gpu::bf16>(kNan))));
}

}  // namespace
}  // namespace ingot::emu
