// tests/gpu/planted_bugs.cc: small kernels with one mistake each, and their harmless twins.
#include "planted_bugs.h"

#include "gpu.h"

namespace ingot::emu {
namespace {

using gpu::f16;
using Half8 = gpu::Vec<f16, 8>;

GPU_KERNEL(64) void read_past_global(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  y[i % n] = x[i];
}

GPU_KERNEL(64) void read_within_global(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  if (i < n) y[i] = x[i];
}

GPU_KERNEL(64) void write_past_shared(float* y) {
  GPU_SHARED(float, s, 64);
  s[threadIdx.x + 1] = 1.0f;
  gpu::sync();
  y[threadIdx.x] = threadIdx.x == 0 ? 0.0f : s[threadIdx.x];
}

GPU_KERNEL(64) void write_within_shared(float* y) {
  GPU_SHARED(float, s, 65);
  s[threadIdx.x + 1] = 1.0f;
  gpu::sync();
  y[threadIdx.x] = threadIdx.x == 0 ? 0.0f : s[threadIdx.x];
}

GPU_KERNEL(8) void load_misaligned(const f16* x, float* y) {
  y[threadIdx.x] = gpu::to_f32(gpu::ld<Half8>(x + threadIdx.x + 1).v[0]);
}

GPU_KERNEL(8) void load_aligned(const f16* x, float* y) {
  y[threadIdx.x] = gpu::to_f32(gpu::ld<Half8>(x + threadIdx.x * 8).v[0]);
}

GPU_KERNEL(128) void barrier_meets_shuffle(float* y) {
  // Lanes of one warp part: some wait for the block, the others for the warp.
  if (threadIdx.x % gpu::kWarp < 20) {
    gpu::sync();
  } else {
    y[0] = gpu::warp_reduce<gpu::Sum>(1.0f);
  }
}

GPU_KERNEL(128) void shuffles_on_both_paths(float* y) {
  if (threadIdx.x < 64) {
    y[threadIdx.x] = gpu::warp_reduce<gpu::Sum>(1.0f);
  } else {
    y[threadIdx.x] = gpu::warp_reduce<gpu::Max>(1.0f);
  }
}

GPU_KERNEL(64) void divergent_shuffles(float* y) {
  if (threadIdx.x % 2 == 0) {
    y[threadIdx.x] = gpu::f32_of(gpu::shuffle_xor(1, 1));
  } else {
    y[threadIdx.x] = gpu::f32_of(gpu::shuffle_xor(2, 1));
  }
}

GPU_KERNEL(64) void shuffle_after_exit(float* y) {
  if (threadIdx.x == 3) return;
  y[threadIdx.x] = gpu::warp_reduce<gpu::Sum>(1.0f);
}

GPU_KERNEL(128) void barrier_after_exit(float* y) {
  if (threadIdx.x >= 64) return;
  gpu::sync();
  y[threadIdx.x] = 1.0f;
}

GPU_KERNEL(1) void blocks_add_plainly(float* y) {
  y[0] += 1.0f;
}
GPU_KERNEL(1) void blocks_add_atomically(float* y) {
  gpu::atomic_add(y, 1.0f);
}

GPU_KERNEL(64) void read_host_memory(const float* host, float* y) {
  y[threadIdx.x] = host[threadIdx.x];
}

GPU_KERNEL(64) void read_unwritten_shared(float* y) {
  GPU_SHARED(float, s, 64);
  if (threadIdx.x < 32) s[threadIdx.x] = 1.0f;
  gpu::sync();
  y[threadIdx.x] = s[threadIdx.x];
}

GPU_KERNEL(64) void read_written_shared(float* y) {
  GPU_SHARED(float, s, 64);
  if (threadIdx.x < 32) s[threadIdx.x] = 1.0f;
  gpu::sync();
  y[threadIdx.x] = s[threadIdx.x % 32];
}

GPU_KERNEL(64) void read_unwritten_global(const float* fresh, float* y) {
  y[threadIdx.x] = fresh[threadIdx.x];
}

GPU_KERNEL(64) void read_written_global(float* fresh, float* y) {
  fresh[threadIdx.x] = 2.0f;
  y[threadIdx.x] = fresh[threadIdx.x];
}

GPU_KERNEL(64) void neighbour_without_warp_sync(float* y) {
  GPU_SHARED(float, s, 64);
  s[threadIdx.x] = 1.0f;
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}

GPU_KERNEL(64) void neighbour_with_warp_sync(float* y) {
  GPU_SHARED(float, s, 64);
  s[threadIdx.x] = 1.0f;
  gpu::warp_sync();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}

GPU_KERNEL(128) void other_warp_with_warp_sync(float* y) {
  GPU_SHARED(float, s, 128);
  s[threadIdx.x] = 1.0f;
  gpu::warp_sync();
  y[threadIdx.x] = s[127 - threadIdx.x];
}

GPU_KERNEL(128) void other_warp_with_sync(float* y) {
  GPU_SHARED(float, s, 128);
  s[threadIdx.x] = 1.0f;
  gpu::sync();
  y[threadIdx.x] = s[127 - threadIdx.x];
}

GPU_KERNEL(128) void refill_without_sync(float* y) {
  GPU_SHARED(float, s, 128);
  float sum = 0.0f;
  for (int i = 0; i < 2; ++i) {
    s[threadIdx.x] = static_cast<float>(i);
    gpu::sync();
    sum += s[127 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

GPU_KERNEL(128) void refill_with_sync(float* y) {
  GPU_SHARED(float, s, 128);
  float sum = 0.0f;
  for (int i = 0; i < 2; ++i) {
    s[threadIdx.x] = static_cast<float>(i);
    gpu::sync();
    sum += s[127 - threadIdx.x];
    gpu::sync();
  }
  y[threadIdx.x] = sum;
}

/// block_reduce without its last barrier.
inline float hasty_block_sum(float value) {
  constexpr int kWarps = 128 / gpu::kWarp;
  value = gpu::warp_reduce<gpu::Sum>(value);
  GPU_SHARED(float, parts, kWarps);
  if (threadIdx.x % gpu::kWarp == 0) parts[threadIdx.x / gpu::kWarp] = value;
  gpu::sync();
  value = 0.0f;
  for (int i = 0; i < kWarps; ++i) value += parts[i];
  return value;
}

GPU_KERNEL(128) void reduce_twice_hastily(float* y) {
  float sum = 0.0f;
  for (int i = 0; i < 2; ++i) sum += hasty_block_sum(1.0f);
  y[threadIdx.x] = sum;
}

GPU_KERNEL(128) void reduce_twice(float* y) {
  float sum = 0.0f;
  for (int i = 0; i < 2; ++i) sum += gpu::block_reduce<gpu::Sum, 128>(1.0f);
  y[threadIdx.x] = sum;
}

GPU_KERNEL(64) void too_much_shared(float* y) {
  GPU_SHARED(float, s, 20000);
  s[threadIdx.x] = 1.0f;
  y[threadIdx.x] = s[threadIdx.x];
}

GPU_KERNEL(1) void small_block(float* y) {
  y[0] = 1.0f;
}

const f16* halves(const float* x) {
  return reinterpret_cast<const f16*>(x);
}

#define BUG(name, kind, grid, block, ...)                                                          \
  {                                                                                                \
#name, kind, [](const BugBuffers& b) { Launcher<name>::launch({grid}, {block}, __VA_ARGS__); } \
  }

constexpr PlantedBug kBugs[] = {
    BUG(read_past_global, "oob", 2, 64, b.x, b.y, 100),
    BUG(read_within_global, nullptr, 2, 64, b.x, b.y, 100),
    BUG(write_past_shared, "oob", 1, 64, b.y),
    BUG(write_within_shared, nullptr, 1, 64, b.y),
    BUG(load_misaligned, "align", 1, 8, halves(b.x), b.y),
    BUG(load_aligned, nullptr, 1, 8, halves(b.x), b.y),
    BUG(barrier_meets_shuffle, "deadlock", 1, 128, b.y),
    BUG(shuffles_on_both_paths, nullptr, 1, 128, b.y),
    BUG(divergent_shuffles, "diverge", 1, 64, b.y),
    BUG(shuffle_after_exit, "mask", 1, 64, b.y),
    BUG(barrier_after_exit, "exit", 1, 128, b.y),
    BUG(blocks_add_plainly, "race", 4, 1, b.y),
    BUG(blocks_add_atomically, nullptr, 4, 1, b.y),
    BUG(read_host_memory, "wild", 1, 64, b.host, b.y),
    BUG(read_unwritten_shared, "uninit", 1, 64, b.y),
    BUG(read_written_shared, nullptr, 1, 64, b.y),
    BUG(read_unwritten_global, "uninit", 1, 64, b.fresh, b.y),
    BUG(read_written_global, nullptr, 1, 64, b.fresh, b.y),
    BUG(neighbour_without_warp_sync, "race", 1, 64, b.y),
    BUG(neighbour_with_warp_sync, nullptr, 1, 64, b.y),
    BUG(other_warp_with_warp_sync, "race", 1, 128, b.y),
    BUG(other_warp_with_sync, nullptr, 1, 128, b.y),
    BUG(refill_without_sync, "race", 1, 128, b.y),
    BUG(refill_with_sync, nullptr, 1, 128, b.y),
    BUG(reduce_twice_hastily, "race", 1, 128, b.y),
    BUG(reduce_twice, nullptr, 1, 128, b.y),
    BUG(too_much_shared, "shared", 1, 64, b.y),
    BUG(small_block, "launch", 1, 2000, b.y),
    BUG(small_block, nullptr, 1, 1, b.y),
};

}  // namespace

std::span<const PlantedBug> planted_bugs() {
  return kBugs;
}

}  // namespace ingot::emu
