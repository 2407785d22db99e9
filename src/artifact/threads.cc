// artifact/threads.cc: the pool's workers, and the sharing of a step's units.
#include "artifact/threads.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Because glibc 2.34 moved libpthread into libc under new versions, and an artefact built on it
// should load on older systems: the old versions are still there.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(INGOT_SANITIZED)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");
#endif

namespace ingot::artifact {
namespace {

// A worker that has just worked looks for more this long before it sleeps: a sleeping thread takes
// tens of microseconds to wake, a run's steps follow each other faster than that.
constexpr i64 kSpinNs = 50000;
// A fork-join of awake threads costs 0.15-0.3 us, so a thread's share should be a multiple of it.
constexpr double kLeastShareNs = 2500;
// A range is done in pieces of about this long, so that others can help; with an interrupt to poll
// in pieces no longer than the second number.
constexpr double kLeastPieceNs = 6000;
constexpr double kInterruptiblePieceNs = 200000;
constexpr i64 kPiecesPerThread = 4;

i64 read_quota_cpus() {
  // Source: kernel documentation, cgroup-v2, cpu.max: "$MAX $PERIOD" in microseconds, or "max".
  const int file = open("/sys/fs/cgroup/cpu.max", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  char* rest = text;
  const i64 quota = strtol(text, &rest, 10);
  if (rest == text) return 0;
  const i64 period = strtol(rest, nullptr, 10);
  return quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

}  // namespace

i32 available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  i64 cpus = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (size_t i = 0; i < sizeof set / sizeof(unsigned long); ++i) {
      cpus += __builtin_popcountl(set.__bits[i]);
    }
  } else {
    cpus = sysconf(_SC_NPROCESSORS_ONLN);  // more processors than a cpu_set_t has bits
  }
  const i64 quota = read_quota_cpus();
  if (quota > 0) cpus = min(cpus, quota);
  return static_cast<i32>(max(1, min(cpus, ThreadPool::kMaxSize)));
}

ThreadPool::ThreadPool(i32 size) : size_(size) {
  if (size_ <= 0) size_ = available_cpus();
  if (size_ > kMaxSize) size_ = kMaxSize;
  interface_ = {};
  interface_.struct_size = sizeof interface_;
  interface_.size = size_;
  interface_.context = this;
  interface_.parallel_for = [](void* pool, int64_t count, void (*task)(void*, int64_t),
                               void* context) {
    static_cast<ThreadPool*>(pool)->parallel_for(count, task, context);
  };
}

ThreadPool::~ThreadPool() {
  if (mark_.is_child()) return;
  store(stopping_, true);
  fetch_add(epoch_, 1u);
  futex_wake(epoch_, size_);
  for (i32 i = 1; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
}

void ThreadPool::start() {
  // Signals are the business of the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  while (started_ < size_) {
    Worker& worker = workers_[started_];
    worker.pool = this;
    worker.index = static_cast<u32>(started_);
    if (pthread_create(&worker.thread, nullptr, run_worker, &worker) != 0) break;
    ++started_;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void* ThreadPool::run_worker(void* worker) {
  Worker* self = static_cast<Worker*>(worker);
  self->pool->work(self->index);
  return nullptr;
}

bool ThreadPool::take(i64 index, u32 epoch) {
  u32& claim = claims_[index].epoch;
  return load(claim) == epoch && compare_exchange(claim, epoch, 0u);
}

void ThreadPool::work(u32 index) {
  u32 seen = 0;
  while (true) {
    i64 spin_until = 0;
    for (u32 turn = 1; load(epoch_) == seen; ++turn) {
      spin_pause();
      if (turn % 64 != 0) continue;
      const i64 now = now_ns();
      if (spin_until == 0) spin_until = now + kSpinNs;
      if (now < spin_until) continue;
      fetch_add(sleepers_, 1u);
      futex_wait(epoch_, seen, 0);
      fetch_add(sleepers_, ~0u);
      spin_until = 0;
    }
    seen = load(epoch_);
    if (load(stopping_)) return;
    // Only whoever takes an index of job `seen` may look at the job: it stays until that is done.
    if (!take(index, seen)) continue;
    task_(context_, index);
    const bool last = fetch_add(unfinished_, ~0u) == 1;
    if (last && __atomic_load_n(&caller_sleeps_, __ATOMIC_SEQ_CST) != 0) futex_wake(unfinished_, 1);
  }
}

void ThreadPool::parallel_for(i64 count, void (*task)(void*, i64), void* context) {
  if (count <= 1 || size_ == 1 || mark_.is_child() || !busy_.try_lock()) {
    for (i64 i = 0; i < count; ++i) task(context, i);
    return;
  }
  if (started_ == 1) start();
  task_ = task;
  context_ = context;
  u32 epoch = load(epoch_) + 1;
  if (epoch == 0) ++epoch;  // 0 marks a claim as taken
  store(unfinished_, static_cast<u32>(count - 1));
  for (i64 i = 1; i < count; ++i) store(claims_[i].epoch, epoch);
  __atomic_store_n(&epoch_, epoch, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&sleepers_, __ATOMIC_SEQ_CST) > 0) {
    futex_wake(epoch_, static_cast<i32>(count - 1));
  }
  task(context, 0);
  for (i64 i = 1; i < count; ++i) {
    if (!take(i, epoch)) continue;  // a thread that has not woken yet is not waited for
    task(context, i);
    fetch_add(unfinished_, ~0u);
  }
  for (u32 turn = 0, left = load(unfinished_); left != 0; left = load(unfinished_)) {
    if (++turn < 2000) {
      spin_pause();
    } else {
      __atomic_store_n(&caller_sleeps_, 1u, __ATOMIC_SEQ_CST);
      futex_wait(unfinished_, left, 0);
    }
  }
  store(caller_sleeps_, 0u);
  busy_.unlock();
}

i32 choose_threads(const Work& work, i32 threads) {
  const double total_ns = static_cast<double>(work.units) * work.unit_ns;
  i64 worth = threads;
  if (total_ns < kLeastShareNs * threads) worth = static_cast<i64>(total_ns / kLeastShareNs);
  return static_cast<i32>(max(1, min(worth, min(work.units, threads))));
}

namespace {

// One thread's range, on a cache line of its own because all threads write to it.
struct alignas(64) Range {
  i64 next;
  i64 end;
};

struct SharedJob {
  const StepJob* job;
  i64 piece;
  u32 status;  // ingot_status of the first thread that was interrupted
  Range* ranges;
};

i64 choose_piece(const StepJob& job) {
  const double unit_ns = job.work.unit_ns > 0.001 ? job.work.unit_ns : 0.001;
  const double units = static_cast<double>(job.work.units);
  double piece = units;
  if (job.threads > 1) {
    piece = units / static_cast<double>(job.threads * kPiecesPerThread);
    if (piece * unit_ns < kLeastPieceNs) piece = kLeastPieceNs / unit_ns;
  }
  if (job.interrupt->is_set() && piece * unit_ns > kInterruptiblePieceNs) {
    piece = kInterruptiblePieceNs / unit_ns;
  }
  return max(1, piece < units ? static_cast<i64>(piece) : job.work.units);
}

// Does pieces of a range until it is used up or the run is interrupted.
bool run_range(SharedJob& shared, Range& range, const KernelArgs& args) {
  const StepJob& job = *shared.job;
  while (load(range.next) < range.end) {
    if (job.interrupt->is_set()) {
      const ingot_status status = job.interrupt->check();
      if (status != INGOT_OK) store(shared.status, static_cast<u32>(status));
      if (load(shared.status) != INGOT_OK) return false;
    }
    const i64 begin = fetch_add(range.next, shared.piece);
    if (begin >= range.end) break;
    job.kernel(args, begin, min(begin + shared.piece, range.end));
  }
  return true;
}

void run_worker_share(void* context, i64 index) {
  SharedJob& shared = *static_cast<SharedJob*>(context);
  const StepJob& job = *shared.job;
  const KernelArgs args = {job.values, job.symbols,
                           at_offset(job.scratch, index * job.scratch_bytes)};
  for (i64 i = 0; i < job.threads; ++i) {
    if (!run_range(shared, shared.ranges[(index + i) % job.threads], args)) return;
  }
}

}  // namespace

ingot_status run_units(const StepJob& job, const ingot_thread_pool& pool) {
  if (job.threads == 1 && !job.interrupt->is_set()) {
    job.kernel({job.values, job.symbols, job.scratch}, 0, job.work.units);
    return INGOT_OK;
  }
  Range ranges[ThreadPool::kMaxSize];
  SharedJob shared = {&job, choose_piece(job), INGOT_OK, ranges};
  for (i64 i = 0; i < job.threads; ++i) {
    const i64 share = job.work.units / job.threads, rest = job.work.units % job.threads;
    ranges[i].next = i * share + min(i, rest);
    ranges[i].end = (i + 1) * share + min(i + 1, rest);
  }
  if (job.threads == 1) {
    run_worker_share(&shared, 0);
  } else {
    pool.parallel_for(pool.context, job.threads, run_worker_share, &shared);
  }
  return static_cast<ingot_status>(shared.status);
}

}  // namespace ingot::artifact
