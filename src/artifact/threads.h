// artifact/threads.h: the thread pool, and how a step's work units are shared out over it.
#pragma once

#include <pthread.h>

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// Processors this process may use: the affinity mask, less a cgroup's CPU quota (rounded up); at
/// least 1.
i32 available_cpus();

/// Threads that sleep until there is work. Started at the first parallel_for(); a thread that the
/// system refuses is done without. The caller always works too, so a pool of size 1 has no threads.
/// A busy pool does not make a second caller wait: that one then does all of its work itself.
class ThreadPool {
 public:
  static constexpr i32 kMaxSize = 256;

  /// `size` counts the caller; 0 means available_cpus().
  explicit ThreadPool(i32 size);
  /// Ends and joins the threads. In a child after fork() there are none to join.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  i32 size() const { return size_; }
  /// As ingot_thread_pool::parallel_for.
  void parallel_for(i64 count, void (*task)(void*, i64), void* context);
  /// The pool as the interface that models take; lives as long as the pool.
  const ingot_thread_pool* as_interface() const { return &interface_; }

 private:
  struct alignas(64) Claim {
    u32 epoch = 0;  // of the job whose index this is, while nobody has taken it
  };

  static void* run_worker(void* worker);
  void work(u32 index);
  void start();
  bool take(i64 index, u32 epoch);

  struct Worker {
    ThreadPool* pool;
    u32 index;
    pthread_t thread;
  };

  ingot_thread_pool interface_;
  i32 size_;
  i32 started_ = 1;  // threads there are, the caller included
  ForkMark mark_;    // of the process that the threads belong to
  bool stopping_ = false;
  Mutex busy_;  // held by the one caller whose job runs: guards task_, context_, started_
  void (*task_)(void*, i64) = nullptr;
  void* context_ = nullptr;
  alignas(64) u32 epoch_ = 0;  // number of the job; workers sleep on it
  alignas(64) u32 sleepers_ = 0;
  alignas(64) u32 unfinished_ = 0;  // indices taken by workers or not yet taken
  u32 caller_sleeps_ = 0;           // 1 while the job's caller sleeps on unfinished_
  Claim claims_[kMaxSize];
  Worker workers_[kMaxSize];
};

/// When a run must stop early; both may be unset.
struct Interrupt {
  const volatile int* cancel = nullptr;
  i64 deadline_ns = 0;

  bool is_set() const { return cancel != nullptr || deadline_ns != 0; }
  /// INGOT_OK, INGOT_CANCELLED or INGOT_DEADLINE; keeps no text.
  ingot_status check() const {
    if (cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0) return INGOT_CANCELLED;
    if (deadline_ns != 0 && now_ns() >= deadline_ns) return INGOT_DEADLINE;
    return INGOT_OK;
  }
};

/// How many of `threads` a step with this work is worth.
i32 choose_threads(const Work& work, i32 threads);

/// A step's work on a pool.
struct StepJob {
  KernelFn kernel;
  void* const* values;  // the step's operands
  const i64* symbols;
  void* scratch;      // [threads][scratch_bytes]
  i64 scratch_bytes;  // a multiple of 64
  Work work;
  i32 threads;  // by choose_threads()
  const Interrupt* interrupt;
};

/// Runs all units, or stops early with the interrupt's status. Each thread begins with a range of
/// its own, in pieces, and then helps the others; which thread does a unit never shows in a result.
ingot_status run_units(const StepJob& job, const ingot_thread_pool& pool);

}  // namespace ingot::artifact
