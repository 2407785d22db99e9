// codegen/jobs.cc: runs jobs in the order of their cost.
#include "codegen/jobs.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "base/threads.h"

namespace ingot {

void Jobs::add(double cost, std::function<Status()> work) {
  jobs_.push_back({cost, std::move(work)});
}

Status Jobs::run(int threads) {
  std::vector<size_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t k) { return jobs_[k].cost; });
  std::vector<std::optional<Error>> errors(jobs_.size());
  std::atomic<bool> failed = false;
  parallel_for_each(order.size(), threads, [&](size_t at) {
    if (failed.load()) return;
    if (auto done = jobs_[order[at]].work(); !done) {
      errors[order[at]] = done.error();
      failed = true;
    }
  });
  for (const auto& error : errors) {
    if (error) return *error;
  }
  return ok();
}

}  // namespace ingot
