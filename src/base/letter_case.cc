// base/letter_case.cc: UTF-8 and the table of cases.
#include "base/letter_case.h"

#include <algorithm>
#include <span>

namespace ingot {
namespace {

/// first, first + step, ..., last are mapped to themselves plus `delta`.
struct CaseRow {
  uint32_t first, last, step;
  int32_t delta;
};

#define INGOT_CASE(first, last, step, delta) {first, last, step, delta},
constexpr CaseRow kLower[] = {
#define INGOT_LOWER
#include "base/letter_case.def"
#undef INGOT_LOWER
};
constexpr CaseRow kUpper[] = {
#define INGOT_UPPER
#include "base/letter_case.def"
#undef INGOT_UPPER
};
#undef INGOT_CASE

uint32_t mapped(std::span<const CaseRow> rows, uint32_t rune) {
  const auto row = std::ranges::upper_bound(rows, rune, {}, &CaseRow::first);
  if (row == rows.begin()) return rune;
  const CaseRow& found = *(row - 1);
  if (rune > found.last || (rune - found.first) % found.step != 0) return rune;
  return rune + static_cast<uint32_t>(found.delta);
}

std::string mapped(std::span<const CaseRow> rows, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto decoded = decode_rune(text);
    if (decoded) {
      append_rune(mapped(rows, decoded->rune), result);
    } else {
      result += text[0];
    }
    text.remove_prefix(decoded ? decoded->bytes : 1);
  }
  return result;
}

std::string table_of(std::span<const CaseRow> rows) {
  std::string bytes;
  for (const CaseRow& row : rows) {
    for (const uint32_t value : {row.first, row.last, row.step, static_cast<uint32_t>(row.delta)}) {
      for (int k = 0; k < 4; ++k) bytes += static_cast<char>(value >> (8 * k) & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

std::optional<Decoded> decode_rune(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return Decoded{first, 1};
  const size_t bytes = first < 0xC2   ? 0
                       : first < 0xE0 ? 2
                       : first < 0xF0 ? 3
                       : first < 0xF5 ? 4
                                      : 0;
  if (bytes == 0 || text.size() < bytes) return std::nullopt;
  uint32_t rune = first & (0x7Fu >> bytes);
  for (size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return std::nullopt;
    rune = rune << 6 | (byte(k) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = rune >= 0xD800 && rune < 0xE000;
  if (rune < kLeast[bytes] || rune > 0x10FFFF || surrogate) return std::nullopt;
  return Decoded{rune, bytes};
}

void append_rune(uint32_t rune, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (rune >> shift & 0x3F)); };
  if (rune < 0x80) {
    text += static_cast<char>(rune);
  } else if (rune < 0x800) {
    text += static_cast<char>(0xC0 | rune >> 6);
    tail(0);
  } else if (rune < 0x10000) {
    text += static_cast<char>(0xE0 | rune >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | rune >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

uint32_t lower_case(uint32_t rune) {
  return mapped(kLower, rune);
}
uint32_t upper_case(uint32_t rune) {
  return mapped(kUpper, rune);
}

std::string to_lower(std::string_view text) {
  return mapped(kLower, text);
}
std::string to_upper(std::string_view text) {
  return mapped(kUpper, text);
}

std::string lower_case_table() {
  return table_of(kLower);
}
std::string upper_case_table() {
  return table_of(kUpper);
}

}  // namespace ingot
