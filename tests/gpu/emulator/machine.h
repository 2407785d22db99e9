// tests/gpu/emulator/machine.h: the emulator's own state, shared by its source files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator.h"

namespace ingot::emu {

constexpr int kMaxThreads = 1024;
constexpr int kMaxWarps = kMaxThreads / 32;
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kSharedBytes = 256 * 1024;

enum class State : uint8_t { kReady, kRunning, kAtBarrier, kInWarpOperation, kDone };

/// One GPU thread: its identity, its stack, and what it waits for.
struct Fiber : Lane {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  State state = State::kDone;
  Location location;           // where it waits
  void* asan_stack = nullptr;  // AddressSanitizer's record of the stack it left
};

/// Logical time of each warp: row w holds what warp w knows of every other warp's clock. A barrier
/// joins all rows, a warp barrier only ticks the own clock; shuffles order nothing, as on hardware.
using Clocks = std::array<std::array<uint32_t, kMaxWarps>, kMaxWarps>;

/// The block that runs now and the launch it belongs to.
struct Machine {
  Thunk kernel = nullptr;
  void** args = nullptr;
  int threads = 0;
  int warps = 0;
  int warp_size = 32;
  int alive = 0;
  int at_barrier = 0;
  uint32_t block_number = 0;        // counts blocks from 1 over the whole program
  uint32_t first_block_number = 0;  // of this launch
  bool check = false;
  Clocks clocks;
  std::array<Fiber, kMaxThreads + 1> fibers;  // the last is the host
  char* stacks = nullptr;
  char* shared = nullptr;
};

Machine& machine();

/// The GPU thread that runs now; null on the host.
Fiber* current_fiber();

// ---- fiber.cc

/// Puts a fiber at the end of the queue.
void make_ready(Fiber& fiber);
/// Gives up the processor; the caller has set its own state before.
void run_next();
/// Lets others run first.
void yield();
/// Fresh stacks for a block's fibers, all ready, then runs them until none can go on.
void run_fibers();
/// Pseudo-random bits from Config::seed, the same on every run.
uint32_t random_bits();
void seed_random(uint64_t seed);

// ---- sync.cc

/// Releases the block barrier once every living thread has arrived.
void release_barrier_if_full();
void reset_sync();

// ---- memory.cc

void reset_shared();
/// Maps shared memory and the fibers' stacks at the first launch.
void map_memory();
/// Reports allocations whose guard bands were overwritten.
void check_guards();

// ---- access.cc

struct Access {
  const void* address;
  size_t bytes;
  bool write = false;
  bool atomic = false;
  bool must_align = true;
  const void* pc = nullptr;            // of instrumented code, or
  const Location* location = nullptr;  // of a prelude function's caller
};

/// Checks one access by the current fiber. False when it must not be carried out.
bool check_access(const Access& access);
/// Learns where the program's modules lie; their data are constants that kernels may read.
void find_modules();

// ---- report.cc

[[gnu::format(printf, 2, 3)]] void report(const char* kind, const char* format, ...);
std::string to_text(const Location& location);
/// file:line of an access, by debug information when only the code address is known.
std::string site_of(const Access& access);

}  // namespace ingot::emu
