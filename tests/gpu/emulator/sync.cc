// tests/gpu/emulator/sync.cc: the block barrier and the operations of a warp.
#include <algorithm>
#include <bit>
#include <cstring>

#include "machine.h"

namespace ingot::emu {
namespace {

enum class WarpOp : uint8_t { kBarrier, kShuffle };

/// A warp operation some lanes have reached: it happens when the last one arrives.
struct Meeting {
  WarpOp op;
  uint64_t arrived = 0;
  Location location;
  std::array<uint32_t, 64> given;
};

std::array<std::vector<Meeting>, kMaxWarps> meetings;

/// What every warp knows after a barrier: all that any of them knew.
void join_clocks() {
  Machine& m = machine();
  std::array<uint32_t, kMaxWarps> joined{};
  for (int w = 0; w < m.warps; ++w) {
    for (int v = 0; v < m.warps; ++v) joined[v] = std::max(joined[v], m.clocks[w][v]);
  }
  for (int w = 0; w < m.warps; ++w) {
    m.clocks[w] = joined;
    ++m.clocks[w][w];
  }
}

/// The lanes of `fiber`'s warp that still run; the last warp of a block may be short.
uint64_t lanes_alive(const Fiber& fiber) {
  const Machine& m = machine();
  uint64_t lanes = 0;
  const int first = fiber.warp * m.warp_size;
  for (int i = 0; i < m.warp_size && first + i < m.threads; ++i) {
    if (m.fibers[first + i].state != State::kDone) lanes |= uint64_t{1} << i;
  }
  return lanes;
}

int lanes_of_warp(const Fiber& fiber) {
  const Machine& m = machine();
  return std::min(m.warp_size, m.threads - fiber.warp * m.warp_size);
}

/// The meeting this lane joins. Another operation already waiting in the warp means that lanes took
/// different paths, which hardware may punish by a hang or by wrong data.
Meeting& join_meeting(Fiber& fiber, WarpOp op, const Location& location) {
  std::vector<Meeting>& waiting = meetings[fiber.warp];
  const uint64_t bit = uint64_t{1} << fiber.lane;
  for (Meeting& meeting : waiting) {
    const bool same_line = meeting.location.line() == location.line() &&
                           std::strcmp(meeting.location.file_name(), location.file_name()) == 0;
    if (meeting.op == op && same_line && (meeting.arrived & bit) == 0) return meeting;
    report("diverge", "divergent warp operations: thread %u at %s meets %s", fiber.linear,
           to_text(location).c_str(), to_text(meeting.location).c_str());
  }
  waiting.push_back({op, 0, location, {}});
  return waiting.back();
}

using Words = std::array<uint32_t, 64>;

/// What the last operation of each warp gave. No lane can overwrite it before all have read it,
/// because the next operation needs them all.
std::array<Words, kMaxWarps> results;

/// Brings the lanes of a warp together. Gives the words of all lanes to every one of them.
const Words& meet(WarpOp op, uint32_t value, const Location& location) {
  Machine& m = machine();
  Fiber& fiber = *current_fiber();
  const uint64_t alive = lanes_alive(fiber);
  if (std::popcount(alive) != lanes_of_warp(fiber)) {
    report("mask", "warp operation at %s by thread %u while lanes of its warp have exited",
           to_text(location).c_str(), fiber.linear);
  }
  Meeting& meeting = join_meeting(fiber, op, location);
  meeting.arrived |= uint64_t{1} << fiber.lane;
  meeting.given[fiber.lane] = value;
  if (meeting.arrived != alive) {
    fiber.state = State::kInWarpOperation;
    fiber.location = location;
    run_next();
    return results[fiber.warp];
  }
  ++stats().warp_operations;
  if (op == WarpOp::kBarrier) ++m.clocks[fiber.warp][fiber.warp];
  results[fiber.warp] = meeting.given;
  std::vector<Meeting>& waiting = meetings[fiber.warp];
  waiting.erase(waiting.begin() + (&meeting - waiting.data()));
  for (int i = 0; i < m.warp_size; ++i) {
    if (i != fiber.lane && (alive >> i & 1) != 0)
      make_ready(m.fibers[fiber.warp * m.warp_size + i]);
  }
  if (config().order == Order::kRandom && (random_bits() & 1) != 0) yield();
  return results[fiber.warp];
}

}  // namespace

void reset_sync() {
  Machine& m = machine();
  m.at_barrier = 0;
  for (auto& waiting : meetings) waiting.clear();
  for (auto& row : m.clocks) row.fill(0);
  for (int w = 0; w < m.warps; ++w) m.clocks[w][w] = 1;
}

void release_barrier_if_full() {
  Machine& m = machine();
  if (m.at_barrier == 0 || m.at_barrier < m.alive) return;
  if (m.at_barrier != m.threads) {
    report("exit", "barrier released while %d threads of the block had exited",
           m.threads - m.at_barrier);
  }
  join_clocks();
  ++stats().barriers;
  m.at_barrier = 0;
  for (int i = 0; i < m.threads; ++i) {
    const int index = config().order == Order::kReversed ? m.threads - 1 - i : i;
    if (m.fibers[index].state == State::kAtBarrier) make_ready(m.fibers[index]);
  }
}

void block_barrier(Location location) {
  Fiber& fiber = *current_fiber();
  fiber.state = State::kAtBarrier;
  fiber.location = location;
  ++machine().at_barrier;
  release_barrier_if_full();
  run_next();
}

void warp_barrier(Location location) {
  meet(WarpOp::kBarrier, 0, location);
}

uint32_t shuffle(uint32_t value, int source, Location location) {
  const Fiber& fiber = *current_fiber();
  const Words& given = meet(WarpOp::kShuffle, value, location);
  const int lane = source & (machine().warp_size - 1);
  if (lane < lanes_of_warp(fiber)) return given[lane];
  report("mask", "shuffle at %s by thread %u reads lane %d, which its warp does not have",
         to_text(location).c_str(), fiber.linear, lane);
  return 0xFFFFFFFFu;
}

}  // namespace ingot::emu
