// ops/regex_pattern.cc: reads a regular expression.
#include "ops/regex_pattern.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/letter_case.h"
#include "base/text.h"

namespace ingot::ops::regex {
namespace {

constexpr int kMaxRepeat = 1000;  // RE2's bound
constexpr int kMaxDepth = 200;

RuneSet complement(const RuneSet& set) {
  RuneSet result;
  uint32_t next = 0;
  for (const RuneRange& r : normal(set)) {
    if (r.lo > next) result.push_back({next, r.lo - 1});
    next = r.hi + 1;
  }
  if (next <= kLastRune) result.push_back({next, kLastRune});
  return result;
}

void append(RuneSet& to, const RuneSet& from) {
  to.insert(to.end(), from.begin(), from.end());
}

const RuneSet kDigits = {{'0', '9'}};
const RuneSet kSpaces = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};

/// The classes of [[:name:]], ASCII as in RE2.
const std::map<std::string_view, RuneSet> kNamedClasses = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", {{0, 0x7F}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{'!', '~'}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{' ', '~'}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}}},
    {"upper", {{'A', 'Z'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};

/// Letters that are one but for their case, as k, K and the sign of kelvin: by what they have in
/// common, the lower case of the upper case.
const std::map<uint32_t, RuneSet>& letters_by_case() {
  static const std::map<uint32_t, RuneSet> kLetters = [] {
    constexpr uint32_t kLastWithCase = 0x1FFFF;
    std::map<uint32_t, RuneSet> letters;
    for (uint32_t rune = 0; rune <= kLastWithCase; ++rune) {
      letters[lower_case(upper_case(rune))].push_back({rune, rune});
    }
    std::erase_if(letters, [](const auto& entry) { return entry.second.size() == 1; });
    return letters;
  }();
  return kLetters;
}

void add_other_cases(RuneRange range, RuneSet& to) {
  for (const auto& [_, letters] : letters_by_case()) {
    const bool is_met = std::ranges::any_of(
        letters, [&](const RuneRange& r) { return range.lo <= r.lo && r.lo <= range.hi; });
    if (is_met) append(to, letters);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Result<Piece> parse() {
    TRY(Piece piece, choice(0));
    if (at_ < pattern_.size()) return bad("an unmatched )");
    return piece;
  }

 private:
  Error bad(std::string_view what) const {
    return invalid_argument("pattern ", quote(pattern_), ": ", what, " at byte ", at_);
  }
  Error missing(std::string_view what) const {
    return unsupported("pattern ", quote(pattern_), ": ", what, " at byte ", at_);
  }
  bool at_end() const { return at_ >= pattern_.size(); }
  bool looking_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool accept(std::string_view text) {
    if (!looking_at(text)) return false;
    at_ += text.size();
    return true;
  }

  Result<uint32_t> rune() {
    const auto decoded = decode_rune(pattern_.substr(at_));
    if (!decoded) return bad("a byte that is no UTF-8");
    at_ += decoded->bytes;
    return decoded->rune;
  }

  Piece one_of(RuneSet set) const {
    if (ignore_case_) {
      RuneSet both = set;
      for (const RuneRange& r : set) add_other_cases(r, both);
      set = std::move(both);
    }
    return {Piece::Kind::runes, normal(std::move(set))};
  }

  Result<Piece> choice(int depth) {
    if (depth > kMaxDepth) return bad("groups nested too deep");
    Piece result{Piece::Kind::choice};
    do {
      TRY(Piece part, sequence(depth));
      result.parts.push_back(std::move(part));
    } while (accept("|"));
    return result;
  }

  Result<Piece> sequence(int depth) {
    Piece result{Piece::Kind::sequence};
    while (!at_end() && !looking_at("|") && !looking_at(")")) {
      if (accept("\\Q")) {
        TRY_STATUS(quoted(result.parts));
        continue;
      }
      TRY(std::optional<Piece> part, atom(depth));
      if (!part) continue;
      TRY(*part, repeated(std::move(*part)));
      result.parts.push_back(std::move(*part));
    }
    return result;
  }

  Result<Piece> repeated(Piece piece) {
    for (bool again = false;; again = true) {
      int least = 0, most = -1;
      if (accept("*")) {
      } else if (accept("+")) {
        least = 1;
      } else if (accept("?")) {
        most = 1;
      } else {
        TRY(const bool counted, counts(&least, &most));
        if (!counted) return piece;
      }
      if (again) return bad("two repetitions in a row");
      accept("?");  // as few as possible: the same texts match
      piece = {Piece::Kind::repeat, {}, {std::move(piece)}, least, most};
    }
  }

  /// {n}, {n,} or {n,m}; other braces are letters.
  Result<bool> counts(int* least, int* most) {
    const size_t begin = at_;
    if (!accept("{")) return false;
    const auto first = number();
    auto second = first;
    if (first && accept(",")) {
      second = looking_at("}") ? std::optional<int>(-1) : number();
    }
    if (!first || !second || !accept("}")) {
      at_ = begin;
      return false;
    }
    if (*first > kMaxRepeat || *second > kMaxRepeat || (*second >= 0 && *second < *first)) {
      return bad("a repetition that is out of range");
    }
    *least = *first;
    *most = *second;
    return true;
  }
  std::optional<int> number() {
    int value = 0;
    const size_t begin = at_;
    for (; !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
      value = std::min(value * 10 + (pattern_[at_] - '0'), kMaxRepeat + 1);
    }
    return at_ == begin ? std::nullopt : std::optional(value);
  }

  /// Nothing for a group that only sets flags.
  Result<std::optional<Piece>> atom(int depth) {
    if (accept("(")) return group(depth);
    if (accept("[")) {
      TRY(RuneSet set, bracket());
      return std::optional(one_of(std::move(set)));
    }
    if (accept(".")) {
      return std::optional(
          Piece{Piece::Kind::runes, dot_all_ ? complement({}) : complement({{'\n', '\n'}})});
    }
    if (accept("^") || accept("\\A")) return anchored(Anchor::text_begin);
    if (accept("$") || accept("\\z")) return anchored(Anchor::text_end);
    if (accept("\\b")) return anchored(Anchor::word_boundary);
    if (accept("\\B")) return anchored(Anchor::no_word_boundary);
    if (looking_at("*") || looking_at("+") || looking_at("?")) return bad("nothing to repeat");
    if (accept("\\")) {
      TRY(RuneSet set, escape());
      return std::optional(one_of(std::move(set)));
    }
    TRY(const uint32_t letter, rune());
    return std::optional(one_of({{letter, letter}}));
  }

  static std::optional<Piece> anchored(Anchor anchor) {
    Piece piece{Piece::Kind::anchor};
    piece.anchor = anchor;
    return piece;
  }

  /// Letters up to \E; what follows repeats the last of them.
  Status quoted(std::vector<Piece>& to) {
    while (!at_end() && !accept("\\E")) {
      TRY(const uint32_t letter, rune());
      to.push_back(one_of({{letter, letter}}));
      if (!accept("\\E")) continue;
      TRY(to.back(), repeated(std::move(to.back())));
      break;
    }
    return {};
  }

  /// Flags that are set within a group hold up to its end.
  Result<std::optional<Piece>> group(int depth) {
    const bool outer_case = ignore_case_, outer_dot = dot_all_;
    if (accept("?")) {
      if (accept("P<") ||
          (looking_at("<") && !looking_at("<=") && !looking_at("<!") && accept("<"))) {
        const size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos) return bad("a group's name without an end");
        at_ = end + 1;
      } else {
        bool on = true;
        while (!looking_at(":") && !looking_at(")")) {
          if (accept("-") && on) {
            on = false;
          } else if (accept("i")) {
            ignore_case_ = on;
          } else if (accept("s")) {
            dot_all_ = on;
          } else if (accept("U")) {
          } else if (looking_at("m")) {
            return missing("multi-line mode");
          } else {
            return bad("an unknown kind of group");
          }
        }
        if (accept(")")) return std::optional<Piece>();
        accept(":");
      }
    }
    TRY(Piece inside, choice(depth + 1));
    if (!accept(")")) return bad("a group without an end");
    ignore_case_ = outer_case;
    dot_all_ = outer_dot;
    return std::optional(std::move(inside));
  }

  Result<RuneSet> bracket() {
    const bool negated = accept("^");
    RuneSet set;
    for (bool first = true; first || !looking_at("]"); first = false) {
      if (at_end()) return bad("a class without an end");
      if (accept("[:")) {
        const bool without = accept("^");
        const size_t end = pattern_.find(":]", at_);
        const auto found = kNamedClasses.find(pattern_.substr(at_, end - at_));
        if (end == std::string_view::npos || found == kNamedClasses.end()) {
          return bad("an unknown class");
        }
        at_ = end + 2;
        append(set, without ? complement(found->second) : found->second);
        continue;
      }
      TRY(const RuneSet low, class_element());
      const bool is_one = low.size() == 1 && low[0].lo == low[0].hi;
      if (!is_one || !looking_at("-") || looking_at("-]")) {
        append(set, low);
        continue;
      }
      accept("-");
      if (at_end()) return bad("a class without an end");
      TRY(const RuneSet high, class_element());
      if (high.size() != 1 || high[0].lo != high[0].hi || high[0].lo < low[0].lo) {
        return bad("a range that is out of order");
      }
      set.push_back({low[0].lo, high[0].lo});
    }
    accept("]");
    if (!negated) return set;
    // Both cases are left out of what is not in the class.
    return complement(one_of(std::move(set)).set);
  }

  Result<RuneSet> class_element() {
    if (accept("\\")) return escape();
    TRY(const uint32_t letter, rune());
    return RuneSet{{letter, letter}};
  }

  /// What stands behind a backslash.
  Result<RuneSet> escape() {
    if (at_end()) return bad("a backslash at the end");
    const char c = pattern_[at_];
    const auto one = [&](uint32_t letter) {
      ++at_;
      return RuneSet{{letter, letter}};
    };
    switch (c) {
      case 'd':
      case 'D':
      case 's':
      case 'S':
      case 'w':
      case 'W': {
        ++at_;
        const RuneSet& set = c == 'd' || c == 'D'   ? kDigits
                             : c == 's' || c == 'S' ? kSpaces
                                                    : word_runes();
        return c >= 'a' ? set : complement(set);
      }
      case 'a':
        return one('\a');
      case 'f':
        return one('\f');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'v':
        return one('\v');
      case 'x':
        ++at_;
        return hexadecimal();
      case 'p':
      case 'P':
        return missing("a Unicode property");
      default:
        break;
    }
    if (c == '0') return octal();
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z') || c == '_' ||
                         static_cast<unsigned char>(c) >= 0x80;
    if (is_word) return bad("an unknown escape");
    return one(static_cast<unsigned char>(c));
  }

  Result<RuneSet> hexadecimal() {
    const bool braces = accept("{");
    uint32_t value = 0;
    int digits = 0;
    for (; !at_end() && digits < (braces ? 8 : 2); ++at_, ++digits) {
      const char c = pattern_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    if (digits == 0 || (!braces && digits != 2) || (braces && !accept("}")) || value > kLastRune) {
      return bad("a damaged hexadecimal escape");
    }
    return RuneSet{{value, value}};
  }
  Result<RuneSet> octal() {
    uint32_t value = 0;
    for (int digits = 0; digits < 3 && !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '7';
         ++at_, ++digits) {
      value = value * 8 + static_cast<uint32_t>(pattern_[at_] - '0');
    }
    return RuneSet{{value, value}};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool ignore_case_ = false, dot_all_ = false;
};

}  // namespace

RuneSet normal(RuneSet set) {
  std::ranges::sort(set, {}, &RuneRange::lo);
  RuneSet result;
  for (const RuneRange& r : set) {
    if (!result.empty() && r.lo <= result.back().hi + 1) {
      result.back().hi = std::max(result.back().hi, r.hi);
    } else {
      result.push_back(r);
    }
  }
  return result;
}

const RuneSet& word_runes() {
  static const RuneSet kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kWord;
}

Result<Piece> parse_pattern(std::string_view pattern) {
  return Parser(pattern).parse();
}

}  // namespace ingot::ops::regex
