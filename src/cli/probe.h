// cli/probe.h: what this machine can do right now, measured beside every benchmark.
#pragma once

namespace ingot::cli {

struct Probe {
  double fma_gflops = 0;  // fp32 fused multiply-adds, counted as two, all threads together
  double read_gbs = 0;    // reading 256 MiB, all threads together
};

/// The best of many short measurements. Takes about 0.2 seconds.
Probe probe_machine(int threads);

}  // namespace ingot::cli
