// artifact/platform.cc: locks, futexes, clock and memory over Linux and libc.
#include "artifact/platform.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ingot::artifact {

void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void futex_wait(const u32& word, u32 expected, i64 until_ns) {
  timespec until = {until_ns / 1000000000, static_cast<long>(until_ns % 1000000000)};
  // FUTEX_WAIT_BITSET because its limit is an absolute time.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, until_ns == 0 ? nullptr : &until,
          nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const u32& word, i32 count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

i64 now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<i64>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// Because a run should not cost a system call, a page that fork() wipes is looked at instead of the
// pid. Source: madvise(2), MADV_WIPEONFORK since Linux 4.14.
ForkMark::ForkMark() : process_(getpid()), page_(nullptr) {
  constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK, which older headers lack
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, kPageBytes, kWipeOnFork) != 0) {
    munmap(page, kPageBytes);
    return;
  }
  page_ = static_cast<u32*>(page);
  *page_ = 1;
}

ForkMark::~ForkMark() {
  if (page_ != nullptr) munmap(page_, kPageBytes);
}

bool ForkMark::is_child() const {
  return page_ != nullptr ? *page_ == 0 : getpid() != process_;
}

bool Mutex::try_lock() {
  return compare_exchange(state_, 0u, 1u);
}

void Mutex::lock() {
  if (try_lock()) return;
  while (__atomic_exchange_n(&state_, 2u, __ATOMIC_ACQUIRE) != 0) futex_wait(state_, 2, 0);
}

void Mutex::unlock() {
  if (__atomic_exchange_n(&state_, 0u, __ATOMIC_RELEASE) == 2) futex_wake(state_, 1);
}

i64 machine_bytes() {
  return static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

void* allocate(i64 bytes, i64 alignment) {
  if (bytes < 0 || (bytes > kSurelyThere && bytes > machine_bytes())) return nullptr;
  const bool huge = bytes >= 2 * kHugePageBytes;
  void* memory = nullptr;
  const i64 step = huge ? max(alignment, kHugePageBytes) : alignment;
  if (posix_memalign(&memory, static_cast<size_t>(step), static_cast<size_t>(max(bytes, 1))) != 0) {
    return nullptr;
  }
  if (huge) madvise(memory, static_cast<size_t>(bytes & -kHugePageBytes), MADV_HUGEPAGE);
  return memory;
}

void release(void* memory) {
  free(memory);
}

}  // namespace ingot::artifact
