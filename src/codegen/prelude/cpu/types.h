// codegen/prelude/cpu/types.h: element types, vector types and storage conversions of CPU kernels.
//
// This text is pasted in front of every generated translation unit, so it includes nothing. The
// same unit is compiled once per ISA level with only -march differing; the level is read from
// the compiler's own macros and is part of every name (`ingot_cpu::v4::...`), and all functions
// are static, so code of one level can never be merged into another.
//
//   level  -march      W (f32 lanes)   vector registers
//   v1     x86-64      4               16 x 128 bit, no fused multiply-add
//   v3     x86-64-v3   8               16 x 256 bit
//   v4     x86-64-v4   16              32 x 512 bit
//
// Every vector type has W lanes whatever its element: vf32, vf64, vi8 ... vu64 (`vec<T>`). Those
// wider or narrower than a register are legal GCC vectors that the compiler splits. A mask is a
// vi32 with lanes 0 or -1; its scalar counterpart is bool.
//
// f16 and bf16 exist in memory only. Loading one gives f32, storing rounds to nearest even, and
// `convert<f16>(x)` is x rounded to f16 precision but held as f32.
//
// Flags: -std=c++20 -O2 -ffp-contract=off, so that generated `a * b + c` means two roundings (where
// one is wanted the text says `fma(a, b, c)`); -fwrapv, because integers wrap; -fno-math-errno.
#ifndef INGOT_PRELUDE_CPU_TYPES_H
#define INGOT_PRELUDE_CPU_TYPES_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
#define INGOT_LEVEL v4
#define INGOT_LEVEL_NUMBER 4
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define INGOT_LEVEL v3
#define INGOT_LEVEL_NUMBER 3
#else
#define INGOT_LEVEL v1
#define INGOT_LEVEL_NUMBER 1
#endif

/// Opens every prelude function: internal, inlined even at -O0, silent when unused.
#define INGOT_FN [[maybe_unused, gnu::always_inline]] static inline
/// The same for member functions.
#define INGOT_MEMBER [[gnu::always_inline]] inline
/// Goes behind the parameter list of a generated lambda that must be inlined.
#define INGOT_LAMBDA __attribute__((always_inline))
/// Unrolls the next loop completely; its trip count is a compile-time constant.
#define INGOT_UNROLL _Pragma("GCC unroll 64")

// Because vectors wider than a register are only ever passed to inlined functions, how they would
// be passed in a call does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

typedef __INT8_TYPE__ i8;
typedef __INT16_TYPE__ i16;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;

/// IEEE binary16 in memory.
struct f16 {
  u16 bits;
};
/// The upper half of a binary32, in memory.
struct bf16 {
  u16 bits;
};

/// Lanes of every vector type at this level.
constexpr i64 W = INGOT_LEVEL_NUMBER == 4 ? 16 : INGOT_LEVEL_NUMBER == 3 ? 8 : 4;

/// A size known at compile time; converts to i64 wherever a run-time size is expected.
template <i64 kValue>
struct Lit {
  static constexpr i64 value = kValue;
  [[gnu::always_inline]] constexpr operator i64() const { return kValue; }
};

/// Maps an element type to its vector of W lanes, that vector at any address, and half of it.
template <class T>
struct VectorOf;
/// Maps a vector type (or a scalar, to itself) back to its element type.
template <class V>
struct ElementOf {
  typedef V type;
  static constexpr i64 kLanes = 1;
};

// Because an access through a vector may alias its element type and no other, a store leaves
// pointers and sizes that a kernel holds in registers.
#define INGOT_VECTOR_TYPE(T)                                                                       \
  typedef T v##T __attribute__((vector_size(sizeof(T) * W)));                                      \
  typedef T v##T##_unaligned __attribute__((vector_size(sizeof(T) * W), aligned(alignof(T))));     \
  typedef T h##T __attribute__((vector_size(sizeof(T) * W / 2)));                                  \
  typedef T h##T##_unaligned __attribute__((vector_size(sizeof(T) * W / 2), aligned(alignof(T)))); \
  template <>                                                                                      \
  struct VectorOf<T> {                                                                             \
    typedef v##T type;                                                                             \
    typedef v##T##_unaligned unaligned;                                                            \
    typedef h##T half;                                                                             \
    typedef h##T##_unaligned half_unaligned;                                                       \
  };                                                                                               \
  template <>                                                                                      \
  struct ElementOf<v##T> {                                                                         \
    typedef T type;                                                                                \
    static constexpr i64 kLanes = W;                                                               \
  };

INGOT_VECTOR_TYPE(f32)
INGOT_VECTOR_TYPE(f64)
INGOT_VECTOR_TYPE(i8)
INGOT_VECTOR_TYPE(i16)
INGOT_VECTOR_TYPE(i32)
INGOT_VECTOR_TYPE(i64)
INGOT_VECTOR_TYPE(u8)
INGOT_VECTOR_TYPE(u16)
INGOT_VECTOR_TYPE(u32)
INGOT_VECTOR_TYPE(u64)
#undef INGOT_VECTOR_TYPE

