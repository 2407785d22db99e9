// ops/regex.h: regular expressions in RE2's syntax, as a table that decides whether a text matches.
//
// Not there: Unicode properties (\pN). The table walks over the bytes of UTF-8 text; a byte that is
// no UTF-8 matches \C alone. Words are of ASCII letters, digits and _, as in RE2.
// Source: https://github.com/google/re2/wiki/Syntax
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::ops {

/// A deterministic automaton. State 0 is that of no match any more, 1 the first.
struct RegexTable {
  std::array<uint8_t, 256> class_of = {};  // of a byte
  uint32_t classes = 1;
  std::vector<uint16_t> next;  // [states, classes]
  std::vector<bool> accepts;   // [states] whether a text that ends here matches

  bool matches(std::string_view text) const;
  /// Little-endian: u32 classes, u32 states, class_of, next, a byte per state that accepts.
  std::string to_bytes() const;
};

/// Errors: invalid_argument for what is no regular expression, unsupported for what is not there
/// and for expressions whose table would be too large.
Result<RegexTable> compile_regex(std::string_view pattern);

}  // namespace ingot::ops
