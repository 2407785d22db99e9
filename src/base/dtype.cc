// base/dtype.cc: look-ups in the dtype table, and floating-point formats by their fields.
#include "base/dtype.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace ingot {
namespace {

/// What the all-ones end of a format's range means.
enum class Specials : uint8_t {
  kIeee,     ///< the largest exponent is infinity and NaN
  kNanOnly,  ///< all bits one is NaN, no infinity ("fn")
  kFnuz,     ///< the pattern of minus zero is NaN, no infinity, no minus zero
  kNone,     ///< numbers only
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;

  int sign_shift() const { return exponent_bits + mantissa_bits; }
  uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  uint64_t exponent_mask() const { return (uint64_t{1} << exponent_bits) - 1; }
  uint64_t sign_bit() const { return uint64_t{1} << sign_shift(); }

  /// Pattern of the largest finite number.
  uint64_t max_finite() const {
    const uint64_t all_ones = sign_bit() - 1;
    switch (specials) {
      case Specials::kIeee:
        return all_ones - (mantissa_mask() + 1);
      case Specials::kNanOnly:
        return all_ones - 1;
      case Specials::kFnuz:
      case Specials::kNone:
        return all_ones;
    }
    INGOT_UNREACHABLE();
  }

  uint64_t nan() const {
    switch (specials) {
      case Specials::kIeee:
        return (exponent_mask() << mantissa_bits) | (uint64_t{1} << (mantissa_bits - 1));
      case Specials::kNanOnly:
        return sign_bit() - 1;
      case Specials::kFnuz:
        return sign_bit();
      case Specials::kNone:
        return max_finite();
    }
    INGOT_UNREACHABLE();
  }
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10, 15, Specials::kIeee};
    case DType::bf16:
      return {8, 7, 127, Specials::kIeee};
    case DType::f8e4m3fn:
      return {4, 3, 7, Specials::kNanOnly};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, Specials::kFnuz};
    case DType::f8e5m2:
      return {5, 2, 15, Specials::kIeee};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, Specials::kFnuz};
    case DType::f4e2m1:
      return {2, 1, 1, Specials::kNone};
    default:
      CHECK(false, "expected a small floating-point dtype, got ", dtype);
  }
  INGOT_UNREACHABLE();
}

double decode(const FloatFormat& format, uint64_t pattern) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const uint64_t magnitude = pattern & (format.sign_bit() - 1);
  const bool negative = (pattern & format.sign_bit()) != 0;
  const uint64_t exponent = magnitude >> format.mantissa_bits;
  const uint64_t mantissa = magnitude & format.mantissa_mask();
  if (format.specials == Specials::kFnuz && pattern == format.sign_bit()) return kNan;
  double value = 0;
  if (magnitude > format.max_finite()) {
    if (format.specials != Specials::kIeee || mantissa != 0) return kNan;
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa + format.mantissa_mask() + 1),
                       static_cast<int>(exponent) - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

uint64_t encode(const FloatFormat& format, double value, Overflow overflow) {
  if (std::isnan(value)) return format.nan();
  const double magnitude = std::abs(value);
  const uint64_t too_large =
      overflow == Overflow::kSaturate || format.specials == Specials::kNone ? format.max_finite()
      : format.specials == Specials::kIeee ? format.max_finite() + 1  // infinity
                                           : format.nan();
  uint64_t pattern = 0;
  if (std::isinf(magnitude)) {
    pattern = too_large;
  } else if (magnitude != 0) {
    // In units of the last place the nearest even integer is the nearest number; a carry out of the
    // mantissa runs into the exponent field, which is what rounding up to a power of two needs.
    const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    const uint64_t rounded = static_cast<uint64_t>(units);
    const int64_t field = exponent + format.bias - 1;
    pattern = (static_cast<uint64_t>(field) << format.mantissa_bits) + rounded;
    if (pattern > format.max_finite()) pattern = too_large;
  }
  const bool fnuz_zero_or_nan =
      format.specials == Specials::kFnuz && (pattern == 0 || pattern == format.nan());
  if (std::signbit(value) && !fnuz_zero_or_nan) pattern |= format.sign_bit();
  return pattern;
}

constexpr int kE8m0Bias = 127;
constexpr uint64_t kE8m0Nan = 0xFF;

uint64_t encode_e8m0(double value, Overflow overflow, Rounding rounding) {
  if (std::isnan(value)) return kE8m0Nan;
  if (std::isinf(value) && value > 0) return overflow == Overflow::kSaturate ? 0xFE : kE8m0Nan;
  if (value <= 0) return 0;
  int exponent = std::ilogb(value);
  const double fraction = std::ldexp(value, -exponent);  // in [1, 2)
  // Half-way lies at 1.5, and goes up: of the two neighbours' fields that rule has no even one.
  if (rounding == Rounding::kUp ? fraction > 1
                                : rounding == Rounding::kNearestEven && fraction >= 1.5) {
    ++exponent;
  }
  if (exponent > kE8m0Bias) return overflow == Overflow::kSaturate ? 0xFE : kE8m0Nan;
  return static_cast<uint64_t>(std::max(exponent + kE8m0Bias, 0));
}

