// artifact/platform.h: the little of the system that the runtime needs: locks, futexes, clock,
// memory.
//
// The runtime links libc, libm and libpthread alone, so it has no <atomic> or <mutex>; the builtins
// below mean the same and are understood by the sanitizers.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "artifact/program.h"

namespace ingot::artifact {

inline constexpr i64 kAlignment = 64;  // of every value in an arena: a cache line, a ZMM register
inline constexpr i64 kPageBytes = 4096;
inline constexpr i64 kHugePageBytes = 2 << 20;

template <class T>
T load(const T& object) {
  return __atomic_load_n(&object, __ATOMIC_ACQUIRE);
}
template <class T>
void store(T& object, T value) {
  __atomic_store_n(&object, value, __ATOMIC_RELEASE);
}
/// Adds, and returns the value before.
template <class T>
T fetch_add(T& object, T value) {
  return __atomic_fetch_add(&object, value, __ATOMIC_SEQ_CST);
}
template <class T>
bool compare_exchange(T& object, T expected, T value) {
  return __atomic_compare_exchange_n(&object, &expected, value, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_ACQUIRE);
}

/// Tells the processor that this is a spin loop.
void spin_pause();

/// Sleeps while `word` is `expected`, until woken, until the CLOCK_MONOTONIC time `until_ns` (0: no
/// limit), or for no reason.
void futex_wait(const u32& word, u32 expected, i64 until_ns);
/// Wakes up to `count` sleepers.
void futex_wake(const u32& word, i32 count);

/// CLOCK_MONOTONIC.
i64 now_ns();

/// Knows whether this is still the process that made it, or a child after fork().
class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  bool is_child() const;
  /// The pid of whoever made it.
  i32 process() const { return process_; }

 private:
  i32 process_;
  u32* page_;  // the system clears it in a child; null where the system does not know how
};

/// Mutual exclusion between threads.
class Mutex {
 public:
  void lock();
  void unlock();
  bool try_lock();

 private:
  u32 state_ = 0;  // 0 free, 1 taken, 2 taken and somebody sleeps
};

/// Holds a Mutex while it lives.
class Locked {
 public:
  explicit Locked(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Locked() { mutex_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Mutex& mutex_;
};

/// Bytes of memory that the machine has. A system call, so sizes up to kSurelyThere do without.
i64 machine_bytes();
inline constexpr i64 kSurelyThere = 64 << 20;

/// Memory that is aligned to `alignment` (a power of two), or null. More than the machine has is
/// refused here, before the kernel's overcommitment could promise it. Free it with release().
void* allocate(i64 bytes, i64 alignment = kAlignment);
void release(void* memory);

/// Marks the placement form of new, which <new> would declare.
struct In {
  void* memory;
};

/// A zeroed array of `count` plain objects, or null. A count of 0 gives memory too.
template <class T>
T* allocate_array(i64 count) {
  const i64 bytes = multiply_size(count < 1 ? 1 : count, sizeof(T));
  void* memory = allocate(bytes);
  if (memory == nullptr) return nullptr;
  return static_cast<T*>(memset(memory, 0, static_cast<size_t>(bytes)));
}

/// The least multiple of `step` (a power of two) that is not less; saturates.
inline i64 round_up(i64 value, i64 step) {
  return value > kTooManyBytes - step ? kTooManyBytes : (value + step - 1) & -step;
}
inline i64 min(i64 a, i64 b) {
  return a < b ? a : b;
}
inline i64 max(i64 a, i64 b) {
  return a > b ? a : b;
}

/// Memory that only grows; what was in it is lost when it does.
struct Buffer {
  void* data = nullptr;
  i64 capacity = 0;

  /// At least `bytes` bytes, aligned to 64. False: no memory.
  bool reserve(i64 bytes) {
    if (bytes <= capacity) return true;
    clear();
    data = allocate(bytes);
    capacity = data == nullptr ? 0 : bytes;
    return data != nullptr;
  }
  void clear() {
    release(data);
    data = nullptr;
    capacity = 0;
  }
};

inline void* at_offset(void* base, i64 offset) {
  return static_cast<u8*>(base) + offset;
}
inline const void* at_offset(const void* base, i64 offset) {
  return static_cast<const u8*>(base) + offset;
}
inline bool is_aligned(const void* pointer, i64 alignment) {
  return (reinterpret_cast<uintptr_t>(pointer) & static_cast<uintptr_t>(alignment - 1)) == 0;
}

}  // namespace ingot::artifact

inline void* operator new(size_t, ingot::artifact::In place) noexcept {
  return place.memory;
}
