// base/dtype.h: the element types of tensors, and exact conversion of the small floating-point
// ones.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

/// An element type; dtype.def is the table.
enum class DType : uint8_t {
#define INGOT_DTYPE(name, bits, kind, onnx) name,
#include "base/dtype.def"
#undef INGOT_DTYPE
};

enum class DTypeKind : uint8_t { kFloat, kSigned, kUnsigned, kBool, kString, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
  DTypeKind kind;
  int onnx;
};

/// The rows of dtype.def, in the order of the enumerators.
inline constexpr std::array kDTypes = {
#define INGOT_DTYPE(name, bits, kind, onnx) \
  DTypeInfo{DType::name, #name, bits, DTypeKind::kind, onnx},
#include "base/dtype.def"
#undef INGOT_DTYPE
};

constexpr const DTypeInfo& info(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)];
}
/// Its name, such as "f32".
constexpr std::string_view to_text(DType dtype) {
  return info(dtype).name;
}
/// Bits of one element; below 8 several share a byte, the first in the low bits.
constexpr int bits(DType dtype) {
  return info(dtype).bits;
}
constexpr bool is_float(DType dtype) {
  return info(dtype).kind == DTypeKind::kFloat;
}
/// Signed or unsigned integers, not bool.
constexpr bool is_int(DType dtype) {
  return info(dtype).kind == DTypeKind::kSigned || info(dtype).kind == DTypeKind::kUnsigned;
}
/// Whether negative numbers exist in it.
constexpr bool is_signed(DType dtype) {
  return dtype != DType::f8e8m0 && (is_float(dtype) || info(dtype).kind == DTypeKind::kSigned);
}
constexpr bool is_complex(DType dtype) {
  return info(dtype).kind == DTypeKind::kComplex;
}
/// Bytes that `count` packed elements take; the last byte of a sub-byte type is filled up.
constexpr uint64_t size_bytes(DType dtype, uint64_t count) {
  const uint64_t width = static_cast<uint64_t>(bits(dtype));
  return width >= 8 ? count * (width / 8) : (count * width + 7) / 8;
}
constexpr int onnx_number(DType dtype) {
  return info(dtype).onnx;
}
/// The dtype of ONNX's TensorProto.DataType `number`, or none (0 is UNDEFINED).
std::optional<DType> dtype_from_onnx(int64_t number);
/// The dtype called `name`, or none.
std::optional<DType> dtype_from_name(std::string_view name);

/// What becomes of a number too large for a format, infinities included.
enum class Overflow : uint8_t {
  kSaturate,  ///< the largest finite number of its sign
  kIeee,      ///< infinity, or NaN in a format without infinities
};

/// How a number between two neighbours is rounded.
enum class Rounding : uint8_t { kNearestEven, kUp, kDown };

/// The value of the floating-point element whose bits are `pattern`; exact for all but nothing,
/// since every format is a subset of fp64. A signalling NaN becomes a quiet one.
double decode_float(DType dtype, uint64_t pattern);

/// The bits of `value` in the floating-point `dtype`. `rounding` other than nearest is for f8e8m0,
/// where kUp means towards larger numbers. f4e2m1 has neither infinity nor NaN: it saturates always
/// and NaN becomes the largest number. Zero and negative numbers are the smallest number in f8e8m0.
/// Sources: IEEE 754, OCP 8-bit Floating Point 1.0, OCP Microscaling 1.0, ONNX Cast-24.
uint64_t encode_float(DType dtype, double value, Overflow overflow = Overflow::kSaturate,
                      Rounding rounding = Rounding::kNearestEven);

/// The value of the fp16 bits; exact.
float f16_to_float(uint16_t pattern);
/// The fp16 bits of `value`, rounded to nearest even; infinity when too large. NaN stays NaN.
uint16_t float_to_f16(float value);
/// The value of the bf16 bits; exact.
inline float bf16_to_float(uint16_t pattern) {
  return std::bit_cast<float>(static_cast<uint32_t>(pattern) << 16);
}
/// The bf16 bits of `value`, rounded to nearest even; infinity when too large. NaN stays NaN.
inline uint16_t float_to_bf16(float value) {
  const uint32_t pattern = std::bit_cast<uint32_t>(value);
  if ((pattern & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(pattern >> 16 | 0x40);
  return static_cast<uint16_t>((pattern + 0x7FFF + (pattern >> 16 & 1)) >> 16);
}

/// Element `index` of packed `data` as fp64: floats, integers (rounded beyond 2^53) and bool.
/// `data` needs no alignment.
double load_as_double(DType dtype, const void* data, size_t index);
/// Writes element `index` of packed `data`: floats round to nearest even (fp16, bf16, fp32 and fp8
/// overflow as IEEE says), integers truncate and saturate (NaN is 0), bool is `value != 0`.
void store_from_double(DType dtype, void* data, size_t index, double value);
/// Element `index` of packed integers or bools; u64 beyond the range of int64 wraps.
int64_t load_as_int(DType dtype, const void* data, size_t index);
/// Writes element `index` of packed integers or bools; the value's low bits are kept.
void store_from_int(DType dtype, void* data, size_t index, int64_t value);

}  // namespace ingot
