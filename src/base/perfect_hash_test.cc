// base/perfect_hash_test.cc
#include "base/perfect_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace ingot {
namespace {

void expect_places(const std::vector<uint64_t>& bits) {
  const auto hash = make_perfect_hash(bits);
  ASSERT_TRUE(hash);
  EXPECT_LE(hash->keys.size(), std::max<size_t>(16, bits.size() * 5 / 2 + 2));
  EXPECT_LE(hash->multipliers.size(), std::max<size_t>(2, bits.size() / 2));
  for (size_t k = 0; k < bits.size(); ++k) {
    ASSERT_EQ(hash->keys[hash->place(bits[k])], static_cast<int64_t>(k));
  }
  EXPECT_EQ(std::ranges::count(hash->keys, PerfectHash::kNoKey),
            static_cast<int64_t>(hash->keys.size() - bits.size()));
}

TEST(PerfectHash, GivesEachKeyAPlaceOfItsOwn) {
  Random random(7);
  for (const size_t count : {0, 1, 2, 7, 8, 9, 13, 100, 1000, 6553, 6554, 100'000}) {
    SCOPED_TRACE(count);
    std::set<uint64_t> different;
    while (different.size() < count) different.insert(random.bits());
    expect_places({different.begin(), different.end()});
  }
}

TEST(PerfectHash, RefusesKeysThatCannotBeToldApart) {
  EXPECT_FALSE(make_perfect_hash(std::vector<uint64_t>{5, 9, 5}));
}

}  // namespace
}  // namespace ingot
