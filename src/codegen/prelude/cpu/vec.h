// codegen/prelude/cpu/vec.h: loads, stores, comparisons, conversions and reductions of vectors.
//
// Pasted behind types.h. Every function has a vector form (W lanes) and a scalar form of the same
// name, so that one generated expression is valid for both. Functions that create a value choose
// by a template argument: `load<W>(p)` gives vec<T>, `load<1>(p)` gives reg<T>; W is the default.
//
//   memory      load<N>(p)            load_partial(p, n, fill = 0)     gather(p, index)
//               store(p, v)           store_partial(p, v, n)           scatter(p, index, v)
//               load_strided<N>(p, stride)                             store_strided(p, v, stride)
//   making      splat<N>(x)           iota<N, T>(first)
//   masks       equal, not_equal, less, less_equal, greater, greater_equal, is_nan, is_inf
//               mask_and, mask_or, mask_xor, mask_not, to_mask(v), from_mask<T>(m), any, all
//               select(m, a, b)
//   arithmetic  fma, min, max, abs, sign, copysign, quotient, modulo, floor_mod
//   convert     convert<To>(v)
//   reductions  reduce_add, reduce_mul, reduce_min, reduce_max
//
// No function touches memory beyond the lanes it is asked for. n of the partial forms is clamped
// to 0..W.
//
// Order of reductions: lanes i and i + W/2 are combined for i < W/2, then i and i + W/4, ... down
// to one lane; op(lower lane, higher lane). The result depends on W alone.
//
// min and max return NaN if either operand is NaN. Of two zeros of different sign they return the
// second operand. Give the constant as the first operand: its NaN test then folds away and
// `max(splat(0.0f), x)` is one instruction.
#ifndef INGOT_PRELUDE_CPU_VEC_H
#define INGOT_PRELUDE_CPU_VEC_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

// F(0), F(1), ... F(W - 1): builds vectors lane by lane without a trip through memory.
#define INGOT_LANES_4(F, i) F(i), F(i + 1), F(i + 2), F(i + 3)
#define INGOT_LANES_8(F) INGOT_LANES_4(F, 0), INGOT_LANES_4(F, 4)
#if INGOT_LEVEL_NUMBER == 4
#define INGOT_EACH_LANE(F) INGOT_LANES_8(F), INGOT_LANES_4(F, 8), INGOT_LANES_4(F, 12)
#elif INGOT_LEVEL_NUMBER == 3
#define INGOT_EACH_LANE(F) INGOT_LANES_8(F)
#else
#define INGOT_EACH_LANE(F) INGOT_LANES_4(F, 0)
#endif

template <i64 N, class T>
struct LanesOf {
  static_assert(N == W || N == 1, "a value has W lanes or is a scalar");
  typedef vec<T> type;
};
template <class T>
struct LanesOf<1, T> {
  typedef reg<T> type;
};
/// N lanes of T: a vector for N = W, a scalar for N = 1.
template <i64 N, class T>
using lanes = typename LanesOf<N, T>::type;

/// The element type of a vector, a scalar's own type.
template <class V>
using element = typename ElementOf<V>::type;

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;
template <class V>
constexpr bool kIsVector = ElementOf<V>::kLanes == W;
template <class T>
constexpr bool kIsFloat = kSame<T, f32> || kSame<T, f64>;
template <class T>
constexpr bool kIsSigned = T(-1) < T(0);

// ---- making vectors ------------------------------------------------------------------------

/// All lanes x.
template <i64 N = W, class T>
INGOT_FN lanes<N, T> splat(T x) {
  if constexpr (N == 1) {
    return x;
  } else {
    return x - vec<T>{};
  }
}

/// Lane i is first + i.
template <i64 N = W, class T>
INGOT_FN lanes<N, T> iota(T first) {
  if constexpr (N == 1) {
    return first;
  } else {
#define INGOT_LANE(i) T(i)
    return first + vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  }
}

template <class T>
struct Halves {
  typename VectorOf<T>::half low, high;
};
/// The two halves of a vector, lanes 0..W/2-1 first.
template <class T>
INGOT_FN Halves<T> halves_of(vec<T> v) {
  return bits_as<Halves<T>>(v);
}
/// The vector made of two halves.
template <class T>
INGOT_FN vec<T> join(Halves<T> h) {
  return bits_as<vec<T>>(h);
}

// ---- conversions ---------------------------------------------------------------------------
//
// Integer to integer wraps; to float rounds to nearest even. Float to i32 and i64 truncates, and
// gives the most negative value for NaN and anything out of range; narrower integers and u32 are
// the low bits of that i32 or i64; u64 of a value in [2^63, 2^64) is exact, of a negative value it
// is the wrapped i64.

template <class To, class From>
INGOT_FN To convert_scalar(From x) {
  if constexpr (kSame<To, f16>) {
    return x;  // not reached: see convert
  } else if constexpr (!kIsFloat<From> || kIsFloat<To>) {
    return To(x);
  } else if constexpr (kSame<To, u64>) {
    if (x >= From(0x1p63)) return x < From(0x1p64) ? u64(x) : u64(1) << 63;
    return x >= From(-0x1p63) ? u64(i64(x)) : u64(1) << 63;
  } else if constexpr (kSame<To, i64> || kSame<To, u32>) {
    return To(x >= From(-0x1p63) && x < From(0x1p63) ? i64(x) : i64(u64(1) << 63));
  } else {
    // Because -2^31 - 1 rounds to -2^31 as f32, both bounds are exact in f32 and f64 alike.
    return To(x > From(-0x1p31) - From(1) && x < From(0x1p31) ? i32(x) : i32(u32(1) << 31));
  }
}

/// Bytes to 32-bit lanes; compilers write sixteen scalar loads for it.
template <class T>
INGOT_FN vi32 widen_bytes(vec<T> v) {
#if INGOT_LEVEL_NUMBER == 1
  return __builtin_convertvector(v, vi32);
#else
  typedef u8 Xmm __attribute__((vector_size(16)));
#if INGOT_LEVEL_NUMBER == 4
  const Xmm bytes = bits_as<Xmm>(v);
#else
  const Xmm bytes = bits_as<Xmm>(Halves<u64>{{bits_as<u64>(v), 0}, {}}.low);
#endif
  vi32 out;
  if constexpr (kIsSigned<T>) {
    asm("vpmovsxbd %1, %0" : "=v"(out) : "v"(bytes));
  } else {
    asm("vpmovzxbd %1, %0" : "=v"(out) : "v"(bytes));
  }
  return out;
#endif
}
