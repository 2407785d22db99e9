// base/text_table.h: texts as a table in which a compiled model finds one with two reads.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot {

/// Little-endian: u64 seed; u32 bucket_bits, place_bits; u64 multipliers[2^bucket_bits];
/// i32 rows[2^place_bits], the number of the text at a place of a PerfectHash, or -1. What is
/// hashed is hash_for_table(text, seed). The texts differ from one another (CHECK).
std::string text_table(std::span<const std::string> texts);

/// 64 bits for a text, of the 128 that base/hash.h makes; src/artifact/routines_lookup.cc computes
/// the same.
uint64_t hash_for_table(std::string_view text, uint64_t seed);

}  // namespace ingot
