// base/threads.cc: counting processors, and the parallel loop.
#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace ingot {
namespace {

/// One of the numbers of a cgroup file, or none ("max", a missing file).
std::optional<double> read_number(const char* path, size_t field) {
  const Result<std::string> text = read_text(path);
  if (!text) return std::nullopt;
  const std::vector<std::string_view> fields = split(trim(*text), ' ');
  return field < fields.size() ? parse_number(fields[field]) : std::nullopt;
}

/// Processors' worth of time that the control group allows (version 2, then version 1), or none.
std::optional<double> cgroup_quota() {
  std::optional<double> quota = read_number("/sys/fs/cgroup/cpu.max", 0);
  std::optional<double> period = read_number("/sys/fs/cgroup/cpu.max", 1);
  if (!quota || !period) {
    quota = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", 0);
    period = read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

int available_cpus() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof(mask), &mask) == 0) count = CPU_COUNT(&mask);
  if (const std::optional<double> quota = cgroup_quota()) {
    count = std::min(count, static_cast<int>(std::ceil(*quota)));
  }
  return std::max(count, 1);
}

void parallel_for_each(size_t count, int threads, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // guards failure
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t wanted = std::min(count, static_cast<size_t>(std::max(threads, 1)));
    for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace ingot
