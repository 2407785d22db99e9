// base/threads.h: how many processors there are for us, and a simple parallel loop for the
// compiler.
#pragma once

#include <cstddef>
#include <functional>

namespace ingot {

/// Processors this process may use: the affinity mask, less a cgroup's CPU quota (rounded up); at
/// least 1.
int available_cpus();

/// Calls `body(i)` for every i in [0, count), on up to `threads` threads, the caller among them,
/// and returns when all are done. Indices are handed out one at a time, in order. An exception from
/// a body (such as a throwing CHECK handler's) leaves here after the other threads have stopped.
void parallel_for_each(size_t count, int threads, const std::function<void(size_t)>& body);

}  // namespace ingot
