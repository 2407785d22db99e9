// kernel/reader.h: words, numbers and marks of the text forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot {

/// Walks over a text token by token; `#` begins a comment to the end of the line. Holds a view.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end();
  /// The rest begins with the mark, such as "<=": steps over it. Letters must end there too.
  bool accept(std::string_view mark);
  /// As accept, if the mark stands on the line of the last token.
  bool accept_on_line(std::string_view mark);
  Status expect(std::string_view mark);
  /// The next token, without stepping: a word, number, string or single character; "" at the end.
  std::string_view peek();
  /// As peek, stepping over it.
  std::string_view next();

  /// A word of letters, digits and _ that begins with no digit; or an error naming `what`.
  Result<std::string_view> word(std::string_view what);
  /// "..." with \" \\ \n and \xHH.
  Result<std::string> quoted(std::string_view what);
  /// Digits up to 2^64 - 1.
  Result<uint64_t> natural(std::string_view what);
  /// Digits right after one letter: "i3" is 3.
  Result<uint32_t> numbered(char letter, std::string_view what);

  /// "line 3, column 7", of the next token.
  std::string place();
  /// "line 3, column 7: expected ..., got ...".
  Error mistake(std::string_view expected);

  size_t position() const { return position_; }
  void rewind(size_t position) { position_ = end_of_last_ = position; }

 private:
  void skip_space();

  std::string_view text_;
  size_t position_ = 0;
  size_t end_of_last_ = 0;  // where the last token that was stepped over ends
};

/// The text in quotes, for Reader::quoted.
std::string quote_text(std::string_view text);
bool is_word(std::string_view text);
/// The number in "i3" for the letter i; none for any other text.
std::optional<uint32_t> number_after(char letter, std::string_view word);

}  // namespace ingot
