// ir/lexer.h: the words of the text form, for the parsers of types and graphs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot {

/// Walks over text, skipping white space and comments ("// ..." to the end of the line). Never
/// reads past the end; every question about a missing character is answered with no.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  size_t position() const { return at_; }
  void seek(size_t position) { at_ = position; }
  bool at_end();
  /// The next character that is not white space; 0 at the end.
  char peek();
  /// Steps over `mark` if it comes next.
  bool accept(std::string_view mark);
  Status expect(std::string_view mark);
  /// Letters, digits, '_', '.' and '-' inside; begins with a letter or '_'. Empty if there is none.
  std::string_view identifier();
  std::string_view peek_identifier();
  /// Steps over the identifier `word` if it comes next as a whole.
  bool accept_word(std::string_view word);
  /// Letters and digits in any order; empty if there are none.
  std::string_view alphanumeric();
  /// A number's text: sign, digits, point, exponent, or inf and nan with a sign. Empty if none.
  std::string_view number();
  Result<int64_t> integer();
  /// An integer with `mark` behind it, which is stepped over: of "1..5", 1.
  Result<int64_t> integer_before(std::string_view mark);
  /// A literal in double quotes, without them.
  Result<std::string> string();
  /// Text up to `close` at nesting depth 0, which is stepped over. Brackets of all kinds nest,
  /// quoted text counts as one word.
  Result<std::string_view> until(char close);

  /// Text up to `mark`, or to `word` that stands by itself, outside of quoted text, and over it.
  Result<std::string_view> until_mark(std::string_view mark);
  Result<std::string_view> until_word(std::string_view word);

  /// An invalid_argument with the line it is about: "line 3: expected ..., got '...'".
  Error error(std::string_view expected);

 private:
  void skip();
  std::string_view text_;
  size_t at_ = 0;
};

/// The pieces of `text` between top-level commas, trimmed; none for empty text.
std::vector<std::string_view> split_top_level(std::string_view text);

}  // namespace ingot
