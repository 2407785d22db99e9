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
constexpr int64_t kFewest = 8;
constexpr size_t kBytes = size_t{256} << 20;
constexpr size_t kPiece = size_t{8} << 20;  // of it, read at a time

typedef float Vector __attribute__((vector_size(64)));

// Sixteen independent chains hide the latency of any multiplier there is. Cloned per instruction
// set, because the program itself is built for the baseline.
#define INGOT_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))

INGOT_CLONES float multiply_add(int64_t rounds) {
  Vector acc[16];
  // Unrolled, so that the chains live in registers.
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) acc[k] = Vector{} + static_cast<float>(k);
  Vector a = Vector{} + 0.9999f, b = Vector{} + 1e-6f;
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) acc[k] = acc[k] * a + b;
  }
  Vector sum = Vector{};
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) sum += acc[k];
  return sum[0] + sum[7];
}

INGOT_CLONES float read_all(const float* data, size_t count) {
  Vector sum[8] = {};
  for (size_t k = 0; k + 128 <= count; k += 128) {
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) sum[j] += *reinterpret_cast<const Vector*>(data + k + 16 * j);
  }
  Vector all = Vector{};
  for (const Vector& s : sum) all += s;
  return all[0];
}

volatile float sink;

/// Calls body(thread, number) on every thread, again and again for kSeconds. Calls in all per
/// second, each thread at the pace of its quickest: others may use the machine meanwhile.
template <class Body>
double rate(int threads, Body body) {
  std::vector<double> calls(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const auto seconds_since = [](Clock::time_point start) {
        return std::chrono::duration<double>(Clock::now() - start).count();
      };
      const auto start = Clock::now();
      double best = kSeconds;
      for (int64_t number = 0; number < kFewest || seconds_since(start) < kSeconds; ++number) {
        const auto before = Clock::now();
        body(t, number);
        best = std::min(best, seconds_since(before));
      }
      calls[static_cast<size_t>(t)] = 1 / best;
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
  const auto multiply = [](int, int64_t) { sink = multiply_add(kRounds); };
  probe.fma_gflops = rate(threads, multiply) * flops / 1e9;
  std::vector<float> memory(kBytes / sizeof(float) + 16, 1.0f);
  void* first = memory.data();
  size_t space = memory.size() * sizeof(float);
  const auto* data = static_cast<const float*>(std::align(64, kBytes, first, space));
  // Each thread goes round in a share of the memory, further than any of its caches reach.
  const auto pieces = static_cast<int64_t>(kBytes / kPiece);
  const int64_t share = std::max<int64_t>(pieces / threads, 1);
  const auto read = [&](int t, int64_t number) {
    const int64_t piece = (t * share + number % share) % pieces;
    constexpr size_t kFloats = kPiece / sizeof(float);
    sink = read_all(data + static_cast<size_t>(piece) * kFloats, kFloats);
  };
  probe.read_gbs = rate(threads, read) * static_cast<double>(kPiece) / 1e9;
  return probe;
}

}  // namespace ingot::cli
