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
constexpr int kMaxPieces = 20000;

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

/// Letters that are one but for their case, as k, K and the sign of kelvin, by each of them.
const std::map<uint32_t, RuneSet>& letters_by_case() {
  static const std::map<uint32_t, RuneSet> kLetters = [] {
    constexpr uint32_t kLastWithCase = 0x1FFFF;
    // The i of Turkish without a dot, and the I with one, are letters of their own.
    constexpr uint32_t kDottedI = 0x130, kDotlessI = 0x131;
    std::map<uint32_t, RuneSet> by_common;  // the lower case of the upper case
    for (uint32_t rune = 0; rune <= kLastWithCase; ++rune) {
      if (rune == kDottedI || rune == kDotlessI) continue;
      by_common[lower_case(upper_case(rune))].push_back({rune, rune});
    }
    // These are one since Unicode 15.1, without a case that says so.
    for (const auto& [a, b] : {std::pair(0x390u, 0x1FD3u), {0x3B0u, 0x1FE3u}, {0xFB05u, 0xFB06u}}) {
      by_common[a] = {{a, a}, {b, b}};
      by_common.erase(b);
    }
    std::map<uint32_t, RuneSet> letters;
    for (const auto& [_, set] : by_common) {
      for (const RuneRange& r : set) {
        if (set.size() > 1) letters[r.lo] = set;
      }
    }
    return letters;
  }();
  return kLetters;
}

