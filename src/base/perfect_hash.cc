// base/perfect_hash.cc: finds a multiplier for each bucket, those with the most keys first.
#include "base/perfect_hash.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/random.h"

namespace ingot {
namespace {

/// Multipliers that are tried for a bucket. The last keys find one in two to five places free.
constexpr int kMostTries = 4096;

}  // namespace

std::optional<PerfectHash> make_perfect_hash(std::span<const uint64_t> bits) {
  PerfectHash hash;
  // A quarter as many buckets as keys, and more than 5/4 as many places.
  const uint64_t count = std::max<uint64_t>(bits.size(), 8);
  hash.bucket_bits = std::bit_width((count - 1) / 4);
  hash.place_bits = std::bit_width(count + count / 4 - 1);
  hash.multipliers.assign(size_t{1} << hash.bucket_bits, 1);
  hash.keys.assign(size_t{1} << hash.place_bits, PerfectHash::kNoKey);

  std::vector<std::vector<int64_t>> buckets(hash.multipliers.size());
  for (size_t k = 0; k < bits.size(); ++k) {
    buckets[bits[k] >> (64 - hash.bucket_bits)].push_back(static_cast<int64_t>(k));
  }
  std::vector<size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t b) { return buckets[b].size(); });

  Random random(1);  // the same table for the same keys
  for (const size_t bucket : order) {
    const std::vector<int64_t>& keys = buckets[bucket];
    size_t placed = 0;
    for (int tries = 0; placed < keys.size(); ++tries) {
      if (tries == kMostTries) return std::nullopt;
      hash.multipliers[bucket] = random.bits() | 1;
      const auto place_of = [&](int64_t key) -> int64_t& {
        return hash.keys[hash.place(bits[static_cast<size_t>(key)])];
      };
      for (placed = 0; placed < keys.size(); ++placed) {
        if (place_of(keys[placed]) != PerfectHash::kNoKey) break;
        place_of(keys[placed]) = keys[placed];
      }
      if (placed == keys.size()) break;
      for (size_t k = 0; k < placed; ++k) place_of(keys[k]) = PerfectHash::kNoKey;
    }
  }
  return hash;
}

}  // namespace ingot
