// ops/regex.cc: makes a pattern a nondeterministic automaton over bytes, and that deterministic.
#include "ops/regex.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "ops/regex_pattern.h"

namespace ingot::ops {
namespace {

using regex::Anchor;
using regex::Piece;
using regex::RuneRange;
using regex::RuneSet;

constexpr size_t kMaxNodes = size_t{1} << 17;
constexpr size_t kMaxEntries = size_t{1} << 18;  // of the table
/// Nodes that are looked at on the way there: a fraction of a second.
constexpr size_t kMaxSteps = size_t{1} << 24;

/// A node of the automaton: reads a byte of [lo, hi] and goes on at `next`; or goes on at `next`
/// and `other` without reading, at an anchor only where that holds.
struct NfaNode {
  enum class Kind : uint8_t { bytes, split, anchor, match } kind = Kind::match;
  uint8_t lo = 0, hi = 0;
  int next = -1, other = -1;
  Anchor anchor = Anchor::text_begin;
};

/// Builds the automaton from its end to its beginning: a piece is made for what comes behind it.
class NfaBuilder {
 public:
  std::vector<NfaNode> nodes;
  bool too_large = false;

  int add(NfaNode node) {
    if (nodes.size() >= kMaxNodes) too_large = true;
    if (too_large) return 0;
    nodes.push_back(node);
    return static_cast<int>(nodes.size() - 1);
  }
  int split(int a, int b) { return add({NfaNode::Kind::split, 0, 0, a, b}); }
  int anchor(Anchor anchor, int next) {
    return add({NfaNode::Kind::anchor, 0, 0, next, -1, anchor});
  }

  int runes(const RuneSet& set, int next) {
    int result = -1;
    for (const RuneRange& r : regex::normal(set)) {
      for (const int begin : utf8(r.lo, r.hi, next)) {
        result = result < 0 ? begin : split(begin, result);
      }
    }
    // Nothing is in the set: a node that reads no byte.
    return result >= 0 ? result : add({NfaNode::Kind::bytes, 1, 0, next, -1});
  }

 private:
  static std::vector<uint8_t> encoded(uint32_t rune) {
    const auto tail = [&](int shift) {
      return static_cast<uint8_t>(0x80 | (rune >> shift & 0x3F));
    };
    if (rune < 0x80) return {static_cast<uint8_t>(rune)};
    if (rune < 0x800) return {static_cast<uint8_t>(0xC0 | rune >> 6), tail(0)};
    if (rune < 0x10000) return {static_cast<uint8_t>(0xE0 | rune >> 12), tail(6), tail(0)};
    return {static_cast<uint8_t>(0xF0 | rune >> 18), tail(12), tail(6), tail(0)};
  }

