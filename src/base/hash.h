// base/hash.h: content hashes (XXH3, 128 bits) for caches and checksums. Not for secrets.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;  // of xxhash.h

namespace ingot {

/// 128 bits that stand for some content.
struct Hash128 {
  uint64_t high = 0, low = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// 32 lower-case hexadecimal digits, as xxhsum -H2 prints them.
std::string to_text(const Hash128& hash);

Hash128 hash_bytes(std::span<const std::byte> bytes);
Hash128 hash_text(std::string_view text);

/// Hashes content that comes in pieces. add() of several pieces equals add() of their
/// concatenation; add_field() also hashes the length, so ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> bytes);
  void add_field(std::string_view text);
  Hash128 finish() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace ingot
