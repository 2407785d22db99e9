// base/perfect_hash.h: tables that say where a key is with two reads, made when a model is
// compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ingot {

/// Places for keys that are known by 64 bits each: no two keys share one. The first bits of a key
/// choose a bucket, and each bucket has a multiplier that spreads its keys over free places.
/// Source: Belazzougui, Botelho and Dietzfelbinger, "Hash, displace, and compress", ESA 2009, with
/// multiply-shift (Dietzfelbinger and others, 1997) as the family of functions.
struct PerfectHash {
  static constexpr int64_t kNoKey = -1;

  int bucket_bits = 1;
  int place_bits = 1;
  std::vector<uint64_t> multipliers;  // [2^bucket_bits], odd
  std::vector<int64_t> keys;          // [2^place_bits], the number of the key there, or kNoKey

  /// Where the key with these bits is, if it is one.
  uint64_t place(uint64_t bits) const {
    return bits * multipliers[bits >> (64 - bucket_bits)] >> (64 - place_bits);
  }
};

/// Nothing where some keys cannot be told apart, as equal ones cannot: the caller then takes other
/// bits for all of them.
std::optional<PerfectHash> make_perfect_hash(std::span<const uint64_t> bits);

}  // namespace ingot
