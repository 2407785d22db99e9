// base/random.cc: xoshiro256** and the distributions drawn from it.
#include "base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace ingot {

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {  // splitmix64
    uint64_t z = seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    word = z ^ z >> 31;
  }
}

uint64_t Random::bits() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

int64_t Random::range(int64_t lo, int64_t hi) {
  CHECK(lo <= hi, "Random::range: ", lo, " > ", hi);
  const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
  if (span == 0) return static_cast<int64_t>(bits());
  // Numbers at the top that would make the first remainders more likely are drawn again.
  const uint64_t limit = ~uint64_t{0} - (~uint64_t{0} % span + 1) % span;
  uint64_t drawn = bits();
  while (drawn > limit) drawn = bits();
  return static_cast<int64_t>(static_cast<uint64_t>(lo) + drawn % span);
}

double Random::real(double lo, double hi) {
  return lo + (hi - lo) * (static_cast<double>(bits() >> 11) * 0x1p-53);
}

double Random::normal(double mean, double deviation) {
  // Box and Muller; 1 - real() is in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - real()));
  return mean + deviation * radius * std::cos(2 * std::numbers::pi * real());
}

std::vector<int64_t> Random::dims(int rank, int64_t lo, int64_t hi) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int64_t& size : sizes) size = std::min(range(lo, hi), range(lo, hi));
  return sizes;
}

}  // namespace ingot
