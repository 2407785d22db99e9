// codegen/prelude/cpu/narrow_test.cc: 8-bit floats and packed elements against base/dtype.h.
#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

constexpr std::array kTypes = {
#define INGOT_ROW(name) std::pair(Narrow::name, DType::name),
    INGOT_TEST_NARROW(INGOT_ROW)
#undef INGOT_ROW
};
constexpr std::array kPaths = {Path::whole,      Path::partial, Path::filled,
                               Path::last_lanes, Path::strided, Path::gathered};

int64_t stride_of(Path path) {
  return path == Path::partial || path == Path::whole ? 1 : 3;
}

class NarrowTest : public LevelTest {};

TEST_P(NarrowTest, EveryPatternIsReadOnEveryPath) {
  for (const auto& [narrow, dtype] : kTypes) {
    std::vector<uint8_t> bytes(256);
    for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k);
    const int64_t count = 256 * 8 / bits(dtype);
    for (const Path path : kPaths) {
      const int64_t stride = stride_of(path);
      for (const int64_t first : {0, 1, 2, 3, 5}) {
        const int64_t n = (count - first - 1) / stride + 1;
        Guarded<float> values(static_cast<size_t>(n));
        level().read_narrow(narrow, path, bytes.data(), first, stride, values.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          const size_t at = static_cast<size_t>(first + i * stride);
          const float want = static_cast<float>(load_as_double(dtype, bytes.data(), at));
          const float got = values[static_cast<size_t>(i)];
          ASSERT_TRUE(same_bits(got, want))
              << to_text(dtype) << " path " << static_cast<int>(path) << " element " << at
              << ": expected " << want << ", got " << got;
        }
      }
    }
  }
}

/// Numbers that the format has, half-way between them, next to those, and what it cannot hold.
std::vector<float> numbers_around(DType dtype) {
  std::vector<float> numbers = {0.0f,      -0.0f,     1e-40f, -1e-45f,   1e30f,    -1e30f,
                                0x1p-126f, 0x1p-127f, 1e-38f, -INFINITY, INFINITY, NAN};
  std::vector<float> held;
  for (uint64_t code = 0; code < (uint64_t{1} << bits(dtype)); ++code) {
    const uint8_t byte = static_cast<uint8_t>(code);
    const double value = load_as_double(dtype, &byte, 0);
    if (std::isfinite(value)) held.push_back(static_cast<float>(value));
  }
  std::ranges::sort(held);
  for (size_t k = 0; k < held.size(); ++k) {
    const float next = k + 1 < held.size() ? held[k + 1] : held[k] * 2 + 1;
    const float middle = held[k] + (next - held[k]) / 2;
    for (const float x : {held[k], middle}) {
      numbers.insert(numbers.end(), {x, std::nextafterf(x, INFINITY), std::nextafterf(x, -INFINITY),
                                     2 * x + 0.25f});
    }
  }
  return numbers;
}

TEST_P(NarrowTest, NumbersAreRoundedAsTheFormatSaysAndNeighboursStay) {
  for (const auto& [narrow, dtype] : kTypes) {
    const std::vector<float> numbers = numbers_around(dtype);
    const size_t n = numbers.size();
    for (const Path path : kPaths) {
      const int64_t stride = stride_of(path);
      for (const int64_t first : {0, 1, 3}) {
        const size_t elements = static_cast<size_t>(first) + n * static_cast<size_t>(stride) + 7;
        std::vector<uint8_t> want(size_bytes(dtype, elements), 0xa6), got = want;
        for (size_t i = 0; i < n; ++i) {
          const size_t at = static_cast<size_t>(first) + i * static_cast<size_t>(stride);
          store_from_double(dtype, want.data(), at, static_cast<double>(numbers[i]));
          // A NaN in a register has no sign.
          const double held = load_as_double(dtype, want.data(), at);
          if (std::isnan(held)) store_from_double(dtype, want.data(), at, held);
        }
        level().write_narrow(narrow, path, numbers.data(), got.data(), first, stride,
                             static_cast<int64_t>(n));
        for (size_t at = 0; at < want.size(); ++at) {
          ASSERT_EQ(got[at], want[at]) << to_text(dtype) << " path " << static_cast<int>(path)
                                       << " first " << first << " byte " << at;
        }
      }
    }
  }
}

INSTANTIATE_LEVELS(NarrowTest);

}  // namespace
}  // namespace ingot::prelude_test
