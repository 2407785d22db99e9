// tests/gpu/emulator/fiber.cc: fibers, the queue of those that can go on, and the switch.
#include <algorithm>
#include <cstring>

#include "machine.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the callee-saved registers on the stack that is left, restores those of the stack that is
// entered (System V x86-64). ucontext would do the same at 30 times the cost, because it saves the
// signal mask by a system call.
extern "C" void ingot_emu_switch(void** from, void* to);
asm(R"(
.text
.globl ingot_emu_switch
.type ingot_emu_switch,@function
ingot_emu_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size ingot_emu_switch,.-ingot_emu_switch
)");

namespace ingot::emu {

const Lane* current_lane;
Dim3 current_block;
Dim3 block_size;
Dim3 grid_size;

namespace {

constexpr unsigned kQueueSize = 2 * kMaxThreads;  // a power of two above the number of fibers

struct Queue {
  std::array<uint16_t, kQueueSize> slots;
  unsigned head = 0;
  unsigned tail = 0;

  bool empty() const { return head == tail; }
  unsigned size() const { return tail - head; }
  uint16_t& at(unsigned position) { return slots[position % kQueueSize]; }
};

Queue queue;
uint64_t random_state = 1;

Fiber& host() {
  return machine().fibers[kMaxThreads];
}

Fiber& running() {
  return const_cast<Fiber&>(static_cast<const Fiber&>(*current_lane));
}

// AddressSanitizer wants to be told of every change of stacks, with the bounds of the one entered.
#if defined(__SANITIZE_ADDRESS__)
const void* host_stack = nullptr;
size_t host_stack_bytes = 0;

void announce_switch(Fiber& from, const Fiber& to) {
  const bool to_host = &to == &host();
  __sanitizer_start_switch_fiber(from.state == State::kDone ? nullptr : &from.asan_stack,
                                 to_host ? host_stack : to.stack,
                                 to_host ? host_stack_bytes : kStackBytes);
}

void announce_arrival() {
  __sanitizer_finish_switch_fiber(running().asan_stack, nullptr, nullptr);
}

/// The first fiber of all is entered from the host, whose stack's bounds are learnt here.
void announce_first_arrival() {
  const bool from_host = host_stack == nullptr;
  __sanitizer_finish_switch_fiber(nullptr, from_host ? &host_stack : nullptr,
                                  from_host ? &host_stack_bytes : nullptr);
}
#else
void announce_switch(Fiber&, const Fiber&) {}
void announce_arrival() {}
void announce_first_arrival() {}
#endif

void switch_to(Fiber& to) {
  Fiber& from = running();
  current_lane = &to;
  to.state = State::kRunning;
  announce_switch(from, to);
  ingot_emu_switch(&from.stack_pointer, to.stack_pointer);
  announce_arrival();
}

[[noreturn]] void fiber_main() {
  announce_first_arrival();
  machine().kernel(machine().args);
  Fiber& self = *current_fiber();
  self.state = State::kDone;
  --machine().alive;
  release_barrier_if_full();
  run_next();
  __builtin_unreachable();
}

/// A stack that enters fiber_main when switched to: its address above six dummy registers. Stacks
/// begin at different offsets because equal ones would all fall into the same cache sets.
void prepare_stack(Fiber& fiber, int index) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(fiber.stack, kStackBytes);
#endif
  auto** top = reinterpret_cast<void**>(fiber.stack + kStackBytes - 64 - (index % 61) * 128);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(fiber_main);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.stack_pointer = top;
  fiber.asan_stack = nullptr;
}

}  // namespace

Machine& machine() {
  static Machine instance;
  return instance;
}

Fiber* current_fiber() {
  return current_lane == nullptr || &running() == &host() ? nullptr : &running();
}

void seed_random(uint64_t seed) {
  random_state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (int i = 0; i < 4; ++i) random_bits();
}

uint32_t random_bits() {  // Marsaglia's xorshift64
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<uint32_t>(random_state >> 16);
}

void make_ready(Fiber& fiber) {
  fiber.state = State::kReady;
  queue.at(queue.tail++) = static_cast<uint16_t>(&fiber - machine().fibers.data());
}

void run_next() {
  if (queue.empty()) {
    switch_to(host());
    return;
  }
  if (config().order == Order::kRandom) {
    std::swap(queue.at(queue.head), queue.at(queue.head + random_bits() % queue.size()));
  }
  Fiber& next = machine().fibers[queue.at(queue.head++)];
  if (&next == current_lane) {
    next.state = State::kRunning;
    return;
  }
  switch_to(next);
}

void yield() {
  make_ready(*current_fiber());
  run_next();
}

void run_fibers() {
  Machine& m = machine();
  queue.head = queue.tail = 0;
  for (int i = 0; i < m.threads; ++i) {
    const bool reversed = config().order == Order::kReversed;
    const int index = reversed ? m.threads - 1 - i : i;
    Fiber& fiber = m.fibers[index];
    prepare_stack(fiber, index);
    make_ready(fiber);
  }
  host().state = State::kRunning;
  current_lane = &host();
  run_next();
  current_lane = nullptr;
}

}  // namespace ingot::emu
