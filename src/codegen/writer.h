// codegen/writer.h: writes indented source text.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ingot {

/// Collects lines. Blocks indent what is written inside them.
class Writer {
 public:
  /// One line at the present indentation, made of parts as in an error message. No part: empty.
  template <class... Parts>
  void line(const Parts&... parts) {
    const std::string text = concat(parts...);
    if (!text.empty()) text_.append(2 * static_cast<size_t>(depth_), ' ');
    text_ += text;
    text_ += '\n';
  }

  /// `head {` ... `}tail`, with `body()` in between.
  template <class Body>
  void block(std::string_view head, Body body, std::string_view tail = {}) {
    line(head, head.empty() ? "{" : " {");
    ++depth_;
    body();
    --depth_;
    line("}", tail);
  }

  void raw(std::string_view text) { text_ += text; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }
  /// Takes back what was written since the text was `size` long.
  std::string cut(size_t size) {
    std::string last = text_.substr(size);
    text_.resize(size);
    return last;
  }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace ingot
