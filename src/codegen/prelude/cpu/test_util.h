// codegen/prelude/cpu/test_util.h: what the prelude's tests share: levels of this host, buffers
// between guard pages, distances in units of the last place.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "codegen/prelude/cpu/test_kernels.h"

namespace ingot::prelude_test {

/// The levels that this host can run, lowest first.
inline std::vector<const Level*> host_levels() {
  std::vector<const Level*> levels = {&kLevelV1};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    levels.push_back(&kLevelV3);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      levels.push_back(&kLevelV4);
    }
  }
  return levels;
}

/// A test of every level: INSTANTIATE_LEVELS(Suite) makes Suite/v1, Suite/v3 and Suite/v4 of those
/// that run here, so the test's own output says which did.
class LevelTest : public testing::TestWithParam<const Level*> {
 protected:
  const Level& level() const { return *GetParam(); }
};
#define INSTANTIATE_LEVELS(suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(host_levels()),             \
                           [](const testing::TestParamInfo<const Level*>& info) { \
                             return std::string(info.param->name);                \
                           })

enum class Guard { before, after };

/// `size` elements that begin or end at an inaccessible page. What lies between them and the other
/// end of their pages is poisoned; untouched() tells whether it still is.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t size, Guard guard = Guard::after) : size_(size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    body_bytes_ = (size * sizeof(T) + page - 1) / page * page;
    mapped_bytes_ = body_bytes_ + 2 * page;
    void* mapped =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED, "memory for a guarded buffer");
    map_ = static_cast<uint8_t*>(mapped);
    body_ = map_ + page;
    CHECK(
        mprotect(map_, page, PROT_NONE) == 0 && mprotect(body_ + body_bytes_, page, PROT_NONE) == 0,
        "guard pages");
    memset(body_, kPoison, body_bytes_);
    data_ = body_ + (guard == Guard::before ? 0 : body_bytes_ - size * sizeof(T));
  }
  ~Guarded() { munmap(map_, mapped_bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() { return reinterpret_cast<T*>(data_); }
  const T* data() const { return reinterpret_cast<const T*>(data_); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }

  bool untouched() const {
    const uint8_t* end = data_ + size_ * sizeof(T);
    for (const uint8_t* p = body_; p < data_; ++p) {
      if (*p != kPoison) return false;
    }
    for (const uint8_t* p = end; p < body_ + body_bytes_; ++p) {
      if (*p != kPoison) return false;
    }
    return true;
  }

 private:
  static constexpr uint8_t kPoison = 0xff;  // every float made of it is a NaN
  size_t size_, body_bytes_, mapped_bytes_;
  uint8_t *map_, *body_, *data_;
};

template <class T>
void fill_random(Guarded<T>& buffer, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = T(normal(random));
}

inline bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// Distance of `got` from the true value in units of the last place of the binary32 next to it.
/// Infinite if one is NaN and the other not, an infinity is wrong or a zero has the wrong sign.
inline double ulp_error(float got, double want) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
  if (std::isinf(want)) return got == want ? 0 : kWrong;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(want)) return kWrong;
  int exponent;
  std::frexp(want, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  if (std::isinf(got))
    return std::fabs(want) > kLargest ? 0.5 : (kLargest - std::fabs(want)) / ulp + 1;
  return std::fabs(got - want) / ulp;
}

}  // namespace ingot::prelude_test
