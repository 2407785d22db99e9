// codegen/prelude/gpu/gpu_math.h: the arithmetic of the loop IR where it differs from C++'s.
//
// Meaning is that of kernel/expr.h: integer division by zero gives 0, integers wrap around, NaN
// goes through min and max, conversions to integers saturate and turn NaN into 0, conversions to
// narrower floats round to nearest even. It stands on the back end's header.
#pragma once

namespace gpu {

// ---- Storage types

GPU_DEVICE float to_f32(float x) {
  return x;
}
GPU_DEVICE float to_f32(bf16 x) {
  return f32_of(static_cast<u32>(x.bits) << 16);
}

/// Adds half of the last kept place, minus one unless that place is odd: nearest, ties to even.
GPU_DEVICE bf16 round_to_bf16(float x) {
  if (x != x) return {0x7FC0};
  const u32 bits = bits_of(x);
  return {static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}

template <class T>
struct Rounding;
template <>
struct Rounding<f16> {
  static GPU_DEVICE f16 round(float x) { return round_to_f16(x); }
};
template <>
struct Rounding<bf16> {
  static GPU_DEVICE bf16 round(float x) { return round_to_bf16(x); }
};
template <>
struct Rounding<float> {
  static GPU_DEVICE float round(float x) { return x; }
};

/// x as f32, rounded to odd: if inexact, the last bit of the truncated value is set. Rounding that
/// to a format at least two bits narrower is then as good as rounding x itself (Boldo, Melquiond).
GPU_DEVICE float odd_f32(double x) {
  const float y = static_cast<float>(x);
  const double back = static_cast<double>(y);
  if (back == x || x != x) return y;
  u32 bits = bits_of(y);
  if ((bits & 1) == 0) bits = fabs(back) > fabs(x) ? bits - 1 : bits + 1;
  return f32_of(bits);
}

template <class T>
GPU_DEVICE T from_f32(float x) {
  return Rounding<T>::round(x);
}

/// N elements that lie, and are read and written, together.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
};

// ---- Conversions to integers

/// x as an integer of type T in [low, high]; `high_plus_one` is exact in F, high may not be.
template <class T, class F>
GPU_DEVICE T saturate(F x, T low, T high, F high_plus_one) {
  if (x != x) return 0;
  if (x < static_cast<F>(low)) return low;
  if (x >= high_plus_one) return high;
  return static_cast<T>(x);
}

template <class F>
GPU_DEVICE signed char to_i8(F x) {
  return saturate<signed char>(x, -128, 127, F(128));
}
template <class F>
GPU_DEVICE unsigned char to_u8(F x) {
  return saturate<unsigned char>(x, 0, 255, F(256));
}
template <class F>
GPU_DEVICE short to_i16(F x) {
  return saturate<short>(x, -32768, 32767, F(32768));
}
template <class F>
GPU_DEVICE unsigned short to_u16(F x) {
  return saturate<unsigned short>(x, 0, 65535, F(65536));
}
template <class F>
GPU_DEVICE int to_i32(F x) {
  return saturate<int>(x, -2147483647 - 1, 2147483647, F(2147483648.0));
}
template <class F>
GPU_DEVICE u32 to_u32(F x) {
  return saturate<u32>(x, 0, 4294967295u, F(4294967296.0));
}
template <class F>
GPU_DEVICE i64 to_i64(F x) {
  return saturate<i64>(x, -9223372036854775807ll - 1, 9223372036854775807ll,
                       F(9223372036854775808.0));
}
template <class F>
GPU_DEVICE u64 to_u64(F x) {
  return saturate<u64>(x, 0, 18446744073709551615ull, F(18446744073709551616.0));
}

// ---- Integers that wrap around

template <class T>
GPU_DEVICE T add(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b));
}
template <class T>
GPU_DEVICE T sub(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) - static_cast<u64>(b));
}
template <class T>
GPU_DEVICE T mul(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}
template <class T>
GPU_DEVICE T neg(T a) {
  return static_cast<T>(u64(0) - static_cast<u64>(a));
}
template <class T>
GPU_DEVICE T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
GPU_DEVICE T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
GPU_DEVICE T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
GPU_DEVICE T bit_not(T a) {
  return static_cast<T>(~a);
}

/// Amounts below 0, which are huge as u64, or not below the width shift everything out.
template <class T>
GPU_DEVICE T shift_left(T a, T amount) {
  if (static_cast<u64>(amount) >= sizeof(T) * 8) return 0;
  return static_cast<T>(static_cast<u64>(a) << static_cast<int>(amount));
}
template <class T>
GPU_DEVICE T shift_right(T a, T amount) {
  constexpr int kBits = sizeof(T) * 8;
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(1);
  if (static_cast<u64>(amount) < kBits) return static_cast<T>(a >> static_cast<int>(amount));
  return kSigned ? static_cast<T>(a >> (kBits - 1)) : static_cast<T>(0);
}

