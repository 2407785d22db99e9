// kernel/mistakes.cc: who takes mistakes, by thread.
#include "kernel/mistakes.h"

namespace ingot {
namespace {

constinit thread_local TypeMistakes* t_innermost = nullptr;

}  // namespace

TypeMistakes::TypeMistakes() : outer_(t_innermost) {
  t_innermost = this;
}

TypeMistakes::~TypeMistakes() {
  t_innermost = outer_;
}

void TypeMistakes::add(const std::string& mistake) {
  if (!first_) first_ = mistake;
}

TypeMistakes* TypeMistakes::current() {
  return t_innermost;
}

}  // namespace ingot
