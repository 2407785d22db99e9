// codegen/closure.cc: replaces names and factors in generated statements by members.
#include "codegen/closure.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "codegen/writer.h"

namespace ingot {
namespace {

/// Digits of the hash that a type is named by.
constexpr size_t kHashDigits = 8;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Closer {
 public:
  explicit Closer(const Captures& captures) : captures_(captures) {}

  Closure run(std::string_view statements) {
    replace(statements);
    Closure closure;
    Writer body;
    write_body(body);
    closure.type = concat("Epilogue_", to_text(hash_text(body.text())).substr(0, kHashDigits));
    Writer definition;
    definition.block(
        concat("struct ", closure.type), [&] { write_body(definition); }, ";");
    closure.definition = definition.take();
    std::vector<std::string> values;
    for (const Member& member : members_) values.push_back(member.value);
    closure.arguments = concat("{", join(values, ", "), "}");
    return closure;
  }

 private:
  struct Member {
    std::string name, type, value;
  };

  void write_body(Writer& out) const {
    for (const Member& member : members_) {
      out.line(member.type, " ", member.name, ";");
    }
    out.block(
        "INGOT_MEMBER void operator()([[maybe_unused]] i64 m, [[maybe_unused]] i64 n, vf32 acc, "
        "i64 count) const",
        [&] {
          const size_t indent = std::min(text_.find_first_not_of(' '), text_.size());
          for (std::string_view line : split(text_, '\n')) {
            if (!trim(line).empty()) out.line(line.substr(std::min(indent, line.size())));
          }
        });
  }

  /// Copies the statements with members in place of what is captured.
  void replace(std::string_view from) {
    for (size_t at = 0; at < from.size();) {
      if (!is_word(from[at])) {
        text_ += from[at++];
        continue;
      }
      size_t end = at;
      while (end < from.size() && is_word(from[end])) ++end;
      const std::string_view word = from.substr(at, end - at);
      const bool factor = text_.ends_with("* ") && (end == from.size() || from[end] != '.') &&
                          std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
      if (text_.ends_with("const auto ")) {
        text_ += local_name(word);
      } else if (const auto local = locals_.find(word); local != locals_.end()) {
        text_ += local->second;
      } else if (factor) {
        text_ += member("i64", word);
      } else if (const auto known = captures_.find(word); known != captures_.end()) {
        text_ += member(known->second, word);
      } else {
        text_ += word;
      }
      at = end;
    }
  }

  const std::string& local_name(std::string_view word) {
    return locals_[std::string(word)] = concat("t", locals_.size());
  }

  const std::string& member(std::string_view type, std::string_view value) {
    const auto same = std::ranges::find_if(
        members_, [&](const Member& m) { return m.type == type && m.value == value; });
    if (same != members_.end()) return same->name;
    members_.push_back({concat("own", members_.size()), std::string(type), std::string(value)});
    return members_.back().name;
  }

  const Captures& captures_;
  std::vector<Member> members_;
  Captures locals_;  // constants of the statements: how they are counted is the kernel's own affair
  std::string text_;
};

}  // namespace

Closure close_epilogue(std::string_view statements, const Captures& captures) {
  return Closer(captures).run(statements);
}

}  // namespace ingot