/// Of floats, for reductions of any type.
GPU_DEVICE float add(float a, float b) {
  return a + b;
}
GPU_DEVICE double add(double a, double b) {
  return a + b;
}
GPU_DEVICE float mul(float a, float b) {
  return a * b;
}
GPU_DEVICE double mul(double a, double b) {
  return a * b;
}

// ---- Division; the functions of integers come first, overloads for floats follow

/// Truncating quotient. The smallest integer divided by -1 wraps around to itself.
template <class T>
GPU_DEVICE T div(T a, T b) {
  if (b == 0) return 0;
  if (b == static_cast<T>(-1) && static_cast<T>(-1) < 0) return static_cast<T>(u64(0) - u64(a));
  return static_cast<T>(a / b);
}
GPU_DEVICE float div(float a, float b) {
  return a / b;
}
GPU_DEVICE double div(double a, double b) {
  return a / b;
}

/// Remainder with the sign of a.
template <class T>
GPU_DEVICE T remainder(T a, T b) {
  if (b == 0 || (b == static_cast<T>(-1) && static_cast<T>(-1) < 0)) return 0;
  return static_cast<T>(a % b);
}
GPU_DEVICE float remainder(float a, float b) {
  return fmod(a, b);
}
GPU_DEVICE double remainder(double a, double b) {
  return fmod(a, b);
}

/// Quotient rounded towards minus infinity.
template <class T>
GPU_DEVICE T floordiv(T a, T b) {
  const T quotient = div(a, b);
  const T rest = remainder(a, b);
  return static_cast<T>(quotient - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0));
}
GPU_DEVICE float floordiv(float a, float b) {
  return floor(a / b);
}
GPU_DEVICE double floordiv(double a, double b) {
  return floor(a / b);
}

/// a - floordiv(a, b) * b: has the sign of b.
template <class T>
GPU_DEVICE T floormod(T a, T b) {
  const T rest = remainder(a, b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
GPU_DEVICE float floormod(float a, float b) {
  const float rest = fmod(a, b);
  if (rest == 0.0f) return b < 0.0f ? -0.0f : 0.0f;
  return (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}
GPU_DEVICE double floormod(double a, double b) {
  const double rest = fmod(a, b);
  if (rest == 0.0) return b < 0.0 ? -0.0 : 0.0;
  return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

// ---- Choice

/// The smaller and the larger; of floats, a NaN on either side wins and -0 is below 0. Equal
/// numbers have equal bits but for the sign of a zero.
template <class T>
GPU_DEVICE T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
GPU_DEVICE T max(T a, T b) {
  return a < b ? b : a;
}
GPU_DEVICE float min(float a, float b) {
  if (a == b) return f32_of(bits_of(a) | bits_of(b));
  return a < b || a != a ? a : b;
}
GPU_DEVICE float max(float a, float b) {
  if (a == b) return f32_of(bits_of(a) & bits_of(b));
  return b < a || a != a ? a : b;
}
GPU_DEVICE double min(double a, double b) {
  if (a == b) return f64_of(bits_of(a) | bits_of(b));
  return a < b || a != a ? a : b;
}
GPU_DEVICE double max(double a, double b) {
  if (a == b) return f64_of(bits_of(a) & bits_of(b));
  return b < a || a != a ? a : b;
}

template <class T>
GPU_DEVICE T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;  // a zero keeps its sign, a NaN stays one
}

template <class T>
GPU_DEVICE T abs(T x) {
  return x < 0 ? static_cast<T>(u64(0) - u64(x)) : x;
}
GPU_DEVICE float abs(float x) {
  return fabs(x);
}
GPU_DEVICE double abs(double x) {
  return fabs(x);
}

GPU_DEVICE bool is_nan(float x) {
  return x != x;
}
GPU_DEVICE bool is_nan(double x) {
  return x != x;
}
GPU_DEVICE bool is_inf(float x) {
  return (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u;
}
GPU_DEVICE bool is_inf(double x) {
  return (bits_of(x) << 1) == 0xFFE0000000000000ull;
}

/// 1 / (1 + e^-x); e^-|x| cannot overflow.
template <class T>
GPU_DEVICE T sigmoid(T x) {
  const T e = exp(-fabs(x));
  const T y = T(1) / (T(1) + e);
  return x < 0 ? e * y : y;
}

/// Integer power by squaring; a negative exponent gives 0 unless the base is 1 or -1.
template <class T>
GPU_DEVICE T power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == static_cast<T>(-1) ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T(0);
  }
  u64 result = 1;
  u64 square = static_cast<u64>(base);
  for (u64 left = static_cast<u64>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}
GPU_DEVICE float power(float base, float exponent) {
  if (exponent == 2.0f) return base * base;
  if (exponent == 3.0f) return base * base * base;
  if (exponent == -1.0f) return 1.0f / base;
  return pow(base, exponent);
}
GPU_DEVICE double power(double base, double exponent) {
  if (exponent == 2.0) return base * base;
  if (exponent == 3.0) return base * base * base;
  if (exponent == -1.0) return 1.0 / base;
  return pow(base, exponent);
}

}  // namespace gpu