  /// One chain of bytes for each part of [lo, hi] whose encodings are all combinations of ranges.
  std::vector<int> utf8(uint32_t lo, uint32_t hi, int next) {
    std::vector<int> result;
    for (const uint32_t last : {0x7Fu, 0x7FFu, 0xFFFFu}) {
      if (lo <= last && last < hi) {
        result = utf8(lo, last, next);
        for (const int begin : utf8(last + 1, hi, next)) result.push_back(begin);
        return result;
      }
    }
    for (int tails = 1; tails < 4 && hi >= 0x80; ++tails) {
      const uint32_t mask = (1u << (6 * tails)) - 1;
      if ((lo & ~mask) == (hi & ~mask)) continue;
      uint32_t cut = 0;
      if ((lo & mask) != 0) {
        cut = (lo | mask) + 1;
      } else if ((hi & mask) != mask) {
        cut = hi & ~mask;
      }
      if (cut == 0) continue;
      result = utf8(lo, cut - 1, next);
      for (const int begin : utf8(cut, hi, next)) result.push_back(begin);
      return result;
    }
    const auto first = encoded(lo), last = encoded(hi);
    for (size_t k = first.size(); k-- > 0;) {
      next = add({NfaNode::Kind::bytes, first[k], last[k], next, -1});
    }
    return {next};
  }
};

int build(NfaBuilder& nfa, const Piece& piece, int next) {
  if (nfa.too_large) return 0;
  switch (piece.kind) {
    case Piece::Kind::runes:
      return nfa.runes(piece.set, next);
    case Piece::Kind::byte:
      return nfa.add({NfaNode::Kind::bytes, 0, 0xFF, next});
    case Piece::Kind::anchor:
      return nfa.anchor(piece.anchor, next);
    case Piece::Kind::sequence:
      for (size_t k = piece.parts.size(); k-- > 0;) next = build(nfa, piece.parts[k], next);
      return next;
    case Piece::Kind::choice: {
      int result = build(nfa, piece.parts.back(), next);
      for (size_t k = piece.parts.size() - 1; k-- > 0;) {
        result = nfa.split(build(nfa, piece.parts[k], next), result);
      }
      return result;
    }
    case Piece::Kind::repeat: {
      const Piece& part = piece.parts[0];
      if (piece.most < 0) {
        const int loop = nfa.split(-1, next);
        const int body = build(nfa, part, loop);
        if (!nfa.too_large) nfa.nodes[static_cast<size_t>(loop)].next = body;
        next = loop;
      }
      int result = next;
      for (int k = piece.least; k < piece.most && !nfa.too_large; ++k) {
        result = nfa.split(build(nfa, part, result), next);
      }
      for (int k = 0; k < piece.least && !nfa.too_large; ++k) result = build(nfa, part, result);
      return result;
    }
  }
  INGOT_UNREACHABLE();
}

/// What is on one side of a place in a text.
enum class Side : uint8_t { end, word, newline, other };

/// Whether an anchor holds between two sides.
bool holds(Anchor anchor, Side behind, Side ahead) {
  switch (anchor) {
    case Anchor::text_begin:
      return behind == Side::end;
    case Anchor::text_end:
      return ahead == Side::end;
    case Anchor::line_begin:
      return behind == Side::end || behind == Side::newline;
    case Anchor::line_end:
      return ahead == Side::end || ahead == Side::newline;
    case Anchor::word_boundary:
      return (behind == Side::word) != (ahead == Side::word);
    case Anchor::no_word_boundary:
      return (behind == Side::word) == (ahead == Side::word);
  }
  INGOT_UNREACHABLE();
}

/// Makes the sets of nodes that the automaton may be in the states of a table.
class Determiniser {
 public:
  explicit Determiniser(const std::vector<NfaNode>& nodes) : nodes_(nodes), seen_(nodes.size(), 0) {
    for (const NfaNode& node : nodes) {
      if (node.kind != NfaNode::Kind::anchor) continue;
      has_anchors_ = true;
      has_words_ |= node.anchor == Anchor::word_boundary || node.anchor == Anchor::no_word_boundary;
      has_lines_ |= node.anchor == Anchor::line_begin || node.anchor == Anchor::line_end;
    }
  }

  /// None: it would be too large.
  std::optional<RegexTable> run(int begin) {
    find_classes();
    const State dead, first{closure({begin}, nullptr), Side::end};
    states_.push_back(&dead);
    states_.push_back(&first);  // no other is it: here the text begins
    for (size_t s = 0; s < states_.size(); ++s) {
      add_row(*states_[s]);
      if (states_.size() * table_.classes > kMaxEntries || states_.size() > 0xFFFF ||
          steps_ > kMaxSteps) {
        return std::nullopt;
      }
    }
    return std::move(table_);
  }

 private:
  /// Where reading goes on, up to anchors, and what was read last as far as that matters.
  struct State {
    std::vector<int> nodes;
    Side behind = Side::other;
    friend auto operator<=>(const State&, const State&) = default;
  };
  struct Place {
    Side behind, ahead;
  };

  const NfaNode& at(int node) const { return nodes_[static_cast<size_t>(node)]; }

  Side side_of(uint8_t byte) const {
    if (has_lines_ && byte == '\n') return Side::newline;
    const bool is_word = has_words_ && std::ranges::any_of(regex::word_runes(), [&](RuneRange r) {
                           return r.lo <= byte && byte <= r.hi;
                         });
    return is_word ? Side::word : Side::other;
  }

  /// Bytes that no node and no anchor tells apart are one class.
  void find_classes() {
    std::array<bool, 257> begins = {true};
    for (const NfaNode& node : nodes_) {
      if (node.kind != NfaNode::Kind::bytes) continue;
      begins[node.lo] = true;
      begins[node.hi + 1u] = true;
    }
    for (size_t byte = 1; byte < 256; ++byte) {
      const auto b = static_cast<uint8_t>(byte);
      if (side_of(b) != side_of(static_cast<uint8_t>(b - 1))) begins[byte] = true;
    }
    table_.classes = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) {
        sides_.push_back(side_of(static_cast<uint8_t>(byte)));
        ++table_.classes;
      }
      table_.class_of[byte] = static_cast<uint8_t>(table_.classes - 1);
    }
  }

