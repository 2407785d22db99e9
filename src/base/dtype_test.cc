// base/dtype_test.cc: the dtype table, and the small floats against the standards' numbers and a
// search.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "ingot/ingot.h"

namespace ingot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr DType kSmallFloats[] = {DType::f16,        DType::bf16,   DType::f8e4m3fn,
                                  DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                                  DType::f8e8m0,     DType::f4e2m1};

uint64_t pattern_count(DType dtype) {
  return uint64_t{1} << bits(dtype);
}

TEST(DType, RowsAreInEnumeratorOrderAndUnique) {
  std::set<int> onnx;
  std::set<std::string_view> names;
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kDTypes[i].dtype), i);
    EXPECT_TRUE(onnx.insert(kDTypes[i].onnx).second);
    EXPECT_TRUE(names.insert(kDTypes[i].name).second);
    EXPECT_EQ(dtype_from_onnx(kDTypes[i].onnx), kDTypes[i].dtype);
    EXPECT_EQ(dtype_from_name(kDTypes[i].name), kDTypes[i].dtype);
  }
  EXPECT_EQ(onnx.size(), 26u);  // every number of TensorProto.DataType but UNDEFINED
  EXPECT_EQ(dtype_from_onnx(0), std::nullopt);
  EXPECT_EQ(dtype_from_onnx(27), std::nullopt);
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

TEST(DType, OnnxNumbersAreThoseOfTheHeader) {
  EXPECT_EQ(onnx_number(DType::f32), INGOT_FLOAT32);
  EXPECT_EQ(onnx_number(DType::f64), INGOT_FLOAT64);
  EXPECT_EQ(onnx_number(DType::i64), INGOT_INT64);
  EXPECT_EQ(onnx_number(DType::b8), INGOT_BOOL);
  EXPECT_EQ(onnx_number(DType::str), INGOT_STRING);
  EXPECT_EQ(onnx_number(DType::bf16), INGOT_BFLOAT16);
  EXPECT_EQ(onnx_number(DType::f8e5m2), INGOT_FLOAT8E5M2);
}

TEST(DType, SizesOfPackedElements) {
  EXPECT_EQ(size_bytes(DType::f32, 3), 12u);
  EXPECT_EQ(size_bytes(DType::i4, 3), 2u);
  EXPECT_EQ(size_bytes(DType::u2, 5), 2u);
  EXPECT_EQ(size_bytes(DType::i4, 0), 0u);
  EXPECT_EQ(size_bytes(DType::c128, 2), 32u);
}

struct Known {
  DType dtype;
  uint64_t pattern;
  double value;
};

// Largest and smallest numbers as OCP OFP8 table 1, OCP MX 5.3, IEEE 754 and ONNX's "Float stored
// in 8 bits" tell them.
constexpr Known kKnown[] = {
    {DType::f16, 0x3C00, 1},
    {DType::f16, 0x7BFF, 65504},
    {DType::f16, 0x0001, 0x1p-24},
    {DType::f16, 0x0400, 0x1p-14},
    {DType::f16, 0x7C00, kInf},
    {DType::f16, 0xFC00, -kInf},
    {DType::bf16, 0x3F80, 1},
    {DType::bf16, 0x7F7F, 0x1.FEp127},
    {DType::bf16, 0x0001, 0x1p-133},
    {DType::bf16, 0xFF80, -kInf},
    {DType::f8e4m3fn, 0x38, 1},
    {DType::f8e4m3fn, 0x7E, 448},
    {DType::f8e4m3fn, 0x01, 0x1p-9},
    {DType::f8e4m3fn, 0x08, 0x1p-6},
    {DType::f8e4m3fnuz, 0x40, 1},
    {DType::f8e4m3fnuz, 0x7F, 240},
    {DType::f8e4m3fnuz, 0x01, 0x1p-10},
    {DType::f8e5m2, 0x3C, 1},
    {DType::f8e5m2, 0x7B, 57344},
    {DType::f8e5m2, 0x01, 0x1p-16},
    {DType::f8e5m2, 0x7C, kInf},
    {DType::f8e5m2fnuz, 0x40, 1},
    {DType::f8e5m2fnuz, 0x7F, 57344},
    {DType::f8e5m2fnuz, 0x01, 0x1p-17},
    {DType::f8e8m0, 0x00, 0x1p-127},
    {DType::f8e8m0, 0x7F, 1},
    {DType::f8e8m0, 0xFE, 0x1p127},
    {DType::f4e2m1, 0x1, 0.5},
    {DType::f4e2m1, 0x2, 1},
    {DType::f4e2m1, 0x3, 1.5},
    {DType::f4e2m1, 0x7, 6},
    {DType::f4e2m1, 0xF, -6},
};