uint64_t load_bits(int width, const void* data, size_t index) {
  uint64_t pattern = 0;
  if (width >= 8) {
    const size_t bytes = static_cast<size_t>(width) / 8;
    std::memcpy(&pattern, static_cast<const char*>(data) + index * bytes, bytes);
    return pattern;
  }
  const size_t bit = index * static_cast<size_t>(width);
  const unsigned byte = static_cast<const unsigned char*>(data)[bit / 8];
  return byte >> (bit % 8) & ((1u << width) - 1);
}

void store_bits(int width, void* data, size_t index, uint64_t pattern) {
  if (width >= 8) {
    const size_t bytes = static_cast<size_t>(width) / 8;
    std::memcpy(static_cast<char*>(data) + index * bytes, &pattern, bytes);
    return;
  }
  const size_t bit = index * static_cast<size_t>(width);
  const unsigned mask = ((1u << width) - 1) << (bit % 8);
  unsigned char& byte = static_cast<unsigned char*>(data)[bit / 8];
  byte = static_cast<unsigned char>((byte & ~mask) |
                                    (static_cast<unsigned>(pattern) << (bit % 8) & mask));
}

}  // namespace

std::optional<DType> dtype_from_onnx(int64_t number) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.onnx == number) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

double decode_float(DType dtype, uint64_t pattern) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<double>(pattern);
    case DType::f32:
      return std::bit_cast<float>(static_cast<uint32_t>(pattern));
    case DType::f8e8m0:
      if (pattern == kE8m0Nan) return std::numeric_limits<double>::quiet_NaN();
      return std::ldexp(1.0, static_cast<int>(pattern) - kE8m0Bias);
    default:
      return decode(format_of(dtype), pattern);
  }
}

uint64_t encode_float(DType dtype, double value, Overflow overflow, Rounding rounding) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<uint64_t>(value);
    case DType::f32: {
      constexpr double kMax = std::numeric_limits<float>::max();
      if (overflow == Overflow::kSaturate && std::abs(value) > kMax)
        value = std::copysign(kMax, value);
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    }
    case DType::f8e8m0:
      return encode_e8m0(value, overflow, rounding);
    default:
      return encode(format_of(dtype), value, overflow);
  }
}

float f16_to_float(uint16_t pattern) {
  const uint32_t sign = static_cast<uint32_t>(pattern & 0x8000) << 16;
  const uint32_t exponent = pattern >> 10 & 0x1F;
  const uint32_t mantissa = pattern & 0x3FF;
  if (exponent == 0x1F) {
    const uint32_t quiet = mantissa == 0 ? 0 : 0x400000;
    return std::bit_cast<float>(sign | 0x7F800000 | quiet | mantissa << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign == 0 ? magnitude : -magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

uint16_t float_to_f16(float value) {
  return static_cast<uint16_t>(encode_float(DType::f16, value, Overflow::kIeee));
}

double load_as_double(DType dtype, const void* data, size_t index) {
  if (is_float(dtype)) return decode_float(dtype, load_bits(bits(dtype), data, index));
  const int64_t value = load_as_int(dtype, data, index);
  return dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(value))
                             : static_cast<double>(value);
}

void store_from_double(DType dtype, void* data, size_t index, double value) {
  if (is_float(dtype)) {
    store_bits(bits(dtype), data, index, encode_float(dtype, value, Overflow::kIeee));
    return;
  }
  if (dtype == DType::b8) return store_from_int(dtype, data, index, value != 0);
  CHECK(is_int(dtype), "store_from_double: expected a number type, got ", dtype);
  const int magnitude_bits = bits(dtype) - (is_signed(dtype) ? 1 : 0);
  const double limit = std::ldexp(1.0, magnitude_bits);  // one above the largest number
  const double lowest = is_signed(dtype) ? -limit : 0;
  uint64_t pattern = 0;
  if (value >= limit) {
    pattern = magnitude_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << magnitude_bits) - 1;
  } else if (value <= lowest) {
    pattern = is_signed(dtype) ? uint64_t{1} << magnitude_bits : 0;
  } else if (!std::isnan(value)) {
    pattern = value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                        : static_cast<uint64_t>(value);
  }
  store_bits(bits(dtype), data, index, pattern);
}

int64_t load_as_int(DType dtype, const void* data, size_t index) {
  CHECK(is_int(dtype) || dtype == DType::b8, "load_as_int: expected integers, got ", dtype);
  const int width = bits(dtype);
  const uint64_t pattern = load_bits(width, data, index);
  if (dtype == DType::b8) return pattern != 0;
  if (!is_signed(dtype)) return static_cast<int64_t>(pattern);
  return static_cast<int64_t>(pattern << (64 - width)) >> (64 - width);
}

void store_from_int(DType dtype, void* data, size_t index, int64_t value) {
  CHECK(is_int(dtype) || dtype == DType::b8, "store_from_int: expected integers, got ", dtype);
  if (dtype == DType::b8) value = value != 0;
  store_bits(bits(dtype), data, index, static_cast<uint64_t>(value));
}

}  // namespace ingot
