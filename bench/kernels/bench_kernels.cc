// bench/kernels/bench_kernels.cc: prints how much of the measured multiply-add peak the matmul and
// convolution kernels reach, beside the prototypes they came from.
//
//   bench_kernels [v3|v4] [gemm|conv]
//
// One thread, hot weights. Each round runs the contenders one after the other and times the peak
// beside them; the fastest run of each unit of work counts, so a neighbour on the machine hurts
// all alike, and a time slice lost to it hurts nobody.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace ingot::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Zeroed floats on huge pages where there are some; never freed.
float* allocate(i64 floats) {
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(floats) * sizeof(float) + kHuge - 1) / kHuge * kHuge;
  void* memory = aligned_alloc(kHuge, bytes);
  if (memory == nullptr) {
    fprintf(stderr, "bench_kernels: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

float* pattern(i64 floats, int period) {
  float* p = allocate(floats);
  for (i64 i = 0; i < floats; ++i) p[i] = 0.1f * static_cast<float>(i % period - period / 2);
  return p;
}

/// The peak, in flops per second, of half a second's best attempt.
double find_peak(const Kernels& kernels) {
  double best = 0;
  const double flops = kernels.peak();
  for (const double end = now() + 0.5; now() < end;) {
    const double start = now();
    kernels.peak();
    best = std::max(best, flops / (now() - start));
  }
  return best;
}

/// Something to time: `units` calls make the whole.
struct Contender {
  i64 units;
  std::function<void(i64 unit)> call;
};

/// The rates of the fastest calls, in flops per second: first of the peak, then of the contenders.
/// `peak` is the highest seen so far; because the clock changes with the load of the machine, one
/// row alone may miss it.
std::vector<double> rates(const Kernels& kernels, double flops, double& peak,
                          const std::vector<Contender>& contenders) {
  constexpr int kRounds = 20;
  constexpr double kSeconds = 0.003;
  const double peak_flops = kernels.peak();
  std::vector<std::vector<double>> best;  // seconds of each unit
  for (const Contender& c : contenders) best.emplace_back(static_cast<size_t>(c.units), 1e9);
  for (int round = 0; round < kRounds; ++round) {
    const double peak_start = now();
    kernels.peak();
    peak = std::max(peak, peak_flops / (now() - peak_start));
    for (size_t i = 0; i < contenders.size(); ++i) {
      const double end = now() + kSeconds;
      do {
        for (size_t unit = 0; unit < best[i].size(); ++unit) {
          const double start = now();
          contenders[i].call(static_cast<i64>(unit));
          best[i][unit] = std::min(best[i][unit], now() - start);
        }
      } while (now() < end);
    }
  }
  std::vector<double> result = {peak};
  for (const std::vector<double>& seconds : best) {
    result.push_back(flops / std::accumulate(seconds.begin(), seconds.end(), 0.0));
  }
  return result;
}

void print_row(const char* shape, const std::vector<double>& best, bool prototype, bool winograd) {
  printf("| %-18s | %5.0f | %5.1f |", shape, best[0] / 1e9, 100 * best[1] / best[0]);
  size_t next = 2;
  if (prototype) {
    printf(" %5.1f | %4.2f |", 100 * best[next] / best[0], best[1] / best[next]);
    ++next;
  }
  if (winograd && best.size() > next) printf(" %4.2f |", best[next] / best[1]);
  puts("");
  fflush(stdout);
}

void bench_gemm(const Kernels& kernels, const Buffers& buffers, double& peak) {
  const GemmShape kShapes[] = {
      {1, 768, 768},     {8, 768, 768},  {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072},
      {384, 1024, 1024}, {3136, 64, 64}, {784, 128, 512}, {196, 1024, 256}, {49, 2048, 512},
      {49, 512, 4608},   {197, 48, 768}, {197, 32, 768},  {197, 16, 768}};
  const bool has_prototype = kernels.prototype_gemm != nullptr;
  printf("\n| M,N,K (%s) | peak GF | %% of peak |%s\n", kernels.level,
         has_prototype ? " prototype % | ratio |" : "");
  printf("|---|---|---|%s\n", has_prototype ? "---|---|" : "");
  for (const GemmShape& s : kShapes) {
    const i64 panels = (s.n + 63) / 64;
    std::vector<Contender> contenders = {{panels, [&](i64 p) { kernels.gemm(s, buffers, p); }}};
    const bool prototype = has_prototype && s.n % 64 == 0;
    if (prototype) {
      contenders.push_back({panels, [&](i64 p) { kernels.prototype_gemm(s, buffers, p); }});
    }
    const double flops = 2.0 * static_cast<double>(s.m * s.n * s.k);
    char name[40];
    snprintf(name, sizeof name, "%lld,%lld,%lld", static_cast<long long>(s.m),
             static_cast<long long>(s.n), static_cast<long long>(s.k));
    print_row(name, rates(kernels, flops, peak, contenders), prototype, false);
  }
}

void bench_conv(const Kernels& kernels, const Buffers& buffers, double& peak) {
  const ConvShape kShapes[] = {
      {224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},    {56, 64, 256, 1, 1},  {56, 256, 64, 1, 1},
      {56, 64, 64, 3, 1},    {56, 256, 128, 1, 1},  {56, 128, 128, 3, 2}, {28, 128, 512, 1, 1},
      {56, 256, 512, 1, 2},  {28, 512, 128, 1, 1},  {28, 128, 128, 3, 1}, {28, 256, 256, 3, 2},
      {14, 256, 1024, 1, 1}, {14, 1024, 256, 1, 1}, {14, 256, 256, 3, 1}, {14, 512, 512, 3, 2},
      {7, 512, 2048, 1, 1},  {7, 2048, 512, 1, 1},  {7, 512, 512, 3, 1}};
  const bool has_prototype = kernels.prototype_conv != nullptr;
  printf("\n| size C>OC kxk/stride (%s) | peak GF | %% of peak |%s%s\n", kernels.level,
         has_prototype ? " prototype % | ratio |" : "",
         kernels.winograd != nullptr ? " Winograd speed-up |" : "");
  printf("|---|---|---|%s%s\n", has_prototype ? "---|---|" : "",
         kernels.winograd != nullptr ? "---|" : "");
  for (const ConvShape& s : kShapes) {
    const i64 panels = s.oc / 64;
    std::vector<Contender> contenders = {{panels, [&](i64 p) { kernels.conv(s, buffers, p); }}};
    if (has_prototype) {
      contenders.push_back({panels, [&](i64 p) { kernels.prototype_conv(s, buffers, p); }});
    }
    const bool winograd = kernels.winograd != nullptr && s.k == 3 && s.stride == 1;
    if (winograd) {
      contenders.push_back(
          {kernels.winograd_units(s), [&](i64 unit) { kernels.winograd(s, buffers, unit); }});
    }
    char name[60];
    snprintf(name, sizeof name, "%lld %lld>%lld %lldx%lld/%lld", static_cast<long long>(s.size),
             static_cast<long long>(s.c), static_cast<long long>(s.oc), static_cast<long long>(s.k),
             static_cast<long long>(s.k), static_cast<long long>(s.stride));
    print_row(name, rates(kernels, s.flops(), peak, contenders), has_prototype, winograd);
  }
}

bool is_supported(const Kernels& kernels) {
  __builtin_cpu_init();
  if (&kernels == &kKernelsV4) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

int run(int argc, char** argv) {
  std::string_view level, kind;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    (argument == "v3" || argument == "v4" ? level : kind) = argument;
  }
  constexpr i64 kFloats = i64{12} << 20;  // 48 MiB: the largest operand and its borders
  const Buffers buffers = {pattern(kFloats, 7), pattern(kFloats, 7), pattern(kFloats, 5),
                           pattern(1 << 13, 3), allocate(kFloats),   allocate(kFloats)};
  for (const Kernels* kernels : {&kKernelsV4, &kKernelsV3}) {
    const std::string_view name = kernels == &kKernelsV4 ? "v4" : "v3";
    if (!is_supported(*kernels)) {
      printf("%s: not on this machine\n", kernels->level);
      continue;
    }
    if (!level.empty() && level != name) continue;
    double peak = find_peak(*kernels);
    if (kind.empty() || kind == "gemm") bench_gemm(*kernels, buffers, peak);
    if (kind.empty() || kind == "conv") bench_conv(*kernels, buffers, peak);
  }
  return 0;
}

}  // namespace
}  // namespace ingot::bench

int main(int argc, char** argv) {
  return ingot::bench::run(argc, argv);
}
