// base/threads_test.cc: the parallel loop, and random numbers.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/random.h"

namespace ingot {
namespace {

TEST(Threads, ThereIsAtLeastOneProcessor) {
  EXPECT_GE(available_cpus(), 1);
}

TEST(Threads, EveryIndexIsVisitedOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> visits(101);
    parallel_for_each(visits.size(), threads, [&](size_t i) { ++visits[i]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
  parallel_for_each(0, 4, [](size_t) { FAIL(); });
}

TEST(Threads, AnExceptionEndsTheLoop) {
  EXPECT_THROW(parallel_for_each(1000, 3,
                                 [](size_t i) {
                                   if (i == 5) throw std::runtime_error("five");
                                 }),
               std::runtime_error);
}

TEST(RandomTest, IsTheSameEverywhere) {
  // The first outputs of the authors' C code for the state that splitmix64 makes of seed 42.
  Random random(42);
  EXPECT_EQ(random.bits(), 1546998764402558742u);
  EXPECT_EQ(random.bits(), 6990951692964543102u);
}

TEST(RandomTest, RangesIncludeBothEnds) {
  Random random(7);
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.range(-2, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.range(5, 5), 5);
  random.range(INT64_MIN, INT64_MAX);
}

TEST(RandomTest, NormalHasItsMomentsAndRealItsInterval) {
  Random random(8);
  constexpr int kDraws = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.normal(3, 2);
    sum += value;
    squares += (value - 3) * (value - 3);
    const double real = random.real(-1, 1);
    ASSERT_TRUE(real >= -1 && real < 1);
  }
  // Five standard errors: 2/sqrt(n) for the mean, 4*sqrt(2/n) for the variance.
  EXPECT_NEAR(sum / kDraws, 3, 5 * 2 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 4, 5 * 4 * std::sqrt(2.0 / kDraws));
}

TEST(RandomTest, DimsAreInBounds) {
  Random random(9);
  for (const int64_t dim : random.dims(50, 0, 4)) EXPECT_TRUE(dim >= 0 && dim <= 4);
  EXPECT_TRUE(random.dims(0).empty());
}

}  // namespace
}  // namespace ingot
