// base/text_table.cc: a perfect hash of texts, as bytes.
#include "base/text_table.h"

#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/perfect_hash.h"

namespace ingot {
namespace {

template <class T>
void append(T value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

uint64_t hash_for_table(std::string_view text, uint64_t seed) {
  const Hash128 hash = hash_text(text);
  return hash.low ^ hash.high * (2 * seed + 1);
}

std::string text_table(std::span<const std::string> texts) {
  std::vector<uint64_t> bits(texts.size());
  for (uint64_t seed = 0;; ++seed) {
    constexpr uint64_t kMostSeeds = 64;
    CHECK(seed < kMostSeeds, "text_table: two texts are equal");
    for (size_t k = 0; k < texts.size(); ++k) bits[k] = hash_for_table(texts[k], seed);
    const auto hash = make_perfect_hash(bits);
    if (!hash) continue;
    std::string table;
    append(seed, table);
    append(static_cast<uint32_t>(hash->bucket_bits), table);
    append(static_cast<uint32_t>(hash->place_bits), table);
    for (const uint64_t multiplier : hash->multipliers) append(multiplier, table);
    for (const int64_t key : hash->keys) append(static_cast<int32_t>(key), table);
    return table;
  }
}

}  // namespace ingot
