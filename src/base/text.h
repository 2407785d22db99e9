// base/text.h: small text work: joining, indenting, splitting, quoting, escaping, printing numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ingot {

/// The parts' texts with `separator` between them.
template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!std::exchange(first, false)) out += separator;
    detail::append_part(out, part);
  }
  return out;
}

/// Every line that is not empty, moved right by `spaces`.
std::string indent(std::string_view text, int spaces);
/// The pieces between separators; one piece, the whole text, if there is none.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Without white space at both ends.
std::string_view trim(std::string_view text);

/// `text` as a literal of C, C++, CUDA or HIP with its quotes: only printable ASCII in it,
/// trigraphs broken up, other bytes in octal, so that whatever a name holds it stays one literal on
/// one line.
std::string quote(std::string_view text);
/// The text behind a literal that quote() wrote, or none if it is not one.
std::optional<std::string> unquote(std::string_view literal);
/// `text` as an identifier of C: its letters, digits and underscores, the rest as '_'; begins with
/// a letter, has no "__", is at most 48 bytes and never a keyword. Different texts may give one
/// identifier.
std::string to_identifier(std::string_view text);
/// `text` for a comment on one line: no line breaks, no comment marks, no trailing backslash, cut
/// at 120 bytes. Bytes that are no UTF-8, and characters that cannot be seen or turn the direction
/// of a line (Unicode Technical Standard 55), stand as '?'.
std::string to_comment(std::string_view text);

/// The shortest decimal that reads back as the same number, always with a point, an exponent, or
/// one of "inf", "-inf", "nan": 1.0, 0.1, 1e-30.
std::string format_number(double value);
std::string format_number(float value);
/// "17 B", "1.5 KiB", "2.0 GiB".
std::string format_bytes(unsigned long long bytes);

/// The whole of `text` as an integer (decimal, optional sign), or none.
std::optional<long long> parse_int(std::string_view text);
/// The whole of `text` as a number ("inf" and "nan" included), or none.
std::optional<double> parse_number(std::string_view text);

}  // namespace ingot
