// base/text.cc: joining, indenting, quoting, escaping, and printing numbers.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace ingot {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

/// The bytes of the UTF-8 character that `text` begins with; 0 if it is none, or none that can be
/// seen on its line where it stands: controls, zero widths, marks of direction.
size_t visible_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return is_printable(text.front()) ? 1 : 0;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  uint32_t code = lead & (0x7fU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto next = static_cast<unsigned char>(c);
    if (next >> 6 != 0b10) return 0;
    code = code << 6 | (next & 0x3fU);
  }
  constexpr uint32_t kSmallest[] = {0x80, 0x800, 0x10000};  // of 2, 3 and 4 bytes
  if (code < kSmallest[bytes - 2] || code > 0x10ffff) return 0;
  constexpr std::pair<uint32_t, uint32_t> kUnseen[] = {
      {0x80, 0xa0},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},
      {0x2060, 0x206f}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}};
  const bool unseen = std::ranges::any_of(
      kUnseen, [code](const auto& range) { return range.first <= code && code <= range.second; });
  return unseen ? 0 : bytes;
}

// C17, C++20 and the words that CUDA and HIP take, sorted.
constexpr std::string_view kKeywords[] = {"alignas",
                                          "alignof",
                                          "and",
                                          "and_eq",
                                          "asm",
                                          "atomic_cancel",
                                          "auto",
                                          "bitand",
                                          "bitor",
                                          "bool",
                                          "break",
                                          "case",
                                          "catch",
                                          "char",
                                          "char16_t",
                                          "char32_t",
                                          "char8_t",
                                          "class",
                                          "co_await",
                                          "co_return",
                                          "co_yield",
                                          "compl",
                                          "concept",
                                          "const",
                                          "const_cast",
                                          "consteval",
                                          "constexpr",
                                          "constinit",
                                          "continue",
                                          "decltype",
                                          "default",
                                          "delete",
                                          "do",
                                          "double",
                                          "dynamic_cast",
                                          "else",
                                          "enum",
                                          "explicit",
                                          "export",
                                          "extern",
                                          "false",
                                          "float",
                                          "for",
                                          "friend",
                                          "goto",
                                          "if",
                                          "inline",
                                          "int",
                                          "linux",
                                          "long",
                                          "mutable",
                                          "namespace",
                                          "new",
                                          "noexcept",
                                          "not",
                                          "not_eq",
                                          "nullptr",
                                          "operator",
                                          "or",
                                          "or_eq",
                                          "private",
                                          "protected",
                                          "public",
                                          "register",
                                          "reinterpret_cast",
                                          "requires",
                                          "restrict",
                                          "return",
                                          "short",
                                          "signed",
                                          "sizeof",
                                          "static",
                                          "static_assert",
                                          "static_cast",
                                          "struct",
                                          "switch",
                                          "template",
                                          "this",
                                          "thread_local",
                                          "throw",
                                          "true",
                                          "try",
                                          "typedef",
                                          "typeid",
                                          "typename",
                                          "typeof",
                                          "union",
                                          "unix",
                                          "unsigned",
                                          "using",
                                          "virtual",
                                          "void",
                                          "volatile",
                                          "wchar_t",
                                          "while",
                                          "xor",
                                          "xor_eq"};

template <class Number>
std::string format_any(Number value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string indent(std::string_view text, int spaces) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && c != '\n') out.append(static_cast<size_t>(spaces), ' ');
    line_begins = c == '\n';
    out += c;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (is_printable(c) && c != '?') {
      out += c;
    } else {
      // Three octal digits end by themselves, so a digit may follow.
      fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return out + '"';
}

std::optional<std::string> unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"') return std::nullopt;
  literal = literal.substr(1, literal.size() - 2);
  std::string out;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '"') return std::nullopt;
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    if (++i == literal.size()) return std::nullopt;
    if (literal[i] == 'n') {
      out += '\n';
    } else if (literal[i] == '"' || literal[i] == '\\') {
      out += literal[i];
    } else {
      unsigned byte = 0;
      if (i + 3 > literal.size()) return std::nullopt;
      for (const char digit : literal.substr(i, 3)) {
        if (digit < '0' || digit > '7') return std::nullopt;
        byte = byte * 8 + static_cast<unsigned>(digit - '0');
      }
      if (byte > 255) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    }
  }
  return out;
}

std::string to_identifier(std::string_view text) {
  constexpr size_t kMaxBytes = 48;
  std::string out;
  for (const char c : text.substr(0, kMaxBytes)) {
    const char kept = is_letter(c) || is_digit(c) ? c : '_';
    if (kept == '_' && (out.empty() || out.back() == '_')) continue;
    out += kept;
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || !is_letter(out[0])) out.insert(0, "v");
  if (std::ranges::binary_search(kKeywords, std::string_view(out))) out += '_';
  return out;
}

std::string to_comment(std::string_view text) {
  constexpr size_t kMaxBytes = 120;
  std::string out;
  for (size_t k = 0; k < text.size();) {
    const size_t bytes = visible_character(text.substr(k));
    if (k + std::max<size_t>(bytes, 1) > kMaxBytes) return out + "...";
    const std::string_view c = bytes == 0 || text[k] == '\\' ? "?" : text.substr(k, bytes);
    if (!out.empty() && (out.back() == '*' || out.back() == '/') && (c == "/" || c == "*"))
      out += ' ';
    out += c;
    k += std::max<size_t>(bytes, 1);
  }
  return out;
}

std::string format_number(double value) {
  return format_any(value);
}
std::string format_number(float value) {
  return format_any(value);
}

std::string format_bytes(unsigned long long bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<long long> parse_int(std::string_view text) {
  return parse_all<long long>(text);
}
std::optional<double> parse_number(std::string_view text) {
  return parse_all<double>(text);
}

}  // namespace ingot