TEST(SmallFloats, KnownNumbersDecodeAndEncode) {
  for (const Known& known : kKnown) {
    EXPECT_EQ(decode_float(known.dtype, known.pattern), known.value)
        << to_text(known.dtype) << " " << known.pattern;
    EXPECT_EQ(encode_float(known.dtype, known.value, Overflow::kIeee), known.pattern)
        << to_text(known.dtype) << " " << known.value;
  }
}

TEST(SmallFloats, NanPatterns) {
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e4m3fn, 0x7F)));
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e4m3fn, 0xFF)));
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e4m3fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e5m2fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e8m0, 0xFF)));
  for (const uint64_t pattern : {0x7D, 0x7E, 0x7F, 0xFD}) {
    EXPECT_TRUE(std::isnan(decode_float(DType::f8e5m2, pattern)));
  }
  for (const DType dtype : kSmallFloats) {
    if (dtype == DType::f4e2m1) continue;
    EXPECT_TRUE(std::isnan(decode_float(dtype, encode_float(dtype, kNan)))) << to_text(dtype);
  }
  EXPECT_EQ(encode_float(DType::f4e2m1, kNan), 0x7u);
}

TEST(SmallFloats, EveryPatternRoundTrips) {
  for (const DType dtype : kSmallFloats) {
    for (uint64_t pattern = 0; pattern < pattern_count(dtype); ++pattern) {
      const double value = decode_float(dtype, pattern);
      if (std::isnan(value)) continue;
      ASSERT_EQ(encode_float(dtype, value, Overflow::kIeee), pattern)
          << to_text(dtype) << " " << pattern << " " << value;
    }
  }
}

/// The nearest finite number of the format by a search through all, a tie to the even pattern.
uint64_t search_nearest(DType dtype, double value) {
  uint64_t best = 0;
  double best_distance = kInf;
  for (uint64_t pattern = 0; pattern < pattern_count(dtype); ++pattern) {
    const double candidate = decode_float(dtype, pattern);
    if (!std::isfinite(candidate)) continue;
    const double distance = std::abs(candidate - value);
    if (distance < best_distance || (distance == best_distance && pattern % 2 == 0)) {
      best = pattern;
      best_distance = distance;
    }
  }
  return best;
}

