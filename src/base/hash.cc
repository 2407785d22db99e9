// base/hash.cc: XXH3 behind our types.
#include "base/hash.h"

#include <fmt/core.h>
#include <xxhash.h>

#include "base/check.h"

namespace ingot {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

}  // namespace

std::string to_text(const Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash_text(std::string_view text) {
  return from_xxh(XXH3_128bits(text.data(), text.size()));
}

Hasher::Hasher() : state_(XXH3_createState()) {
  CHECK(state_ != nullptr, "out of memory");
  XXH3_128bits_reset(state_);
}

Hasher::~Hasher() {
  XXH3_freeState(state_);
}

void Hasher::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_, bytes.data(), bytes.size());
}

void Hasher::add_field(std::string_view text) {
  const uint64_t size = text.size();
  XXH3_128bits_update(state_, &size, sizeof(size));
  XXH3_128bits_update(state_, text.data(), text.size());
}

Hash128 Hasher::finish() const {
  return from_xxh(XXH3_128bits_digest(state_));
}

}  // namespace ingot
