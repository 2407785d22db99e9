// base/letter_case.h: UTF-8 text by code points, and their upper and lower case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

struct Decoded {
  uint32_t rune;
  size_t bytes;
};
/// The first code point of a text; none if it is empty or does not begin with one (overlong forms,
/// surrogates and numbers beyond 10FFFF are none). Source: RFC 3629.
std::optional<Decoded> decode_rune(std::string_view text);
void append_rune(uint32_t rune, std::string& text);

/// Simple case mappings: one code point for one, the same everywhere. Source: UnicodeData.txt 14.0
/// (tools/letter_case.py).
uint32_t lower_case(uint32_t rune);
uint32_t upper_case(uint32_t rune);

/// The text with every code point mapped; bytes that are none stay as they are.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// A mapping as rows of four little-endian u32: first, last, step, and what is added to it modulo
/// 2^32. Rows are sorted; a code point is mapped by the row that holds it, if any.
std::string lower_case_table();
std::string upper_case_table();

}  // namespace ingot
