// cli/progress.h: the line on a terminal that tells how far things are.
#pragma once

#include <chrono>
#include <string_view>

namespace ingot::cli {

/// A bar with an estimate on stderr, where that is a terminal and the work takes longer than a
/// second. It goes when this ends.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `fraction` of the work, from 0 to 1, is done; `what` is done now.
  void update(double fraction, std::string_view what);

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace ingot::cli
