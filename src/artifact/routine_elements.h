// artifact/routine_elements.h: elements of any type as routines read and write them.
#pragma once

#include "artifact/bind.h"
#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// The value of an IEEE half. By hand: the runtime links no library that might have it.
inline float half_to_float(unsigned short half) {
  const u32 sign = static_cast<u32>(half & 0x8000) << 16, rest = half & 0x7fff;
  u32 bits = rest << 13;
  float value;
  if (rest >= 0x7c00) {  // infinities and NaN
    bits |= 0x7f800000;
    memcpy(&value, &bits, sizeof value);
  } else {
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;  // the exponents' biases differ by 112
    memcpy(&bits, &value, sizeof value);
  }
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}
/// To nearest even; NaN stays NaN.
inline unsigned short float_to_half(float value) {
  u32 bits;
  memcpy(&bits, &value, sizeof bits);
  const u32 sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<unsigned short>(sign | 0x7e00);
  if (bits >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00);  // from 65520 on
  if (bits < 0x38800000) {  // below 2^-14: units of 2^-24, which the addition rounds to
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude += 0.5f;
    memcpy(&bits, &magnitude, sizeof bits);
    return static_cast<unsigned short>(sign | (bits - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return static_cast<unsigned short>(sign | (bits - 0x38000000) >> 13);
}
/// The value of the upper half of an f32, and back.
inline float bfloat_to_float(unsigned short bits) {
  const u32 wide = static_cast<u32>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
/// To nearest even; NaN stays NaN.
inline unsigned short float_to_bfloat(float value) {
  u32 bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline bool is_float_dtype(i32 dtype) {
  return dtype == INGOT_FLOAT32 || dtype == INGOT_FLOAT64 || dtype == INGOT_FLOAT16 ||
         dtype == INGOT_BFLOAT16;
}
inline bool is_signed_dtype(i32 dtype) {
  return dtype == INGOT_INT8 || dtype == INGOT_INT16 || dtype == INGOT_INT32 ||
         dtype == INGOT_INT64;
}

/// Elements of whole bytes, read only.
struct Elements {
  const u8* bytes;
  i32 dtype;

  u64 word(i64 index) const {
    const i64 size = dtype_bits(dtype) / 8;
    u64 word = 0;
    memcpy(&word, bytes + index * size, static_cast<size_t>(size));
    return word;
  }

  bool has_order() const {
    const i32 bits = dtype_bits(dtype);
    return (is_float_dtype(dtype) || is_signed_dtype(dtype) || dtype == INGOT_UINT8 ||
            dtype == INGOT_UINT16 || dtype == INGOT_UINT32 || dtype == INGOT_UINT64 ||
            dtype == INGOT_BOOL) &&
           bits >= 8 && bits <= 64;
  }

  /// A number that grows as the element does: equal for equal elements, NaN above all.
  u64 order(i64 index) const {
    u64 w = word(index);
    const i32 bits = dtype_bits(dtype);
    const u64 sign = u64{1} << (bits - 1);
    const u64 all = sign | (sign - 1);
    if (!is_float_dtype(dtype)) return is_signed_dtype(dtype) ? w ^ sign : w;
    const u64 infinity = dtype == INGOT_FLOAT64   ? u64{0x7ff} << 52
                         : dtype == INGOT_FLOAT32 ? u64{0xff} << 23
                         : dtype == INGOT_FLOAT16 ? u64{0x1f} << 10
                                                  : u64{0xff} << 7;
    if ((w & ~sign) > infinity) return all;
    if (w == sign) w = 0;  // -0 is 0
    return (w & sign) != 0 ? all ^ w : w | sign;
  }

  /// The element as a number.
  double real(i64 index) const {
    const u64 w = word(index);
    switch (dtype) {
      case INGOT_FLOAT32: {
        float value;
        memcpy(&value, &w, sizeof value);
        return static_cast<double>(value);
      }
      case INGOT_FLOAT64: {
        double value;
        memcpy(&value, &w, sizeof value);
        return value;
      }
      case INGOT_FLOAT16:
        return static_cast<double>(half_to_float(static_cast<unsigned short>(w)));
      case INGOT_BFLOAT16:
        return static_cast<double>(bfloat_to_float(static_cast<unsigned short>(w)));
      default:
        return is_signed_dtype(dtype) ? static_cast<double>(integer(index))
                                      : static_cast<double>(w);
    }
  }

  /// An integer element, sign or zero extended.
  i64 integer(i64 index) const {
    const u64 w = word(index);
    if (!is_signed_dtype(dtype)) return static_cast<i64>(w);
    const i32 unused = 64 - dtype_bits(dtype);
    return static_cast<i64>(w << unused) >> unused;
  }
};

}  // namespace ingot::artifact
