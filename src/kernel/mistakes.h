// kernel/mistakes.h: expressions whose types come from outside.
#pragma once

#include <optional>
#include <string>

namespace ingot {

/// While it lives, an expression of this thread whose operands' types do not fit is no failing
/// CHECK: the first such mistake is kept, and the expression is 0. For readers, whose operands have
/// the types that a model says; what they build after a mistake must not be used.
class TypeMistakes {
 public:
  TypeMistakes();
  ~TypeMistakes();
  TypeMistakes(const TypeMistakes&) = delete;
  TypeMistakes& operator=(const TypeMistakes&) = delete;

  const std::optional<std::string>& first() const { return first_; }
  void add(const std::string& mistake);
  /// The innermost one of this thread, or null.
  static TypeMistakes* current();

 private:
  std::optional<std::string> first_;
  TypeMistakes* outer_;
};

}  // namespace ingot
