// kernel/reader.cc: the tokens of the text forms.
#include "kernel/reader.h"

#include <fmt/format.h>

#include <charconv>

namespace ingot {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_character(char c) {
  return is_letter(c) || is_digit(c);
}

bool is_exponent_sign(std::string_view text, size_t at) {
  return (text[at] == '+' || text[at] == '-') && at > 0 && (text[at - 1] | 0x20) == 'e';
}

std::optional<int> hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

}  // namespace

void Reader::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

bool Reader::at_end() {
  skip_space();
  return position_ == text_.size();
}

std::string_view Reader::peek() {
  skip_space();
  const std::string_view rest = text_.substr(position_);
  if (rest.empty()) return rest;
  size_t size = 1;
  if (is_letter(rest[0])) {
    while (size < rest.size() && is_word_character(rest[size])) ++size;
  } else if (is_digit(rest[0])) {
    // 1e+30 and 2.5 too; "0..7" is two numbers.
    while (size < rest.size() && (is_word_character(rest[size]) || is_exponent_sign(rest, size) ||
                                  (rest[size] == '.' && !rest.substr(size).starts_with("..")))) {
      ++size;
    }
  } else if (rest[0] == '"') {
    while (size < rest.size() && rest[size] != '"') size += rest[size] == '\\' ? 2 : 1;
    size = std::min(size + 1, rest.size());
  }
  return rest.substr(0, size);
}

std::string_view Reader::next() {
  const std::string_view token = peek();
  position_ += token.size();
  end_of_last_ = position_;
  return token;
}

bool Reader::accept(std::string_view mark) {
  skip_space();
  if (is_letter(mark[0])) {
    if (peek() != mark) return false;
  } else if (!text_.substr(position_).starts_with(mark)) {
    return false;
  }
  position_ += mark.size();
  end_of_last_ = position_;
  return true;
}

bool Reader::accept_on_line(std::string_view mark) {
  skip_space();
  const std::string_view between = text_.substr(end_of_last_, position_ - end_of_last_);
  return between.find('\n') == std::string_view::npos && accept(mark);
}

Status Reader::expect(std::string_view mark) {
  if (accept(mark)) return ok();
  return mistake(fmt::format("'{}'", mark));
}

Result<std::string_view> Reader::word(std::string_view what) {
  if (!is_word(peek())) return mistake(what);
  return next();
}

Result<std::string> Reader::quoted(std::string_view what) {
  const std::string_view token = peek();
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return mistake(what);
  std::string text;
  for (size_t k = 1; k + 1 < token.size(); ++k) {
    if (token[k] != '\\') {
      text += token[k];
      continue;
    }
    ++k;
    if (k + 1 >= token.size()) return mistake("the end of the string");
    if (token[k] == 'x') {
      if (k + 3 >= token.size()) return mistake("two hexadecimal digits after \\x");
      const auto high = hex_value(token[k + 1]);
      const auto low = hex_value(token[k + 2]);
      if (!high || !low) return mistake("two hexadecimal digits after \\x");
      text += static_cast<char>(*high * 16 + *low);
      k += 2;
    } else {
      text += token[k] == 'n' ? '\n' : token[k];
    }
  }
  next();
  return text;
}

Result<uint64_t> Reader::natural(std::string_view what) {
  const std::string_view token = peek();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return mistake(what);
  next();
  return value;
}

Result<uint32_t> Reader::numbered(char letter, std::string_view what) {
  const auto number = number_after(letter, peek());
  if (!number) return mistake(what);
  next();
  return *number;
}

std::string Reader::place() {
  skip_space();
  size_t line = 1, column = 1;
  for (const char c : text_.substr(0, position_)) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n';
  }
  return fmt::format("line {}, column {}", line, column);
}

Error Reader::mistake(std::string_view expected) {
  const std::string token(peek());
  return invalid_argument(place(), ": expected ", expected, ", got ",
                          token.empty() ? "the end of the text" : "'" + token.substr(0, 40) + "'");
}

std::string quote_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool is_word(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_word_character(c)) return false;
  }
  return true;
}

std::optional<uint32_t> number_after(char letter, std::string_view word) {
  if (word.size() < 2 || word[0] != letter || !is_digit(word[1])) return std::nullopt;
  if (word[1] == '0' && word.size() > 2) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace ingot
