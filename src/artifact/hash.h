// artifact/hash.h: XXH3 with 128 bits and no seed, in plain C++ for the runtime. No includes.
//
// Equal to XXH3_128bits() of the xxhash library, which the compiler uses; the test compares them.
// Source: the XXH3 specification (doc/xxhash_spec.md of xxhash 0.8).
#pragma once

#include "artifact/program.h"

namespace ingot::artifact {

struct Hash {
  u64 low, high;
};

inline bool operator==(const Hash& a, const Hash& b) {
  return a.low == b.low && a.high == b.high;
}

namespace xxh3 {

__extension__ typedef unsigned __int128 u128;

inline constexpr u64 kPrime32[4] = {0, 0x9E3779B1u, 0x85EBCA77u, 0xC2B2AE3Du};
inline constexpr u64 kPrime64[6] = {0,
                                    0x9E3779B185EBCA87u,
                                    0xC2B2AE3D27D4EB4Fu,
                                    0x165667B19E3779F9u,
                                    0x85EBCA77C2B2AE63u,
                                    0x27D4EB2F165667C5u};
inline constexpr u64 kSecretBytes = 192;
inline constexpr u8 kSecret[kSecretBytes] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

inline u64 read64(const u8* p) {
  u64 word;
  __builtin_memcpy(&word, p, 8);
  return word;
}
inline u64 read32(const u8* p) {
  u32 word;
  __builtin_memcpy(&word, p, 4);
  return word;
}
inline u64 key64(u64 a, u64 b) {
  return read64(kSecret + a) ^ read64(kSecret + b);
}
inline u64 fold(u64 a, u64 b) {
  const u128 product = static_cast<u128>(a) * b;
  return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}
inline u64 avalanche(u64 h) {
  h = (h ^ (h >> 37)) * 0x165667919E3779F9u;
  return h ^ (h >> 32);
}
inline u64 avalanche64(u64 h) {
  h = (h ^ (h >> 33)) * kPrime64[2];
  h = (h ^ (h >> 29)) * kPrime64[3];
  return h ^ (h >> 32);
}

inline Hash hash_1_to_3(const u8* in, u64 length) {
  const u32 low = static_cast<u32>(in[0]) << 16 | static_cast<u32>(in[length >> 1]) << 24 |
                  in[length - 1] | static_cast<u32>(length) << 8;
  const u32 swapped = __builtin_bswap32(low);
  const u32 high = swapped << 13 | swapped >> 19;
  return {avalanche64(low ^ read32(kSecret) ^ read32(kSecret + 4)),
          avalanche64(high ^ read32(kSecret + 8) ^ read32(kSecret + 12))};
}

inline Hash hash_4_to_8(const u8* in, u64 length) {
  const u64 word = read32(in) + (read32(in + length - 4) << 32);
  const u128 product = static_cast<u128>(word ^ key64(16, 24)) * (kPrime64[1] + (length << 2));
  u64 low = static_cast<u64>(product);
  const u64 high = static_cast<u64>(product >> 64) + (low << 1);
  low ^= high >> 3;
  low = (low ^ (low >> 35)) * 0x9FB21C651E98DF25u;
  return {low ^ (low >> 28), avalanche(high)};
}

inline Hash hash_9_to_16(const u8* in, u64 length) {
  u64 last = read64(in + length - 8);
  const u128 product = static_cast<u128>(read64(in) ^ last ^ key64(32, 40)) * kPrime64[1];
  u64 low = static_cast<u64>(product) + ((length - 1) << 54);
  last ^= key64(48, 56);
  const u64 high =
      static_cast<u64>(product >> 64) + last + (last & 0xffffffffu) * (kPrime32[2] - 1);
  low ^= __builtin_bswap64(high);
  const u128 second = static_cast<u128>(low) * kPrime64[2];
  return {avalanche(static_cast<u64>(second)),
          avalanche(static_cast<u64>(second >> 64) + high * kPrime64[2])};
}

inline u64 mix16(const u8* in, const u8* secret) {
  return fold(read64(in) ^ read64(secret), read64(in + 8) ^ read64(secret + 8));
}

inline void mix32(Hash& sum, const u8* a, const u8* b, const u8* secret) {
  sum.low = (sum.low + mix16(a, secret)) ^ (read64(b) + read64(b + 8));
  sum.high = (sum.high + mix16(b, secret + 16)) ^ (read64(a) + read64(a + 8));
}

inline Hash finish_mix(const Hash& sum, u64 length) {
  return {avalanche(sum.low + sum.high),
          0 - avalanche(sum.low * kPrime64[1] + sum.high * kPrime64[4] + length * kPrime64[2])};
}

inline Hash hash_17_to_128(const u8* in, u64 length) {
  Hash sum = {length * kPrime64[1], 0};
  for (u64 i = (length - 1) / 32 + 1; i-- > 0;) {
    mix32(sum, in + 16 * i, in + length - 16 * (i + 1), kSecret + 32 * i);
  }
  return finish_mix(sum, length);
}

inline Hash hash_129_to_240(const u8* in, u64 length) {
  Hash sum = {length * kPrime64[1], 0};
  for (u64 i = 0; i < 4; ++i) mix32(sum, in + 32 * i, in + 32 * i + 16, kSecret + 32 * i);
  sum = {avalanche(sum.low), avalanche(sum.high)};
  for (u64 i = 4; i < length / 32; ++i) {
    mix32(sum, in + 32 * i, in + 32 * i + 16, kSecret + 3 + 32 * (i - 4));
  }
  mix32(sum, in + length - 16, in + length - 32, kSecret + 136 - 17 - 16);
  return finish_mix(sum, length);
}

inline void accumulate(u64* sums, const u8* in, const u8* secret) {
  u64 data[8];
  for (u64 i = 0; i < 8; ++i) data[i] = read64(in + 8 * i);
  for (u64 i = 0; i < 8; ++i) {
    const u64 keyed = data[i] ^ read64(secret + 8 * i);
    sums[i] += data[i ^ 1] + (keyed & 0xffffffffu) * (keyed >> 32);
  }
}

inline void scramble(u64* sums) {
  for (u64 i = 0; i < 8; ++i) {
    const u64 key = read64(kSecret + kSecretBytes - 64 + 8 * i);
    sums[i] = (sums[i] ^ (sums[i] >> 47) ^ key) * kPrime32[1];
  }
}

inline u64 merge(const u64* sums, const u8* secret, u64 start) {
  for (u64 i = 0; i < 4; ++i) {
    start +=
        fold(sums[2 * i] ^ read64(secret + 16 * i), sums[2 * i + 1] ^ read64(secret + 16 * i + 8));
  }
  return avalanche(start);
}

inline Hash hash_long(const u8* in, u64 length) {
  constexpr u64 kStripes = (kSecretBytes - 64) / 8;  // in a block
  u64 sums[8] = {kPrime32[3], kPrime64[1], kPrime64[2], kPrime64[3],
                 kPrime64[4], kPrime32[2], kPrime64[5], kPrime32[1]};
  const u64 whole_stripes = (length - 1) / 64;
  for (u64 i = 0; i < whole_stripes; ++i) {
    accumulate(sums, in + 64 * i, kSecret + 8 * (i % kStripes));
    if (i % kStripes == kStripes - 1) scramble(sums);
  }
  accumulate(sums, in + length - 64, kSecret + kSecretBytes - 64 - 7);
  return {merge(sums, kSecret + 11, length * kPrime64[1]),
          merge(sums, kSecret + kSecretBytes - 64 - 11, ~(length * kPrime64[2]))};
}

}  // namespace xxh3

/// The XXH3 hash, 128 bits, of `length` bytes.
inline Hash hash_bytes(const void* bytes, u64 length) {
  const u8* in = static_cast<const u8*>(bytes);
  if (length > 240) return xxh3::hash_long(in, length);
  if (length > 128) return xxh3::hash_129_to_240(in, length);
  if (length > 16) return xxh3::hash_17_to_128(in, length);
  if (length > 8) return xxh3::hash_9_to_16(in, length);
  if (length >= 4) return xxh3::hash_4_to_8(in, length);
  if (length > 0) return xxh3::hash_1_to_3(in, length);
  return {xxh3::avalanche64(xxh3::key64(64, 72)), xxh3::avalanche64(xxh3::key64(80, 88))};
}

}  // namespace ingot::artifact
