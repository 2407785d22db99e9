// tests/gpu/prelude_test.cc: the GPU prelude's reductions, in every order of the emulator.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>
#include <string>

#include "emulator.h"
#include "prelude_kernels.h"

namespace ingot::emu {

void PrintTo(Order order, std::ostream* out) {
  constexpr const char* kNames[] = {"forward", "reversed", "random"};
  *out << kNames[static_cast<int>(order)];
}

namespace {

constexpr size_t kCount = 512;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Prelude : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    reports().clear();
    config() = Config{};
    config().order = GetParam();
    config().check = INGOT_EMU_CHECK;
    config().warp_size = INGOT_EMU_WARP;
  }
  void TearDown() override {
    for (const Report& report : reports()) ADD_FAILURE() << report.kind << ": " << report.text;
  }
};

/// Whole numbers, so that their sums are exact in any order.
template <class T>
std::vector<T> whole_numbers() {
  std::vector<T> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<T>((i * 37) % 101) - T(50);
  return values;
}

template <class T, class Join>
void expect_joined(const std::vector<T>& values, const Reduced<T>& got, Join join) {
  const auto joined = [&](size_t from, size_t count) {
    T result = values[from];
    for (size_t i = from + 1; i < from + count; ++i) result = join(result, values[i]);
    return result;
  };
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(got.of_block[i], joined(i / 256 * 256, 256)) << i;
    const size_t warp = INGOT_EMU_WARP;
    EXPECT_EQ(got.of_warp[i], joined(i / warp * warp, warp)) << i;
  }
}

template <class T>
void check_reductions() {
  const std::vector<T> values = whole_numbers<T>();
  const std::span<const T> all = values;
  expect_joined(values, reduce(JoinKind::kSum, all), [](T a, T b) { return a + b; });
  expect_joined(values, reduce(JoinKind::kMin, all), [](T a, T b) { return std::min(a, b); });
  expect_joined(values, reduce(JoinKind::kMax, all), [](T a, T b) { return std::max(a, b); });
}

TEST_P(Prelude, ReducesFloats) {
  check_reductions<float>();
}
TEST_P(Prelude, ReducesDoubles) {
  check_reductions<double>();
}
TEST_P(Prelude, ReducesInts) {
  check_reductions<int32_t>();
}
TEST_P(Prelude, ReducesLongs) {
  check_reductions<long long>();
}

TEST_P(Prelude, ReducesProducts) {
  std::vector<double> values(kCount, 1.0);
  values[3] = 3.0;
  values[200] = 5.0;
  values[300] = -2.0;
  const auto got = reduce(JoinKind::kProduct, std::span<const double>(values));
  EXPECT_EQ(got.of_block[0], 15.0);
  EXPECT_EQ(got.of_block[255], 15.0);
  EXPECT_EQ(got.of_block[256], -2.0);
  EXPECT_EQ(got.of_warp[0], 3.0);
}

TEST_P(Prelude, NanWinsMinAndMax) {
  std::vector<float> values(kCount, 1.0f);
  values[77] = kNan;
  for (const JoinKind kind : {JoinKind::kMin, JoinKind::kMax}) {
    const auto got = reduce(kind, std::span<const float>(values));
    EXPECT_TRUE(std::isnan(got.of_block[0]));
    EXPECT_TRUE(std::isnan(got.of_block[255]));
    EXPECT_EQ(got.of_block[256], 1.0f);
  }
}

TEST_P(Prelude, ReducesBooleans) {
  auto values = std::make_unique<bool[]>(kCount);
  values[255] = true;
  const auto any = reduce_any({values.get(), kCount});
  EXPECT_TRUE(any.of_block[0]);
  EXPECT_FALSE(any.of_block[256]);
  std::fill_n(values.get(), kCount, true);
  values[256] = false;
  const auto all = reduce_all({values.get(), kCount});
  EXPECT_TRUE(all.of_block[255]);
  EXPECT_FALSE(all.of_block[511]);
}

TEST_P(Prelude, MovesVectors) {
  constexpr int kHalves = 264;
  auto* from = static_cast<uint16_t*>(device_alloc(kHalves * 2, "from"));
  auto* to = static_cast<uint16_t*>(device_alloc(kHalves * 2, "to", Contents::kUninitialized));
  for (int i = 0; i < kHalves; ++i) from[i] = static_cast<uint16_t>(i * 7);
  copy_by_vectors(from, to, kHalves);
  EXPECT_EQ(std::memcmp(from, to, kHalves * 2), 0);
  device_free(from);
  device_free(to);
}

std::string order_name(const testing::TestParamInfo<Order>& info) {
  return testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(Orders, Prelude,
                         testing::Values(Order::kForward, Order::kReversed, Order::kRandom),
                         order_name);

}  // namespace
}  // namespace ingot::emu
