// cli/probe.cc: fused multiply-adds from registers, and sums over memory that no cache holds.
#include "cli/probe.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace ingot::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSeconds = 0.05;
constexpr size_t kBytes = size_t{256} << 20;

typedef float Vector __attribute__((vector_size(64)));

// Sixteen independent chains hide the latency of any multiplier there is. Cloned per instruction
// set, because the program itself is built for the baseline.
#define INGOT_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default"), noinline))

INGOT_CLONES float multiply_add(int64_t rounds) {
  Vector acc[16];
  for (int k = 0; k < 16; ++k) acc[k] = Vector{} + static_cast<float>(k);
  Vector a = Vector{} + 0.9999f, b = Vector{} + 1e-6f;
  for (int64_t r = 0; r < rounds; ++r) {
    for (int k = 0; k < 16; ++k) acc[k] = acc[k] * a + b;
  }
  Vector sum = Vector{};
  for (int k = 0; k < 16; ++k) sum += acc[k];
  return sum[0] + sum[7];
}

INGOT_CLONES float read_all(const float* data, size_t count) {
  Vector sum[8] = {};
  for (size_t k = 0; k + 128 <= count; k += 128) {
    for (size_t j = 0; j < 8; ++j) sum[j] += *reinterpret_cast<const Vector*>(data + k + 16 * j);
  }
  Vector all = Vector{};
  for (const Vector& s : sum) all += s;
  return all[0];
}

volatile float sink;

/// Calls body(thread) on every thread, again and again for kSeconds; calls in all per second.
template <class Body>
double rate(int threads, Body body) {
  std::vector<double> calls(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const auto start = Clock::now();
      double seconds = 0;
      int64_t count = 0;
      do {
        body(t);
        ++count;
        seconds = std::chrono::duration<double>(Clock::now() - start).count();
      } while (seconds < kSeconds);
      calls[static_cast<size_t>(t)] = static_cast<double>(count) / seconds;
    });
  }
  for (std::thread& worker : workers) worker.join();
  double sum = 0;
  for (const double c : calls) sum += c;
  return sum;
}

}  // namespace

Probe probe_machine(int threads) {
  threads = std::max(threads, 1);
  Probe probe;
  constexpr int64_t kRounds = 20000;
  const double flops = 2.0 * 16 * 16 * kRounds;
  probe.fma_gflops = rate(threads, [](int) { sink = multiply_add(kRounds); }) * flops / 1e9;
  const size_t floats = kBytes / sizeof(float);
  std::vector<float> memory(floats + 16, 1.0f);
  void* first = memory.data();
  size_t space = memory.size() * sizeof(float);
  const auto* data = static_cast<const float*>(std::align(64, kBytes, first, space));
  const size_t part = floats / static_cast<size_t>(threads) / 128 * 128;
  const double bytes = static_cast<double>(part) * sizeof(float);
  probe.read_gbs =
      rate(threads, [&](int t) { sink = read_all(data + static_cast<size_t>(t) * part, part); }) *
      bytes / 1e9;
  return probe;
}

}  // namespace ingot::cli
