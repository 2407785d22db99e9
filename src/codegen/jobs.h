// codegen/jobs.h: the one queue of a compilation's work for the toolchain.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"

namespace ingot {

/// Independent pieces of work, run on several threads, the most expensive first so that no
/// processor is left alone with a long one at the end.
class Jobs {
 public:
  /// `cost` is compared with that of other jobs; equal ones run in the order of add().
  void add(double cost, std::function<Status()> work);

  /// Runs all of them; the error of the first, in the order of add(), that failed. After a failure
  /// no further job begins.
  Status run(int threads);

 private:
  struct Job {
    double cost = 0;
    std::function<Status()> work;
  };
  std::vector<Job> jobs_;
};

}  // namespace ingot
