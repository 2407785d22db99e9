// base/check.cc: how a failed CHECK ends.
#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ingot {
namespace {

void print_failure(const CheckFailure& failure) {
  std::fprintf(stderr, "%s\n", failure.message.c_str());
  if (!failure.dump.empty()) std::fprintf(stderr, "%s\n", failure.dump.c_str());
}

constinit std::atomic<CheckHandler> g_handler = &print_failure;
constinit thread_local ScopedCheckDump* t_innermost = nullptr;
constinit thread_local bool t_failing = false;

}  // namespace

CheckHandler set_check_handler(CheckHandler handler) {
  return g_handler.exchange(handler == nullptr ? &print_failure : handler);
}

ScopedCheckDump::ScopedCheckDump(std::function<std::string()> dump)
    : dump_(std::move(dump)), outer_(t_innermost) {
  t_innermost = this;
}

ScopedCheckDump::~ScopedCheckDump() {
  t_innermost = outer_;
}

std::string current_check_dump() {
  return t_innermost == nullptr ? std::string() : t_innermost->dump_();
}

void fail_check(const char* file, int line, const char* condition, const std::string& details) {
  CheckFailure failure;
  failure.message = fmt::format("{}:{}: CHECK({}) does not hold", file, line, condition);
  if (!details.empty()) failure.message += ": " + details;
  // A CHECK that fails inside a dump must not ask for the dump again.
  if (!std::exchange(t_failing, true)) {
    failure.dump = current_check_dump();
    t_failing = false;
  }
  g_handler.load()(failure);
  std::abort();
}

}  // namespace ingot
