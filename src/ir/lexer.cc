// ir/lexer.cc: the words of the text form.
#include "ir/lexer.h"

#include <charconv>

#include "base/text.h"

namespace ingot {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Position after the quoted literal that begins at `at`, or npos if it does not end.
size_t end_of_literal(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void Lexer::skip() {
  while (at_ < text_.size()) {
    if (is_space(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool Lexer::at_end() {
  skip();
  return at_ >= text_.size();
}

char Lexer::peek() {
  return at_end() ? '\0' : text_[at_];
}

bool Lexer::accept(std::string_view mark) {
  skip();
  if (text_.substr(at_, mark.size()) != mark) return false;
  at_ += mark.size();
  return true;
}

Status Lexer::expect(std::string_view mark) {
  if (accept(mark)) return ok();
  return error(concat("'", mark, "'"));
}

std::string_view Lexer::peek_identifier() {
  skip();
  size_t end = at_;
  if (end < text_.size() && is_letter(text_[end])) {
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                  text_[end] == '.' || text_[end] == '-')) {
      ++end;
    }
  }
  return text_.substr(at_, end - at_);
}

std::string_view Lexer::identifier() {
  const std::string_view word = peek_identifier();
  at_ += word.size();
  return word;
}

bool Lexer::accept_word(std::string_view word) {
  if (peek_identifier() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view Lexer::alphanumeric() {
  skip();
  const size_t begin = at_;
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::number() {
  skip();
  size_t end = at_;
  if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
  const std::string_view rest = text_.substr(end);
  if (rest.starts_with("inf") || rest.starts_with("nan")) {
    end += 3;
  } else {
    const size_t first = end;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    if (end == first) return {};
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      ++end;
      if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
  }
  const std::string_view word = text_.substr(at_, end - at_);
  at_ = end;
  return word;
}

Result<int64_t> Lexer::integer() {
  const size_t begin = at_;
  const std::string_view word = number();
  if (const auto value = parse_int(word)) return static_cast<int64_t>(*value);
  at_ = begin;
  return error("an integer");
}

Result<int64_t> Lexer::integer_before(std::string_view mark) {
  skip();
  const size_t end = text_.find(mark, at_);
  const auto value = parse_int(text_.substr(at_, std::min(end, text_.size()) - at_));
  if (end == std::string_view::npos || !value) return error(concat("an integer and '", mark, "'"));
  at_ = end + mark.size();
  return static_cast<int64_t>(*value);
}

Result<std::string> Lexer::string() {
  if (peek() != '"') return error("a text in double quotes");
  const size_t end = end_of_literal(text_, at_);
  if (end == std::string_view::npos) return error("a closing double quote");
  auto text = unquote(text_.substr(at_, end - at_));
  if (!text) return error("a text with escapes \\n, \\\", \\\\ or three octal digits");
  at_ = end;
  return std::move(*text);
}

Result<std::string_view> Lexer::until(char close) {
  const size_t begin = at_;
  int depth = 0;
  for (size_t i = at_; i < text_.size();) {
    const char c = text_[i];
    if (c == close && depth == 0) {
      at_ = i + 1;
      return text_.substr(begin, i - begin);
    }
    if (c == '"') {
      i = end_of_literal(text_, i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) break;
    ++i;
  }
  return error(concat("a closing '", std::string_view(&close, 1), "'"));
}

Result<std::string_view> Lexer::until_mark(std::string_view mark) {
  const size_t begin = at_;
  for (size_t i = at_; i < text_.size();) {
    if (text_.substr(i, mark.size()) == mark) {
      at_ = i + mark.size();
      return text_.substr(begin, i - begin);
    }
    i = text_[i] == '"' ? end_of_literal(text_, i) : i + 1;
  }
  return error(concat("'", mark, "' later"));
}

Result<std::string_view> Lexer::until_word(std::string_view word) {
  const size_t begin = at_;
  while (at_ < text_.size()) {
    if (text_[at_] == '"') {
      at_ = std::min(end_of_literal(text_, at_), text_.size());
      continue;
    }
    const std::string_view next = peek_identifier();
    if (next == word) {
      const std::string_view before = text_.substr(begin, at_ - begin);
      at_ += word.size();
      return before;
    }
    at_ = std::min(at_ + std::max<size_t>(next.size(), 1), text_.size());
  }
  return error(concat("'", word, "' later"));
}

Error Lexer::error(std::string_view expected) {
  skip();
  size_t line = 1;
  for (const char c : text_.substr(0, at_)) line += c == '\n' ? 1 : 0;
  std::string_view rest = text_.substr(at_);
  rest = rest.substr(0, std::min<size_t>(rest.find('\n'), 24));
  return invalid_argument("line ", line, ": expected ", expected, ", got '", to_comment(rest), "'");
}

std::vector<std::string_view> split_top_level(std::string_view text) {
  std::vector<std::string_view> pieces;
  if (trim(text).empty()) return pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const size_t end = end_of_literal(text, i);
      if (end == std::string_view::npos) break;
      i = end - 1;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      pieces.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  pieces.push_back(trim(text.substr(begin)));
  return pieces;
}

}  // namespace ingot