/// The letters outside of the range that are some in it but for their case.
void add_other_cases(RuneRange range, RuneSet& to) {
  const auto& letters = letters_by_case();
  const auto end = letters.upper_bound(range.hi);
  for (auto at = letters.lower_bound(range.lo); at != end; ++at) {
    for (const RuneRange& r : at->second) {
      if (r.lo < range.lo || r.lo > range.hi) to.push_back(r);
    }
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
    return invalid_argument(shown(pattern_), ": ", what, " at byte ", at_);
  }
  Error missing(std::string_view what) const {
    return unsupported(shown(pattern_), ": ", what, " at byte ", at_);
  }
  static bool is_word(char c) {
    return std::ranges::any_of(word_runes(), [&](const RuneRange& r) {
      return r.lo <= static_cast<unsigned char>(c) && static_cast<unsigned char>(c) <= r.hi;
    });
  }
  static bool is_octal(char c) { return c >= '0' && c <= '7'; }
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

  RuneSet cases_of(RuneSet set) const {
    set = normal(std::move(set));
    if (!flags_.ignore_case) return set;
    RuneSet both = set;
    for (const RuneRange& r : set) add_other_cases(r, both);
    return normal(std::move(both));
  }
  Piece one_of(RuneSet set) const { return {Piece::Kind::runes, cases_of(std::move(set))}; }

  Result<Piece> choice(int depth) {
    if (depth > kMaxDepth) return bad("groups nested too deep");
    Piece result{Piece::Kind::choice};
    do {
      TRY(Piece part, sequence(depth));
      add(std::move(part), result);
    } while (accept("|"));
    return result;
  }

  static void add(Piece part, Piece& to) {
    to.copies = std::max(to.copies, part.copies);
    to.parts.push_back(std::move(part));
  }

  Result<Piece> sequence(int depth) {
    Piece result{Piece::Kind::sequence};
    bool behind_repeat = false;
    while (!at_end() && !looking_at("|") && !looking_at(")")) {
      TRY(const bool repeated, repeat(result, behind_repeat));
      behind_repeat = repeated;
      if (repeated) continue;
      if (++pieces_ > kMaxPieces) return missing("an expression of so many parts");
      if (accept("\\Q")) {
        TRY_STATUS(quoted(result));
        continue;
      }
      TRY(std::optional<Piece> part, atom(depth));
      if (part) add(*std::move(part), result);
    }
    return result;
  }

  /// Repeats the last part if the pattern says so here. What is between them and no part, such as a
  /// flag, is passed over, as RE2 does.
  Result<bool> repeat(Piece& sequence, bool behind_repeat) {
    const size_t begin = at_;
    int least = 0, most = -1;
    bool counted = false;
    if (accept("*")) {
    } else if (accept("+")) {
      least = 1;
    } else if (accept("?")) {
      most = 1;
    } else {
      TRY(counted, counts(&least, &most));
      if (!counted) return false;
    }
    if (behind_repeat) return bad("two repetitions in a row");
    if (sequence.parts.empty()) {
      at_ = begin;
      return bad("nothing to repeat");
    }
    accept("?");  // as few as possible: the same texts match
    Piece& part = sequence.parts.back();
    const int copies = counted ? part.copies * std::max({least, most, 1}) : part.copies;
    if (copies > kMaxRepeat) return bad("repetitions that multiply out of range");
    part = {Piece::Kind::repeat, {}, {std::move(part)}, least, most};
    part.copies = copies;
    sequence.copies = std::max(sequence.copies, copies);
    return true;
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
          Piece{Piece::Kind::runes, flags_.dot_all ? complement({}) : complement({{'\n', '\n'}})});
    }
    if (accept("^")) return anchored(flags_.lines ? Anchor::line_begin : Anchor::text_begin);
    if (accept("$")) return anchored(flags_.lines ? Anchor::line_end : Anchor::text_end);
    if (accept("\\A")) return anchored(Anchor::text_begin);
    if (accept("\\z")) return anchored(Anchor::text_end);
    if (accept("\\C")) return std::optional(Piece{Piece::Kind::byte});
    if (accept("\\b")) return anchored(Anchor::word_boundary);
    if (accept("\\B")) return anchored(Anchor::no_word_boundary);
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

  /// Letters up to \E.
  Status quoted(Piece& to) {
    while (!at_end() && !accept("\\E")) {
      TRY(const uint32_t letter, rune());
      add(one_of({{letter, letter}}), to);
    }
    return {};
  }

  struct Flags {
    bool ignore_case = false, dot_all = false, lines = false;
  };

  /// Flags that are set within a group hold up to its end. Nothing for a group that only sets some.
  Result<std::optional<Piece>> group(int depth) {
    const Flags outer = flags_;
    if (accept("?")) {
      if (accept("P<") || accept("<")) {
        TRY_STATUS(group_name());
      } else {
        TRY_STATUS(flags());
        if (accept(")")) return std::optional<Piece>();
        accept(":");
      }
    }
    TRY(Piece inside, choice(depth + 1));
    if (!accept(")")) return bad("a group without an end");
    flags_ = outer;
    return std::optional(std::move(inside));
  }

  Status group_name() {
    const size_t end = std::min(pattern_.find('>', at_), pattern_.size());
    const std::string_view name = pattern_.substr(at_, end - at_);
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return static_cast<unsigned char>(c) >= 0x80 || is_word(c);
    });
    if (end == pattern_.size() || !is_name) return bad("a group without a name");
    at_ = end + 1;
    return ok();
  }

  /// Letters up to : or ), those behind a - are switched off.
  Status flags() {
    bool on = true, any = false;
    for (; !looking_at(":") && !looking_at(")"); ++at_) {
      const char flag = at_end() ? ' ' : pattern_[at_];
      if (flag == 'i') {
        flags_.ignore_case = on;
      } else if (flag == 's') {
        flags_.dot_all = on;
      } else if (flag == 'm') {
        flags_.lines = on;
      } else if (flag == '-' ? !on : flag != 'U') {
        return bad("an unknown kind of group");
      }
      any = flag != '-';
      on = on && flag != '-';
    }
    if (!on && !any) return bad("a - without a flag");
    return ok();
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
        append(set, without ? complement(cases_of(found->second)) : found->second);
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
    return complement(cases_of(std::move(set)));
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
        // Not one of them is what differs from all of them in more than case.
        return c >= 'a' ? set : complement(cases_of(set));
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
    // A digit other than 0 alone would be a group that was matched before.
    const bool is_number =
        is_octal(c) && (c == '0' || (at_ + 1 < pattern_.size() && is_octal(pattern_[at_ + 1])));
    if (is_number) return octal();
    if ((is_word(c) && c != '_') || static_cast<unsigned char>(c) >= 0x80) {
      return bad("an unknown escape");
    }
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
    for (int digits = 0; digits < 3 && !at_end() && is_octal(pattern_[at_]); ++at_, ++digits) {
      value = value * 8 + static_cast<uint32_t>(pattern_[at_] - '0');
    }
    return RuneSet{{value, value}};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  Flags flags_;
  int pieces_ = 0;
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

std::string shown(std::string_view pattern) {
  constexpr size_t kLongest = 100;
  const std::string begin = concat("pattern ", quote(pattern.substr(0, kLongest)));
  return pattern.size() > kLongest ? begin + "..." : begin;
}

const RuneSet& word_runes() {
  static const RuneSet kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kWord;
}

Result<Piece> parse_pattern(std::string_view pattern) {
  return Parser(pattern).parse();
}

}  // namespace ingot::ops::regex
