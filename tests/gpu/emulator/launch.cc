// tests/gpu/emulator/launch.cc: runs a grid, block after block.
#include <algorithm>
#include <map>
#include <numeric>

#include "machine.h"

namespace ingot::emu {
namespace {

Dim3 position(uint64_t linear, Dim3 in) {
  return {static_cast<unsigned>(linear % in.x), static_cast<unsigned>(linear / in.x % in.y),
          static_cast<unsigned>(linear / in.x / in.y)};
}

std::vector<uint64_t> block_order(uint64_t count) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (config().order == Order::kReversed) std::reverse(order.begin(), order.end());
  if (config().order == Order::kRandom) {
    for (uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_bits() % i]);
  }
  return order;
}

const char* waits_in(State state) {
  return state == State::kAtBarrier ? "the block barrier" : "a warp operation";
}

/// A block is stuck when no fiber can go on and some have not ended; says who waits where.
void report_deadlock() {
  const Machine& m = machine();
  std::map<std::string, int> waiting;
  for (int i = 0; i < m.threads; ++i) {
    const Fiber& fiber = m.fibers[i];
    if (fiber.state == State::kDone) continue;
    ++waiting[std::string(waits_in(fiber.state)) + " at " + to_text(fiber.location)];
  }
  std::string text;
  for (const auto& [where, count] : waiting) {
    if (!text.empty()) text += "; ";
    text += std::to_string(count) + " threads in " + where;
  }
  report("deadlock", "block (%u,%u,%u) is stuck: %s (%d exited)", current_block.x, current_block.y,
         current_block.z, text.c_str(), m.threads - m.alive);
}

bool run_block(Dim3 block) {
  Machine& m = machine();
  current_block = block;
  ++m.block_number;
  ++stats().blocks;
  stats().threads += static_cast<uint64_t>(m.threads);
  m.alive = m.threads;
  reset_shared();
  reset_sync();
  for (int i = 0; i < m.threads; ++i) {
    Fiber& fiber = m.fibers[i];
    fiber.thread = position(static_cast<uint64_t>(i), block_size);
    fiber.linear = static_cast<uint32_t>(i);
    fiber.warp = static_cast<uint16_t>(i / m.warp_size);
    fiber.lane = static_cast<uint16_t>(i % m.warp_size);
  }
  run_fibers();
  if (m.alive > 0) report_deadlock();
  return m.alive == 0;
}

}  // namespace

Config& config() {
  static Config current;
  return current;
}

Stats& stats() {
  static Stats all;
  return all;
}

void launch(Thunk kernel, void** args, Dim3 grid, Dim3 block) {
  Machine& m = machine();
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  if (threads < 1 || threads > kMaxThreads || blocks < 1 || grid.y > 65535 || grid.z > 65535) {
    report("launch", "grid (%u,%u,%u) of blocks (%u,%u,%u) is outside what a GPU can launch",
           grid.x, grid.y, grid.z, block.x, block.y, block.z);
    return;
  }
  map_memory();
  seed_random(config().seed);
  m.kernel = kernel;
  m.args = args;
  m.threads = static_cast<int>(threads);
  m.warp_size = config().warp_size;
  m.warps = (m.threads + m.warp_size - 1) / m.warp_size;
  m.check = config().check;
  m.first_block_number = m.block_number + 1;
  block_size = block;
  grid_size = grid;
  if (m.check) find_modules();
  for (const uint64_t index : block_order(blocks)) {
    if (!run_block(position(index, grid))) break;
  }
  check_guards();
}

}  // namespace ingot::emu
