// tests/gpu/emulator/emulator.h: runs GPU kernels on the CPU and checks what hardware only
// punishes.
//
// One OS thread runs one block at a time, one fiber per GPU thread. A fiber runs until a barrier or
// a warp operation; the order in which fibers go on is a setting, so an answer that depends on it
// shows. Kernels compiled plainly run fast; kernels compiled with -fsanitize=thread run checked:
// the compiler's __tsan_* calls are answered here (libtsan is never linked) and keep, byte by byte,
// who wrote and read what since which barrier. What is found becomes a Report, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Functions that touch kernel memory on the emulator's behalf; they are checked by hand, not by
/// the compiler's instrumentation.
#define INGOT_EMU_UNCHECKED __attribute__((no_sanitize("thread", "address", "undefined")))

namespace ingot::emu {

/// Where a prelude function was called. std::source_location needs a newer clang.
class Location {
 public:
  constexpr Location() = default;
  static constexpr Location current(const char* file = __builtin_FILE(),
                                    unsigned line = __builtin_LINE()) {
    Location here;
    here.file_ = file;
    here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
};

/// A grid, a block, or a position in one.
struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

/// The order in which lanes, warps and blocks go on.
enum class Order : uint8_t { kForward, kReversed, kRandom };

/// How the next launches run. Read once at each launch.
struct Config {
  uint64_t seed = 1;
  Order order = Order::kForward;
  int warp_size = 32;  ///< 64 for CDNA
  bool check = false;  ///< keep shadow memory; the kernels must be instrumented
  int preempt = 0;     ///< checked kernels yield at one in so many accesses; 0 never
  size_t max_shared_bytes = 48 * 1024;
  size_t max_reports = 20;
};

Config& config();

/// One finding: `kind` is race, uninit, oob, align, wild, deadlock, diverge, mask, exit, shared,
/// free or launch; `text` says where, who and what.
struct Report {
  std::string kind;
  std::string text;
};

/// Findings since the last clear(); the same text is kept once.
std::vector<Report>& reports();

/// What ran since the program began.
struct Stats {
  uint64_t blocks = 0;
  uint64_t threads = 0;
  uint64_t barriers = 0;
  uint64_t warp_operations = 0;
};

Stats& stats();

// ---- Launching

/// Calls one kernel with its arguments, `args[i]` pointing at argument i.
using Thunk = void (*)(void** args);

/// Runs every block of `grid`. A stuck block ends the launch with a `deadlock` report.
void launch(Thunk kernel, void** args, Dim3 grid, Dim3 block);

// ---- Device memory

/// What a fresh allocation holds: the host's data, or nothing a kernel may read before writing it.
enum class Contents : uint8_t { kFromHost, kUninitialized };

/// Memory kernels may use, 256-byte aligned, filled with 0xFF (NaN), with guard bands around it.
/// Owned by the emulator until device_free. `name` appears in reports.
void* device_alloc(size_t bytes, const char* name, Contents contents = Contents::kFromHost);

/// Frees memory of device_alloc; its address is never used again. Null is allowed.
void device_free(void* pointer);

// ---- What kernels see, through gpu_emu.h

/// The GPU thread that runs now.
struct Lane {
  Dim3 thread;
  uint32_t linear = 0;
  uint16_t warp = 0;
  uint16_t lane = 0;
};

extern const Lane* current_lane;
extern Dim3 current_block;
extern Dim3 block_size;
extern Dim3 grid_size;

/// The block's shared variable that `key` identifies; made, and filled with NaN, at its first use.
void* shared_variable(const void* key, size_t bytes, size_t align);

void block_barrier(Location location);
void warp_barrier(Location location);

/// The 32-bit word that lane `source` (modulo the warp size) gave. All lanes of the warp take part.
uint32_t shuffle(uint32_t value, int source, Location location);

/// One access of `bytes` bytes by this lane, checked as one.
void load_checked(void* to, const void* from, size_t bytes, Location location);
void store_checked(void* to, const void* from, size_t bytes, Location location);

/// Announces a read-modify-write that the kernel does atomically.
void note_atomic(const void* pointer, size_t bytes, Location location);

}  // namespace ingot::emu