TEST(SmallFloats, RoundingAgreesWithASearch) {
  Random random(1);
  for (const DType dtype : kSmallFloats) {
    if (bits(dtype) > 8 || dtype == DType::f8e8m0) continue;
    std::vector<double> values;
    for (uint64_t pattern = 0; pattern + 1 < pattern_count(dtype) / 2; ++pattern) {
      const double low = decode_float(dtype, pattern);
      const double high = decode_float(dtype, pattern + 1);
      const double middle = (low + high) / 2;
      if (!std::isfinite(middle)) continue;
      for (const double value : {middle, std::nextafter(middle, 0), std::nextafter(middle, kInf)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    for (int i = 0; i < 200; ++i)
      values.push_back(std::ldexp(random.normal(), int(random.range(-20, 20))));
    for (const double value : values) {
      const double want = decode_float(dtype, search_nearest(dtype, value));
      ASSERT_EQ(decode_float(dtype, encode_float(dtype, value)), want)
          << to_text(dtype) << " " << value;
    }
  }
}

TEST(SmallFloats, OverflowSaturatesOrNot) {
  EXPECT_EQ(encode_float(DType::f8e4m3fn, 500), 0x7Eu);
  EXPECT_EQ(encode_float(DType::f8e4m3fn, -kInf), 0xFEu);
  EXPECT_EQ(encode_float(DType::f8e4m3fn, 464, Overflow::kIeee), 0x7Eu);  // half-way, 448 is even
  EXPECT_EQ(encode_float(DType::f8e4m3fn, 465, Overflow::kIeee), 0x7Fu);
  EXPECT_EQ(encode_float(DType::f8e4m3fnuz, 1e9, Overflow::kIeee), 0x80u);
  EXPECT_EQ(encode_float(DType::f8e5m2, 61440, Overflow::kIeee), 0x7Cu);  // half-way to 65536
  EXPECT_EQ(encode_float(DType::f8e5m2, kInf), 0x7Bu);
  EXPECT_EQ(encode_float(DType::f8e5m2fnuz, -kInf), 0xFFu);
  EXPECT_EQ(encode_float(DType::f4e2m1, kInf, Overflow::kIeee), 0x7u);
  EXPECT_EQ(encode_float(DType::f32, 1e300), 0x7F7FFFFFu);
  EXPECT_EQ(encode_float(DType::f32, 1e300, Overflow::kIeee), 0x7F800000u);
}

TEST(SmallFloats, FnuzHasNoMinusZero) {
  EXPECT_EQ(encode_float(DType::f8e4m3fnuz, -0.0), 0u);
  EXPECT_EQ(encode_float(DType::f8e5m2fnuz, -1e-30), 0u);
  EXPECT_EQ(encode_float(DType::f8e5m2, -0.0), 0x80u);
}

TEST(SmallFloats, E8m0RoundsAsAsked) {
  const auto encode = [](double value, Rounding rounding) {
    return encode_float(DType::f8e8m0, value, Overflow::kSaturate, rounding);
  };
  EXPECT_EQ(encode(1.25, Rounding::kNearestEven), 127u);
  EXPECT_EQ(encode(1.75, Rounding::kNearestEven), 128u);
  EXPECT_EQ(encode(1.25, Rounding::kUp), 128u);
  EXPECT_EQ(encode(1.75, Rounding::kDown), 127u);
  EXPECT_EQ(encode(0, Rounding::kUp), 0u);
  EXPECT_EQ(encode(1e300, Rounding::kDown), 0xFEu);
  EXPECT_EQ(encode(kInf, Rounding::kDown), 0xFEu);
  EXPECT_EQ(encode(kNan, Rounding::kUp), 0xFFu);
}

TEST(SmallFloats, QuickFormsAgreeWithTheGeneralOnes) {
  for (uint32_t pattern = 0; pattern <= 0xFFFF; ++pattern) {
    const uint16_t bits16 = static_cast<uint16_t>(pattern);
    const double f16 = decode_float(DType::f16, pattern);
    const double bf16 = decode_float(DType::bf16, pattern);
    if (!std::isnan(f16)) {
      ASSERT_EQ(f16_to_float(bits16), f16);
    }
    ASSERT_EQ(std::isnan(f16_to_float(bits16)), std::isnan(f16));
    if (!std::isnan(bf16)) {
      ASSERT_EQ(bf16_to_float(bits16), bf16);
    }
  }
  Random random(2);
  for (int i = 0; i < 100000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random.bits()));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bf16_to_float(float_to_bf16(value))));
      ASSERT_TRUE(std::isnan(f16_to_float(float_to_f16(value))));
      continue;
    }
    ASSERT_EQ(float_to_bf16(value), encode_float(DType::bf16, value, Overflow::kIeee)) << value;
  }
}

TEST(Elements, LoadAndStore) {
  unsigned char data[4] = {};
  store_from_int(DType::i4, data, 0, -3);
  store_from_int(DType::i4, data, 1, 7);
  EXPECT_EQ(data[0], 0x7D);
  EXPECT_EQ(load_as_int(DType::i4, data, 0), -3);
  EXPECT_EQ(load_as_double(DType::i4, data, 1), 7);
  store_from_double(DType::u2, data, 4, 9);
  EXPECT_EQ(load_as_int(DType::u2, data, 4), 3);
  EXPECT_EQ(data[1], 3);
  store_from_double(DType::i8, data, 2, -1000);
  EXPECT_EQ(load_as_int(DType::i8, data, 2), -128);
  store_from_double(DType::i8, data, 2, -2.9);
  EXPECT_EQ(load_as_int(DType::i8, data, 2), -2);
  store_from_double(DType::b8, data, 3, kNan);
  EXPECT_EQ(data[3], 1);

  uint64_t wide = 0;
  store_from_double(DType::u64, &wide, 0, kInf);
  EXPECT_EQ(wide, ~uint64_t{0});
  EXPECT_EQ(load_as_double(DType::u64, &wide, 0), 0x1p64);
  store_from_double(DType::i64, &wide, 0, -kInf);
  EXPECT_EQ(load_as_int(DType::i64, &wide, 0), std::numeric_limits<int64_t>::min());
  store_from_double(DType::i64, &wide, 0, kNan);
  EXPECT_EQ(wide, 0u);

  unsigned char bytes[9] = {};
  store_from_double(DType::f32, bytes + 1, 1, 0.1);  // unaligned
  EXPECT_EQ(load_as_double(DType::f32, bytes + 1, 1), 0.1f);
}

}  // namespace
}  // namespace ingot