  void add_row(const State& state) {
    std::vector<std::vector<int>> next(table_.classes);
    for (const Side ahead : {Side::end, Side::word, Side::newline, Side::other}) {
      const Place place = {state.behind, ahead};
      const std::vector<int> nodes = has_anchors_ ? closure(state.nodes, &place) : state.nodes;
      if (ahead == Side::end) {
        table_.accepts.push_back(std::ranges::any_of(
            nodes, [&](int node) { return at(node).kind == NfaNode::Kind::match; }));
        continue;
      }
      for (const int node : nodes) {
        const NfaNode& n = at(node);
        if (n.kind != NfaNode::Kind::bytes || n.lo > n.hi) continue;
        for (size_t c = table_.class_of[n.lo]; c <= table_.class_of[n.hi]; ++c, ++steps_) {
          if (sides_[c] == ahead) next[c].push_back(n.next);
        }
      }
    }
    for (size_t c = 0; c < next.size(); ++c) {
      table_.next.push_back(steps_ > kMaxSteps ? uint16_t{0}
                                               : add_state(std::move(next[c]), sides_[c]));
    }
  }

  uint16_t add_state(std::vector<int> nodes, Side behind) {
    State state{closure(std::move(nodes), nullptr), behind};
    if (state.nodes.empty()) return 0;
    const auto [found, is_new] =
        numbers_.try_emplace(std::move(state), static_cast<uint16_t>(states_.size()));
    if (is_new) states_.push_back(&found->first);
    return found->second;
  }

  /// Every node that is reached without reading, sorted, but for those that only lead on; anchors
  /// are passed at a place alone.
  std::vector<int> closure(std::vector<int> stack, const Place* place) {
    std::vector<int> result;
    ++closures_;
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      if (node < 0 || seen_[static_cast<size_t>(node)] == closures_) continue;
      seen_[static_cast<size_t>(node)] = closures_;
      ++steps_;
      const NfaNode& n = at(node);
      const bool is_anchor = n.kind == NfaNode::Kind::anchor;
      if (n.kind != NfaNode::Kind::split && !(is_anchor && place != nullptr))
        result.push_back(node);
      const bool passes =
          n.kind == NfaNode::Kind::split ||
          (is_anchor && place != nullptr && holds(n.anchor, place->behind, place->ahead));
      if (!passes) continue;
      stack.push_back(n.next);
      stack.push_back(n.other);
    }
    std::ranges::sort(result);
    return result;
  }

  const std::vector<NfaNode>& nodes_;
  bool has_anchors_ = false, has_words_ = false, has_lines_ = false;
  std::vector<Side> sides_;  // that bytes of each class are
  std::map<State, uint16_t> numbers_;
  std::vector<const State*> states_;  // by number
  std::vector<uint32_t> seen_;        // by node: the last closure that it is in
  uint32_t closures_ = 0;
  size_t steps_ = 0;
  RegexTable table_;
};

}  // namespace

bool RegexTable::matches(std::string_view text) const {
  uint32_t state = 1;
  for (const char c : text) state = next[state * classes + class_of[static_cast<uint8_t>(c)]];
  return accepts[state];
}

std::string RegexTable::to_bytes() const {
  std::string bytes;
  const auto add = [&](uint32_t value, int width) {
    for (int k = 0; k < width; ++k) bytes += static_cast<char>(value >> (8 * k) & 0xFF);
  };
  add(classes, 4);
  add(static_cast<uint32_t>(accepts.size()), 4);
  for (const uint8_t c : class_of) add(c, 1);
  for (const uint16_t state : next) add(state, 2);
  for (const bool accept : accepts) add(accept ? 1 : 0, 1);
  return bytes;
}

Result<RegexTable> compile_regex(std::string_view pattern) {
  TRY(const Piece piece, regex::parse_pattern(pattern));
  NfaBuilder nfa;
  const int match = nfa.add({NfaNode::Kind::match});
  const int begin = build(nfa, piece, match);
  std::optional<RegexTable> table;
  if (!nfa.too_large) table = Determiniser(nfa.nodes).run(begin);
  if (!table) return unsupported(regex::shown(pattern), ": its automaton is too large");
  return *std::move(table);
}

}  // namespace ingot::ops
