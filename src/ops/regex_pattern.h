// ops/regex_pattern.h: a regular expression as a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::ops::regex {

inline constexpr uint32_t kLastRune = 0x10FFFF;

struct RuneRange {
  uint32_t lo, hi;
};
using RuneSet = std::vector<RuneRange>;

/// Sorted, without overlaps.
RuneSet normal(RuneSet set);
/// What words are made of: ASCII letters, digits and _.
const RuneSet& word_runes();

/// What must hold between two bytes.
enum class Anchor : uint8_t {
  text_begin,
  text_end,
  line_begin,
  line_end,
  word_boundary,
  no_word_boundary
};

/// The pattern as a tree.
struct Piece {
  enum class Kind : uint8_t { runes, byte, sequence, choice, repeat, anchor };
  Kind kind = Kind::sequence;  // byte: any one
  RuneSet set = {};
  std::vector<Piece> parts = {};
  int least = 0, most = 0;  // repeat; most < 0: no bound
  Anchor anchor = Anchor::text_begin;
  /// How often what is in it is written out, by counts within counts.
  int copies = 1;
};

/// The pattern, or the beginning of a long one, as errors tell it.
std::string shown(std::string_view pattern);
/// Errors: invalid_argument for what is no regular expression, unsupported for what is not there.
Result<Piece> parse_pattern(std::string_view pattern);

}  // namespace ingot::ops::regex