/// f16 and bf16 are held as f32 outside memory.
template <>
struct VectorOf<f16> : VectorOf<f32> {};
template <>
struct VectorOf<bf16> : VectorOf<f32> {};

/// W lanes of T: vf32 for f32, f16 and bf16.
template <class T>
using vec = typename VectorOf<T>::type;

/// The type that holds one T outside memory: f32 for f16 and bf16, else T.
template <class T>
struct RegisterOf {
  typedef T type;
};
template <>
struct RegisterOf<f16> {
  typedef f32 type;
};
template <>
struct RegisterOf<bf16> {
  typedef f32 type;
};
template <class T>
using reg = typename RegisterOf<T>::type;

/// What a comparison gives: vi32 of 0 / -1 for vectors, bool for scalars.
typedef vi32 vmask;

// ---- reinterpretation of bits --------------------------------------------------------------

/// The same bits as another type of equal size.
template <class To, class From>
INGOT_FN To bits_as(const From& x) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  return __builtin_bit_cast(To, x);
}

// ---- scalar conversions of f16 and bf16 ----------------------------------------------------

/// The exact f32 value of a f16; a signalling NaN becomes quiet.
INGOT_FN f32 to_f32(f16 x) {
  const u32 sign = (u32(x.bits) & 0x8000u) << 16, magnitude = u32(x.bits) & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const u32 quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return bits_as<f32>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13) | quiet);
  }
  // Because 2^112 rebiases the exponent, a subnormal f16 is normalised by the multiplication.
  const f32 scaled = bits_as<f32>(magnitude << 13) * 0x1p112f;
  return bits_as<f32>(bits_as<u32>(scaled) | sign);
}

/// The exact f32 value of a bf16.
INGOT_FN f32 to_f32(bf16 x) {
  return bits_as<f32>(u32(x.bits) << 16);
}

/// Rounds to nearest even; overflow gives infinity, NaN stays NaN and becomes quiet.
INGOT_FN f16 to_f16(f32 x) {
  const u32 bits = bits_as<u32>(x), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  u32 out;
  if (magnitude > 0x7f800000u) {
    out = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    out = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, the ulp of 0.5f is 2^-24
    out = bits_as<u32>(bits_as<f32>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    out = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return f16{u16(sign | out)};
}

/// Rounds to nearest even; NaN stays NaN and becomes quiet.
INGOT_FN bf16 to_bf16(f32 x) {
  const u32 bits = bits_as<u32>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{u16((bits >> 16) | 0x40u)};
  return bf16{u16((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// ---- vector conversions of f16 and bf16 ----------------------------------------------------

/// f32 values of W f16 bit patterns.
INGOT_FN vf32 f16_bits_to_f32(vu16 x) {
#if INGOT_LEVEL_NUMBER == 4
  vf32 out;
  asm("vcvtph2ps %1, %0" : "=v"(out) : "v"(x));
  return out;
#elif INGOT_LEVEL_NUMBER == 3
  vf32 out;
  asm("vcvtph2ps %1, %0" : "=x"(out) : "x"(x));
  return out;
#else
  const vu32 bits = __builtin_convertvector(x, vu32);
  const vu32 sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  const vf32 scaled = bits_as<vf32>(magnitude << 13) * 0x1p112f;
  const vu32 quiet = bits_as<vu32>(magnitude > 0x7c00u) & 0x400000u;
  const vu32 special = 0x7f800000u | ((magnitude & 0x3ffu) << 13) | quiet;
  const vu32 is_special = bits_as<vu32>(magnitude >= 0x7c00u);
  return bits_as<vf32>((is_special & special) | (~is_special & bits_as<vu32>(scaled)) | sign);
#endif
}

/// W f16 bit patterns, rounded to nearest even.
INGOT_FN vu16 f32_to_f16_bits(vf32 x) {
#if INGOT_LEVEL_NUMBER == 4
  vu16 out;
  asm("vcvtps2ph $0, %1, %0" : "=v"(out) : "v"(x));
  return out;
#elif INGOT_LEVEL_NUMBER == 3
  vu16 out;
  asm("vcvtps2ph $0, %1, %0" : "=x"(out) : "x"(x));
  return out;
#else
  vu16 out = {};
  INGOT_UNROLL for (i64 i = 0; i < W; ++i) out[i] = to_f16(x[i]).bits;
  return out;
#endif
}

/// f32 values of W bf16 bit patterns.
INGOT_FN vf32 bf16_bits_to_f32(vu16 x) {
  return bits_as<vf32>(__builtin_convertvector(x, vu32) << 16);
}

/// W bf16 bit patterns, rounded to nearest even.
INGOT_FN vu16 f32_to_bf16_bits(vf32 x) {
  const vu32 bits = bits_as<vu32>(x);
  const vu32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const vu32 is_nan = bits_as<vu32>((bits & 0x7fffffffu) > 0x7f800000u);
  return __builtin_convertvector((is_nan & ((bits >> 16) | 0x40u)) | (~is_nan & rounded), vu16);
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_TYPES_H
