// cli/progress.cc: draws the bar.
#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace ingot::cli {
namespace {

constexpr int kWidth = 24;
/// Work that takes no longer needs no bar.
constexpr double kQuietSeconds = 1;

}  // namespace

Progress::Progress() : shown_(::isatty(2) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(double fraction, std::string_view what) {
  if (!shown_) return;
  const double passed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (passed_s < kQuietSeconds) return;
  drawn_ = true;
  const double done = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(done * kWidth);
  const std::string bar = std::string(static_cast<size_t>(filled), '#') +
                          std::string(static_cast<size_t>(kWidth - filled), '.');
  const std::string left =
      done > 0 ? fmt::format(", about {:.0f} s left", passed_s / done * (1 - done)) : "";
  std::fprintf(stderr, "\r\033[K[%s] %.*s%s", bar.c_str(), static_cast<int>(what.size()),
               what.data(), left.c_str());
  std::fflush(stderr);
}

}  // namespace ingot::cli
