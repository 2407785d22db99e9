// base/random.h: seeded random numbers that are the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace ingot {

/// xoshiro256** seeded through splitmix64. Not for secrets. Source: Blackman and Vigna,
/// "Scrambled linear pseudorandom number generators", 2018; prng.di.unimi.it.
class Random {
 public:
  explicit Random(uint64_t seed);

  /// 64 random bits.
  uint64_t bits();
  /// Uniform in [lo, hi], both included; lo <= hi.
  int64_t range(int64_t lo, int64_t hi);
  /// Uniform in [lo, hi).
  double real(double lo = 0, double hi = 1);
  /// Gaussian with the given mean and standard deviation.
  double normal(double mean = 0, double deviation = 1);
  /// True with the given probability.
  bool chance(double probability) { return real() < probability; }
  /// One of the elements; there must be one.
  template <class Range>
  const auto& pick(const Range& range_of_choices) {
    return range_of_choices[static_cast<size_t>(
        range(0, static_cast<int64_t>(std::size(range_of_choices)) - 1))];
  }
  /// `rank` sizes in [lo, hi], small ones more often than large ones.
  std::vector<int64_t> dims(int rank, int64_t lo = 1, int64_t hi = 9);

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace ingot
