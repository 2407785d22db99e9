// base/check.h: CHECK and DCHECK, for mistakes of the programmer; users' mistakes are Errors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ingot {

/// What a failed CHECK tells its handler.
struct CheckFailure {
  std::string message;  ///< "file:line: CHECK(condition) does not hold: details"
  std::string dump;     ///< the text of the innermost ScopedCheckDump of this thread, or empty
};

/// Called when a CHECK fails. It may throw; when it returns, the process aborts.
using CheckHandler = void (*)(const CheckFailure& failure);

/// Replaces the handler of the whole process and returns the one before. Null brings back the
/// default, which prints the failure to stderr. Safe for concurrent use.
CheckHandler set_check_handler(CheckHandler handler);

/// While it lives, a failing CHECK of this thread asks `dump` for a text to show, such as the graph
/// that a pass works on. Scopes nest; the innermost speaks. `dump` must not fail a CHECK.
class ScopedCheckDump {
 public:
  explicit ScopedCheckDump(std::function<std::string()> dump);
  ~ScopedCheckDump();
  ScopedCheckDump(const ScopedCheckDump&) = delete;
  ScopedCheckDump& operator=(const ScopedCheckDump&) = delete;

 private:
  friend std::string current_check_dump();
  std::function<std::string()> dump_;
  ScopedCheckDump* outer_;
};

/// Reports the failure to the handler, then aborts. For CHECK only.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& details);

}  // namespace ingot

/// CHECK(condition, parts...): stops with the parts' text if the condition does not hold; always
/// on.
#define CHECK(condition, ...)   \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::ingot::fail_check(__FILE__, __LINE__, #condition, ::ingot::concat(__VA_ARGS__)))

/// DCHECK: a CHECK for hot loops, compiled in debug builds only.
#ifdef NDEBUG
#define DCHECK(condition, ...) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

/// For a place that no control flow reaches, such as the end of an exhaustive switch.
#define INGOT_UNREACHABLE() ::ingot::fail_check(__FILE__, __LINE__, "reached", std::string())
