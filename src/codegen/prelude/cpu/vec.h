// codegen/prelude/cpu/vec.h: loads, stores, comparisons, conversions and reductions of vectors.
//
// Pasted behind types.h. Every function has a vector form (W lanes) and a scalar form of the same
// name, so that one generated expression is valid for both. Functions that create a value choose
// by a template argument: `load<W>(p)` gives vec<T>, `load<1>(p)` gives reg<T>; W is the default.
//
//   memory      load<N>(p)               load_partial(p, n, fill = 0)
//               store(p, v)              store_partial(p, v, n)
//               load_strided<N>(p, s)    load_strided_partial(p, s, n, fill = 0)
//               store_strided(p, s, v)   store_strided_partial(p, s, v, n)
//               gather(p, index)         gather_partial(p, index, n, fill = 0)
//               scatter(p, index, v)     scatter_partial(p, index, v, n)
//               gather_if(p, index, mask, fill)   scatter_if(p, index, v, mask)
//               load_between(p, s, first, end, fill)
//   making      splat<N>(x)   iota<N>(first)   first_lanes(n)   lanes_between(first, end)
//   masks       equal, not_equal, less, less_equal, greater, greater_equal, is_nan, is_inf
//               mask_and, mask_or, mask_xor, mask_not, to_mask(v), from_mask<T>(m), any, all
//               select(m, a, b)
//   arithmetic  fma, min, max, abs, sign, copysign, div
//               fmod, floordiv, floormod, shift_left, shift_right   (integers; floats: math.h)
//   convert     convert<To>(v)
//   reductions  reduce_add, reduce_mul, reduce_min, reduce_max
//
// The operands of one call are all vectors or all scalars, of one element type; constants are
// made with splat<N>. + - * & | ^ ~ << >> and unary - are the language's own operators on both.
// A bool tensor is u8 in memory: `to_mask(load(p))` and `store(p, from_mask<u8>(m))`.
//
// No function touches memory beyond the lanes it is asked for. The n of the partial forms may be
// any number: below 1 means no lane, W or more means all.
//
// Order of reductions: lanes i and i + W/2 are combined for i < W/2, then i and i + W/4, ... down
// to one lane, as op(lower lane, higher lane). The result depends on W alone.
//
// min and max return NaN if either operand is NaN. Of two zeros of different sign they return the
// second operand. Give the constant as the first operand: its NaN test then folds away and
// `max(splat<W>(0.0f), x)` is one instruction.
#ifndef INGOT_PRELUDE_CPU_VEC_H
#define INGOT_PRELUDE_CPU_VEC_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

// F(0), F(1), ... F(W - 1): builds vectors lane by lane without a trip through memory.
#define INGOT_LANES_4(F, i) F(i), F(i + 1), F(i + 2), F(i + 3)
#if INGOT_LEVEL_NUMBER == 4
#define INGOT_EACH_LANE(F) \
  INGOT_LANES_4(F, 0), INGOT_LANES_4(F, 4), INGOT_LANES_4(F, 8), INGOT_LANES_4(F, 12)
#elif INGOT_LEVEL_NUMBER == 3
#define INGOT_EACH_LANE(F) INGOT_LANES_4(F, 0), INGOT_LANES_4(F, 4)
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

/// The element type of a vector; a scalar's own type.
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
/// Whether W lanes of T need two registers; such vectors are worked on by halves, because
/// compilers turn their comparisons and conversions into scalar code.
template <class T>
constexpr bool kIsWide = sizeof(T) == 8;
/// The mask a comparison of V gives.
template <class V>
struct MaskOf {
  typedef bool type;
};
template <class V>
requires kIsVector<V>
struct MaskOf<V> {
  typedef vmask type;
};
template <class V>
using mask = typename MaskOf<V>::type;

// ---- making vectors ------------------------------------------------------------------------

/// A vector as two halves, lanes 0..W/2-1 first.
template <class T>
struct Halves {
  typename VectorOf<T>::half low, high;
};
template <class T>
INGOT_FN Halves<T> halves_of(const vec<T>& v) {
  return bits_as<Halves<T>>(v);
}
template <class T>
INGOT_FN vec<T> join(const Halves<T>& h) {
  return bits_as<vec<T>>(h);
}

/// All lanes x.
template <i64 N = W, class T>
INGOT_FN lanes<N, T> splat(T x) {
  if constexpr (N == 1) {
    return x;
  } else {
    // Because x + 0 would lose the sign of -0, 0 is taken away. What takes two registers is made of
    // halves: g++ would put such a vector together in memory, lane by lane.
    typedef typename VectorOf<T>::half Half;
    if constexpr (sizeof(T) == 8) return join<T>({x - Half{}, x - Half{}});
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
    return splat<W>(first) + vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  }
}

/// The mask whose lanes below n are set.
INGOT_FN vmask first_lanes(i64 n) {
  const i32 count = n < 0 ? 0 : n > W ? i32(W) : i32(n);
  return iota<W, i32>(0) < splat<W>(count);
}
/// The mask of the lanes first <= i < end.
INGOT_FN vmask lanes_between(i64 first, i64 end) {
  return first_lanes(end) & ~first_lanes(first);
}

// ---- conversions ---------------------------------------------------------------------------
//
// Integer to integer wraps; anything to float rounds to nearest even. Float to integer truncates
// and saturates at the ends of the range; NaN becomes 0.

/// The limits of an integer type.
template <class T>
constexpr T kLowest = kIsSigned<T> ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0);
template <class T>
constexpr T kHighest = T(~u64(kLowest<T>));
/// The smallest power of two above every T.
template <class T>
constexpr f64 kAbove = 2.0 * f64(u64(1) << (8 * sizeof(T) - 1 - kIsSigned<T>));

template <class To, class From>
INGOT_FN To convert_scalar(From x) {
  if constexpr (!kIsFloat<From> || kIsFloat<To>) {
    return To(x);
  } else {
    if (x != x) return To(0);
    if (x >= From(kAbove<To>)) return kHighest<To>;
    return x <= From(kLowest<To>) ? kLowest<To> : To(x);
  }
}

/// Bytes to 32-bit lanes; left alone, compilers write a scalar load per lane.
template <class T>
INGOT_FN vi32 widen_bytes(vec<T> v) {
#if INGOT_LEVEL_NUMBER == 1
  return __builtin_convertvector(v, vi32);
#else
  typedef u64 Xmm __attribute__((vector_size(16)));
#if INGOT_LEVEL_NUMBER == 4
  const Xmm bytes = bits_as<Xmm>(v);
#else
  const Xmm bytes = {bits_as<u64>(v), 0};
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

/// The low byte of every 32-bit lane.
template <class T>
INGOT_FN vec<T> narrow_to_bytes(vi32 v) {
#if INGOT_LEVEL_NUMBER == 3
  return __builtin_convertvector(__builtin_convertvector(v, vi16), vec<T>);
#else
  return __builtin_convertvector(v, vec<T>);
#endif
}

template <class To, class From>
INGOT_FN vec<To> convert_vector(const vec<From>& v);

/// Floats to integers that i32 holds (To is i32 or narrower): clamps, then truncates.
template <class To>
INGOT_FN vec<To> saturate(const vf32& v) {
  if constexpr (kSame<To, i32>) {
    // Because 2^31 - 1 is no f32, the upper end is chosen after the conversion.
    const vf32 number = (v == v) ? v : splat<W>(0.0f);
    const vf32 low = (number > -0x1p31f) ? number : splat<W>(-0x1p31f);
    const vi32 out = __builtin_convertvector((low < 0x1p31f) ? low : splat<W>(0.0f), vi32);
    return (v >= 0x1p31f) ? splat<W>(kHighest<i32>) : out;
  } else {
    const vf32 low = (v > f32(kLowest<To>)) ? v : splat<W>(f32(kLowest<To>));
    const vf32 inside = (low < f32(kHighest<To>)) ? low : splat<W>(f32(kHighest<To>));
    const vf32 number = (v == v) ? inside : splat<W>(0.0f);
    return convert_vector<To, i32>(__builtin_convertvector(number, vi32));
  }
}
template <class To, class From>
INGOT_FN vec<To> convert_vector(const vec<From>& v) {
  if constexpr (kSame<To, From>) {
    return v;
  } else if constexpr (sizeof(From) == 1 && sizeof(To) > 1) {
    return convert_vector<To, i32>(widen_bytes<From>(v));
  } else if constexpr (sizeof(From) == 2 && (sizeof(To) == 8 || kIsFloat<To>)) {
    return convert_vector<To, i32>(__builtin_convertvector(v, vi32));
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    if constexpr (kSame<From, f32> && (kSame<To, i32> || sizeof(To) < 4)) {
      return saturate<To>(v);
    } else {
#define INGOT_LANE(i) convert_scalar<To>(From(v[i]))
      return vec<To>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
    }
  } else if constexpr (sizeof(To) == 1 && sizeof(From) > 1 && !kIsWide<From>) {
    return narrow_to_bytes<To>(convert_vector<i32, From>(v));
  } else if constexpr (kIsWide<From> && sizeof(To) < 4) {
    return convert_vector<To, i32>(convert_vector<i32, From>(v));
  } else if constexpr (kIsWide<From> || kIsWide<To>) {
    const Halves<From> h = halves_of<From>(v);
    typedef typename VectorOf<To>::half Half;
    return join<To>({__builtin_convertvector(h.low, Half), __builtin_convertvector(h.high, Half)});
  } else {
    return __builtin_convertvector(v, vec<To>);
  }
}

/// Rounds to the precision of f16 or bf16, kept as f32.
template <class To>
INGOT_FN vf32 round_to(vf32 v) {
  if constexpr (kSame<To, f16>) {
    return f16_bits_to_f32(f32_to_f16_bits(v));
  } else {
    return bf16_bits_to_f32(f32_to_bf16_bits(v));
  }
}
template <class To>
INGOT_FN f32 round_to(f32 x) {
  if constexpr (kSame<To, f16>) {
    return to_f32(to_f16(x));
  } else {
    return to_f32(to_bf16(x));
  }
}

/// The value as another element type; To = f16 or bf16 gives f32 of that precision.
template <class To, class V>
INGOT_FN auto convert(const V& v) {
  if constexpr (kSame<To, f16> || kSame<To, bf16>) {
    return round_to<To>(convert<f32>(v));
  } else if constexpr (kIsVector<V>) {
    return convert_vector<To, element<V>>(v);
  } else {
    return convert_scalar<To>(v);
  }
}

// ---- masks ---------------------------------------------------------------------------------

// A comparison gives lanes of the operands' width; masks are 32 bits wide.
#define INGOT_COMPARISON(name, op)                                           \
  template <class V>                                                         \
  INGOT_FN mask<V> name(const V& a, const V& b) {                            \
    if constexpr (!kIsVector<V>) {                                           \
      return a op b;                                                         \
    } else if constexpr (kIsWide<element<V>>) {                              \
      const auto x = halves_of<element<V>>(a), y = halves_of<element<V>>(b); \
      return join<i32>({__builtin_convertvector(x.low op y.low, hi32),       \
                        __builtin_convertvector(x.high op y.high, hi32)});   \
    } else if constexpr (sizeof(element<V>) == 4) {                          \
      return a op b;                                                         \
    } else {                                                                 \
      return convert<i32>(a) op convert<i32>(b);                             \
    }                                                                        \
  }
INGOT_COMPARISON(equal, ==)
INGOT_COMPARISON(not_equal, !=)
INGOT_COMPARISON(less, <)
INGOT_COMPARISON(less_equal, <=)
INGOT_COMPARISON(greater, >)
INGOT_COMPARISON(greater_equal, >=)
#undef INGOT_COMPARISON

INGOT_FN vmask mask_and(vmask a, vmask b) {
  return a & b;
}
INGOT_FN bool mask_and(bool a, bool b) {
  return a & b;
}
INGOT_FN vmask mask_or(vmask a, vmask b) {
  return a | b;
}
INGOT_FN bool mask_or(bool a, bool b) {
  return a | b;
}
INGOT_FN vmask mask_xor(vmask a, vmask b) {
  return a ^ b;
}
INGOT_FN bool mask_xor(bool a, bool b) {
  return a != b;
}
INGOT_FN vmask mask_not(vmask a) {
  return ~a;
}
INGOT_FN bool mask_not(bool a) {
  return !a;
}

/// Where v is not zero (NaN is not zero).
template <class V>
INGOT_FN mask<V> to_mask(const V& v) {
  return not_equal(v, V{});
}

/// 1 where the mask is set, else 0.
template <class T>
INGOT_FN vec<T> from_mask(vmask m) {
  return convert<T>(m & 1);
}
template <class T>
INGOT_FN reg<T> from_mask(bool m) {
  return reg<T>(m ? 1 : 0);
}

/// a where the mask is set, else b.
template <class V>
requires kIsVector<V> INGOT_FN V select(vmask m, const V& a, const V& b) {
  if constexpr (sizeof(element<V>) == 4) {
    return m ? a : b;
  } else if constexpr (kIsWide<element<V>>) {
    const vi64 chosen = convert<i64>(m);
    return bits_as<V>((chosen & bits_as<vi64>(a)) | (~chosen & bits_as<vi64>(b)));
  } else {
    typedef vec<element<V>> Bits;
    const Bits chosen = convert<element<V>>(m);
    return (chosen & a) | (~chosen & b);
  }
}
template <class T>
INGOT_FN T select(bool m, T a, T b) {
  return m ? a : b;
}

template <class V>
INGOT_FN mask<V> is_nan(const V& v) {
  return not_equal(v, v);
}

INGOT_FN bool any(bool m) {
  return m;
}
INGOT_FN bool all(bool m) {
  return m;
}
/// Whether any lane is set.
INGOT_FN bool any(vmask m) {
#if INGOT_LEVEL_NUMBER == 4
  u32 bits;
  asm("vpmovd2m %1, %%k1\n\tkmovw %%k1, %0" : "=r"(bits) : "v"(m) : "k1");
  return bits != 0;
#elif INGOT_LEVEL_NUMBER == 3
  return __builtin_ia32_movmskps256(bits_as<vf32>(m)) != 0;
#else
  return __builtin_ia32_movmskps(bits_as<vf32>(m)) != 0;
#endif
}
/// Whether all lanes are set.
INGOT_FN bool all(vmask m) {
  return !any(~m);
}

// ---- arithmetic ----------------------------------------------------------------------------

/// a * b + c: one rounding at v3 and v4, two at v1.
INGOT_FN vf32 fma(vf32 a, vf32 b, vf32 c) {
#if INGOT_LEVEL_NUMBER == 4
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif INGOT_LEVEL_NUMBER == 3
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}
INGOT_FN hf64 fma(hf64 a, hf64 b, hf64 c) {
#if INGOT_LEVEL_NUMBER == 4
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
#elif INGOT_LEVEL_NUMBER == 3
  return __builtin_ia32_vfmaddpd256(a, b, c);
#else
  return a * b + c;
#endif
}
INGOT_FN f32 fma(f32 a, f32 b, f32 c) {
#if INGOT_LEVEL_NUMBER == 1
  return a * b + c;
#else
  return __builtin_fmaf(a, b, c);
#endif
}
INGOT_FN f64 fma(f64 a, f64 b, f64 c) {
#if INGOT_LEVEL_NUMBER == 1
  return a * b + c;
#else
  return __builtin_fma(a, b, c);
#endif
}
INGOT_FN vf64 fma(const vf64& a, const vf64& b, const vf64& c) {
  const Halves<f64> x = halves_of<f64>(a), y = halves_of<f64>(b), z = halves_of<f64>(c);
  return join<f64>({fma(x.low, y.low, z.low), fma(x.high, y.high, z.high)});
}

/// acc = a * b + acc. Inline assembly, because compilers copy and reload accumulators otherwise.
INGOT_FN void fma_into(vf32& acc, vf32 a, vf32 b) {
#if INGOT_LEVEL_NUMBER == 1
  acc += a * b;
#else
  asm("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
#endif
}

// Because MAXPS and MINPS return their second operand when either is NaN, only the first needs a
// test of its own.
INGOT_FN vf32 max(vf32 a, vf32 b) {
  vf32 m;
#if INGOT_LEVEL_NUMBER == 1
  m = a;
  asm("maxps %1, %0" : "+x"(m) : "x"(b));
#else
  asm("vmaxps %2, %1, %0" : "=v"(m) : "v"(a), "v"(b));
#endif
  return a != a ? a : m;
}
INGOT_FN vf32 min(vf32 a, vf32 b) {
  vf32 m;
#if INGOT_LEVEL_NUMBER == 1
  m = a;
  asm("minps %1, %0" : "+x"(m) : "x"(b));
#else
  asm("vminps %2, %1, %0" : "=v"(m) : "v"(a), "v"(b));
#endif
  return a != a ? a : m;
}

template <class V>
requires(!kSame<V, vf32>) INGOT_FN V max(const V& a, const V& b) {
  const V m = select(greater(a, b), a, b);
  if constexpr (kIsFloat<element<V>>) return select(is_nan(a), a, m);
  return m;
}
template <class V>
requires(!kSame<V, vf32>) INGOT_FN V min(const V& a, const V& b) {
  const V m = select(less(a, b), a, b);
  if constexpr (kIsFloat<element<V>>) return select(is_nan(a), a, m);
  return m;
}

/// The absolute value; of the most negative integer, itself.
template <class V>
INGOT_FN V abs(const V& v) {
  typedef element<V> T;
  if constexpr (kSame<T, f32> && kIsVector<V>) {
    return bits_as<V>(bits_as<vi32>(v) & 0x7fffffff);
  } else if constexpr (kSame<T, f64> && kIsVector<V>) {
    return bits_as<V>(bits_as<vi64>(v) & i64(~u64(0) >> 1));
  } else if constexpr (kSame<T, f32>) {
    return __builtin_fabsf(v);
  } else if constexpr (kSame<T, f64>) {
    return __builtin_fabs(v);
  } else if constexpr (!kIsSigned<T>) {
    return v;
  } else if constexpr (kIsVector<V>) {
    return select(less(v, V{}), -v, v);
  } else {
    return v < 0 ? T(0 - u64(v)) : v;
  }
}

/// The magnitude of the first with the sign bit of the second.
INGOT_FN vf32 copysign(vf32 magnitude, vf32 sign) {
  const vi32 bit = splat<W>(i32(u32(1) << 31));
  return bits_as<vf32>((bits_as<vi32>(magnitude) & ~bit) | (bits_as<vi32>(sign) & bit));
}
INGOT_FN vf64 copysign(const vf64& magnitude, const vf64& sign) {
  const vi64 bit = splat<W>(i64(u64(1) << 63));
  return bits_as<vf64>((bits_as<vi64>(magnitude) & ~bit) | (bits_as<vi64>(sign) & bit));
}
INGOT_FN f32 copysign(f32 magnitude, f32 sign) {
  return __builtin_copysignf(magnitude, sign);
}
INGOT_FN f64 copysign(f64 magnitude, f64 sign) {
  return __builtin_copysign(magnitude, sign);
}

/// -1, 0 or 1; zero and NaN are returned as they are.
template <class V>
INGOT_FN V sign(const V& v) {
  typedef element<V> T;
  constexpr i64 N = ElementOf<V>::kLanes;
  const V above = select(greater(v, V{}), splat<N>(T(1)), v);
  if constexpr (kIsSigned<T>) return select(less(v, V{}), splat<N>(T(-1)), above);
  return above;
}

template <class V>
INGOT_FN mask<V> is_inf(const V& v) {
  typedef element<V> T;
  return equal(abs(v), splat<ElementOf<V>::kLanes>(T(__builtin_inf())));
}

// Integer division. x / 0 and x mod 0 are 0; the most negative value by -1 wraps.

/// Towards zero; floats: IEEE division.
template <class T>
INGOT_FN T div_scalar(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a / b;
  } else {
    if (b == 0) return T(0);
    if constexpr (kIsSigned<T>) {
      if (b == T(-1)) return T(0 - u64(a));
    }
    return T(a / b);
  }
}
/// Integers only: the sign of the dividend. (Floats: math.h.)
template <class T>
INGOT_FN T fmod_scalar(T a, T b) {
  if (b == 0) return T(0);
  if constexpr (kIsSigned<T>) {
    if (b == T(-1)) return T(0);
  }
  return T(a % b);
}
/// Integers only: rounds towards minus infinity.
template <class T>
INGOT_FN T floordiv_scalar(T a, T b) {
  const T q = div_scalar(a, b);
  if constexpr (kIsSigned<T>) {
    if (fmod_scalar(a, b) != 0 && (a < 0) != (b < 0)) return T(q - 1);
  }
  return q;
}
/// Integers only: the sign of the divisor.
template <class T>
INGOT_FN T floormod_scalar(T a, T b) {
  const T r = fmod_scalar(a, b);
  if constexpr (kIsSigned<T>) {
    if (r != 0 && (r < 0) != (b < 0)) return T(r + b);
  }
  return r;
}
/// Counts below 0 or of all bits and more shift everything out.
template <class T>
INGOT_FN T shift_left_scalar(T a, T count) {
  return u64(count) < 8 * sizeof(T) ? T(u64(a) << count) : T(0);
}
/// Signed types keep their sign: all bits shifted out is 0 or -1.
template <class T>
INGOT_FN T shift_right_scalar(T a, T count) {
  if (u64(count) < 8 * sizeof(T)) return T(a >> count);
  return a < 0 ? T(-1) : T(0);
}

#define INGOT_BY_LANE(name, condition)                          \
  template <class V>                                            \
  requires(condition) INGOT_FN V name(const V& a, const V& b) { \
    if constexpr (kIsVector<V>) {                               \
      return V{INGOT_EACH_LANE(INGOT_LANE_OF_##name)};          \
    } else {                                                    \
      return name##_scalar(a, b);                               \
    }                                                           \
  }
#define INGOT_LANE_OF_fmod(i) fmod_scalar<element<V>>(a[i], b[i])
#define INGOT_LANE_OF_floordiv(i) floordiv_scalar<element<V>>(a[i], b[i])
#define INGOT_LANE_OF_floormod(i) floormod_scalar<element<V>>(a[i], b[i])
#define INGOT_LANE_OF_shift_left(i) shift_left_scalar<element<V>>(a[i], b[i])
#define INGOT_LANE_OF_shift_right(i) shift_right_scalar<element<V>>(a[i], b[i])
INGOT_BY_LANE(fmod, !kIsFloat<element<V>>)
INGOT_BY_LANE(floordiv, !kIsFloat<element<V>>)
INGOT_BY_LANE(floormod, !kIsFloat<element<V>>)
INGOT_BY_LANE(shift_left, !kIsFloat<element<V>>)
INGOT_BY_LANE(shift_right, !kIsFloat<element<V>>)
#undef INGOT_LANE_OF_fmod
#undef INGOT_LANE_OF_floordiv
#undef INGOT_LANE_OF_floormod
#undef INGOT_LANE_OF_shift_left
#undef INGOT_LANE_OF_shift_right
#undef INGOT_BY_LANE

/// Towards zero for integers; IEEE for floats.
template <class V>
INGOT_FN V div(const V& a, const V& b) {
  if constexpr (kIsVector<V> && !kIsFloat<element<V>>) {
#define INGOT_LANE(i) div_scalar<element<V>>(a[i], b[i])
    return V{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  } else if constexpr (kIsVector<V>) {
    return a / b;
  } else {
    return div_scalar(a, b);
  }
}

// ---- reductions ----------------------------------------------------------------------------

/// Lane i becomes lane i + kBy, for i + kBy < W; the other lanes are unspecified.
template <i64 kBy, class V>
INGOT_FN V shift_down(V v) {
#define INGOT_LANE(i) (i + kBy) % W
  return __builtin_shufflevector(v, v, INGOT_EACH_LANE(INGOT_LANE));
#undef INGOT_LANE
}

#define INGOT_REDUCTION(name, combine)                                       \
  template <class V>                                                         \
  INGOT_FN element<V> name(const V& v) {                                     \
    typedef element<V> T;                                                    \
    if constexpr (!kIsVector<V>) {                                           \
      return v;                                                              \
    } else if constexpr (sizeof(T) == 4) {                                   \
      V x = v;                                                               \
      if constexpr (W == 16) x = combine(x, shift_down<8>(x));               \
      if constexpr (W >= 8) x = combine(x, shift_down<4>(x));                \
      x = combine(x, shift_down<2>(x));                                      \
      x = combine(x, shift_down<1>(x));                                      \
      return x[0];                                                           \
    } else {                                                                 \
      T x[W];                                                                \
      INGOT_UNROLL for (i64 i = 0; i < W; ++i) x[i] = v[i];                  \
      INGOT_UNROLL for (i64 half = W / 2; half > 0; half /= 2) {             \
        for (i64 i = 0; i < half; ++i) x[i] = T(combine(x[i], x[i + half])); \
      }                                                                      \
      return x[0];                                                           \
    }                                                                        \
  }
/// Scalar integers wrap.
template <class V>
INGOT_FN V add(const V& a, const V& b) {
  if constexpr (kIsVector<V> || kIsFloat<V>) {
    return a + b;
  } else {
    return V(u64(a) + u64(b));
  }
}
template <class V>
INGOT_FN V multiply(const V& a, const V& b) {
  if constexpr (kIsVector<V> || kIsFloat<V>) {
    return a * b;
  } else {
    return V(u64(a) * u64(b));
  }
}
INGOT_REDUCTION(reduce_add, add)
INGOT_REDUCTION(reduce_mul, multiply)
INGOT_REDUCTION(reduce_max, max)
INGOT_REDUCTION(reduce_min, min)
#undef INGOT_REDUCTION

// ---- memory --------------------------------------------------------------------------------

/// N elements at p, which needs no alignment beyond the element's own.
template <i64 N = W, class T>
INGOT_FN lanes<N, T> load(const T* p) {
  if constexpr (N == 1 && (kSame<T, f16> || kSame<T, bf16>)) {
    return to_f32(*p);
  } else if constexpr (N == 1) {
    return *p;
  } else if constexpr (kSame<T, f16>) {
    return f16_bits_to_f32(*reinterpret_cast<const vu16_unaligned*>(p));
  } else if constexpr (kSame<T, bf16>) {
    return bf16_bits_to_f32(*reinterpret_cast<const vu16_unaligned*>(p));
  } else {
    return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(p);
  }
}

/// Writes a vector or a scalar.
template <class T>
INGOT_FN void store(T* p, const vec<T>& v) {
  if constexpr (kSame<T, f16>) {
    *reinterpret_cast<vu16_unaligned*>(p) = f32_to_f16_bits(v);
  } else if constexpr (kSame<T, bf16>) {
    *reinterpret_cast<vu16_unaligned*>(p) = f32_to_bf16_bits(v);
  } else {
    *reinterpret_cast<typename VectorOf<T>::unaligned*>(p) = v;
  }
}
template <class T>
INGOT_FN void store(T* p, reg<T> x) {
  if constexpr (kSame<T, f16>) {
    *p = to_f16(x);
  } else if constexpr (kSame<T, bf16>) {
    *p = to_bf16(x);
  } else {
    *p = x;
  }
}

#if INGOT_LEVEL_NUMBER == 4
/// The mask register whose bits below n are set.
INGOT_FN u16 mask_bits(i64 n) {
  return n <= 0 ? u16(0) : n >= 16 ? u16(0xffff) : u16((1u << n) - 1);
}
#endif

/// The first n elements at p, zero in the other lanes.
template <class T>
INGOT_FN vec<T> load_partial(const T* p, i64 n) {
  if (n >= W) return load<W>(p);
  if constexpr (kSame<T, f16>) {
    return f16_bits_to_f32(load_partial(reinterpret_cast<const u16*>(p), n));
  } else if constexpr (kSame<T, bf16>) {
    return bf16_bits_to_f32(load_partial(reinterpret_cast<const u16*>(p), n));
  } else {
    typedef typename VectorOf<T>::unaligned Unaligned;
    typedef typename VectorOf<T>::half Half;
    [[maybe_unused]] const Unaligned& source = *reinterpret_cast<const Unaligned*>(p);
    [[maybe_unused]] vec<T> out;
    [[maybe_unused]] Half low, high;
#if INGOT_LEVEL_NUMBER == 4
    if constexpr (sizeof(T) == 4) {
      asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(out) : "m"(source), "Yk"(mask_bits(n)));
      return out;
    } else if constexpr (sizeof(T) == 8) {
      typedef typename VectorOf<T>::half_unaligned HalfUnaligned;
      const HalfUnaligned& source_low = *reinterpret_cast<const HalfUnaligned*>(p);
      const HalfUnaligned& source_high = *reinterpret_cast<const HalfUnaligned*>(p + W / 2);
      const u8 mask_low = u8(mask_bits(n)), mask_high = u8(mask_bits(n - 8));
      asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(low) : "m"(source_low), "Yk"(mask_low));
      asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(high) : "m"(source_high), "Yk"(mask_high));
      return join<T>({low, high});
    } else if constexpr (sizeof(T) == 2) {
      asm("vmovdqu16 %1, %0%{%2%}%{z%}" : "=v"(out) : "m"(source), "Yk"(mask_bits(n)));
      return out;
    } else {
      asm("vmovdqu8 %1, %0%{%2%}%{z%}" : "=v"(out) : "m"(source), "Yk"(mask_bits(n)));
      return out;
    }
#else
#if INGOT_LEVEL_NUMBER == 3
    if constexpr (sizeof(T) == 4) {
      asm("vmaskmovps %1, %2, %0" : "=x"(out) : "m"(source), "x"(first_lanes(n)));
      return out;
    } else if constexpr (sizeof(T) == 8) {
      typedef typename VectorOf<T>::half_unaligned HalfUnaligned;
      const HalfUnaligned& source_low = *reinterpret_cast<const HalfUnaligned*>(p);
      const HalfUnaligned& source_high = *reinterpret_cast<const HalfUnaligned*>(p + W / 2);
      const Halves<i64> m = halves_of<i64>(convert<i64>(first_lanes(n)));
      asm("vmaskmovpd %1, %2, %0" : "=x"(low) : "m"(source_low), "x"(m.low));
      asm("vmaskmovpd %1, %2, %0" : "=x"(high) : "m"(source_high), "x"(m.high));
      return join<T>({low, high});
    }
#endif
    T buffer[W] = {};
    for (i64 i = 0; i < n; ++i) buffer[i] = p[i];
    return load<W>(static_cast<const T*>(buffer));
#endif
  }
}
/// The first n elements at p, `fill` in the other lanes.
template <class T>
INGOT_FN vec<T> load_partial(const T* p, i64 n, reg<T> fill) {
  return select(first_lanes(n), load_partial(p, n), splat<W>(fill));
}

/// Writes the first n lanes.
template <class T>
INGOT_FN void store_partial(T* p, const vec<T>& v, i64 n) {
  if (n >= W) return store(p, v);
  if constexpr (kSame<T, f16>) {
    store_partial(reinterpret_cast<u16*>(p), f32_to_f16_bits(v), n);
  } else if constexpr (kSame<T, bf16>) {
    store_partial(reinterpret_cast<u16*>(p), f32_to_bf16_bits(v), n);
  } else {
    typedef typename VectorOf<T>::unaligned Unaligned;
    [[maybe_unused]] Unaligned& target = *reinterpret_cast<Unaligned*>(p);
#if INGOT_LEVEL_NUMBER == 4
    if constexpr (sizeof(T) == 4) {
      asm("vmovups %1, %0%{%2%}" : "+m"(target) : "v"(v), "Yk"(mask_bits(n)));
    } else if constexpr (sizeof(T) == 8) {
      typedef typename VectorOf<T>::half_unaligned HalfUnaligned;
      HalfUnaligned& target_low = *reinterpret_cast<HalfUnaligned*>(p);
      HalfUnaligned& target_high = *reinterpret_cast<HalfUnaligned*>(p + W / 2);
      const u8 mask_low = u8(mask_bits(n)), mask_high = u8(mask_bits(n - 8));
      const Halves<T> h = halves_of<T>(v);
      asm("vmovupd %1, %0%{%2%}" : "+m"(target_low) : "v"(h.low), "Yk"(mask_low));
      asm("vmovupd %1, %0%{%2%}" : "+m"(target_high) : "v"(h.high), "Yk"(mask_high));
    } else if constexpr (sizeof(T) == 2) {
      asm("vmovdqu16 %1, %0%{%2%}" : "+m"(target) : "v"(v), "Yk"(mask_bits(n)));
    } else {
      asm("vmovdqu8 %1, %0%{%2%}" : "+m"(target) : "v"(v), "Yk"(mask_bits(n)));
    }
#else
#if INGOT_LEVEL_NUMBER == 3
    if constexpr (sizeof(T) == 4) {
      asm("vmaskmovps %1, %2, %0" : "+m"(target) : "x"(v), "x"(first_lanes(n)));
      return;
    } else if constexpr (sizeof(T) == 8) {
      typedef typename VectorOf<T>::half_unaligned HalfUnaligned;
      HalfUnaligned& target_low = *reinterpret_cast<HalfUnaligned*>(p);
      HalfUnaligned& target_high = *reinterpret_cast<HalfUnaligned*>(p + W / 2);
      const Halves<i64> m = halves_of<i64>(convert<i64>(first_lanes(n)));
      const Halves<T> h = halves_of<T>(v);
      asm("vmaskmovpd %1, %2, %0" : "+m"(target_low) : "x"(h.low), "x"(m.low));
      asm("vmaskmovpd %1, %2, %0" : "+m"(target_high) : "x"(h.high), "x"(m.high));
      return;
    }
#endif
    T buffer[W];
    store(static_cast<T*>(buffer), v);
    for (i64 i = 0; i < n; ++i) p[i] = buffer[i];
#endif
  }
}

/// N elements at p, p + stride, p + 2 * stride ... (stride in elements).
template <i64 N = W, class T>
INGOT_FN lanes<N, T> load_strided(const T* p, i64 stride) {
  if constexpr (N == 1) {
    return load<1>(p);
  } else {
#define INGOT_LANE(i) load<1>(p + (i)*stride)
    return vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  }
}
template <class T>
INGOT_FN vec<T> load_strided_partial(const T* p, i64 stride, i64 n, reg<T> fill = 0) {
  vec<T> out = splat<W>(fill);
  for (i64 i = 0; i < W && i < n; ++i) out[i] = load<1>(p + i * stride);
  return out;
}
/// p[i * stride] in the lanes first <= i < end, `fill` (untouched memory) in the others.
template <class T>
INGOT_FN vec<T> load_between(const T* p, i64 stride, i64 first, i64 end, reg<T> fill) {
  if (first <= 0 && end >= W) return stride == 1 ? load<W>(p) : load_strided<W>(p, stride);
  if (first <= 0 && stride == 1 && end > 0) return load_partial(p, end, fill);
  vec<T> out = splat<W>(fill);
  for (i64 i = first > 0 ? first : 0; i < W && i < end; ++i) out[i] = load<1>(p + i * stride);
  return out;
}
template <class T>
INGOT_FN void store_strided_partial(T* p, i64 stride, const vec<T>& v, i64 n) {
  for (i64 i = 0; i < W && i < n; ++i) store(p + i * stride, reg<T>(v[i]));
}
template <class T>
INGOT_FN void store_strided(T* p, i64 stride, const vec<T>& v) {
  INGOT_UNROLL for (i64 i = 0; i < W; ++i) store(p + i * stride, reg<T>(v[i]));
}
template <class T>
INGOT_FN void store_strided(T* p, i64, reg<T> x) {
  store(p, x);
}

/// p[index] by lanes; index is a vector (or a scalar) of any integer type.
template <class T, class I>
requires kIsVector<I> INGOT_FN vec<T> gather(const T* p, const I& index) {
#define INGOT_LANE(i) load<1>(p + index[i])
  return vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
}
template <class T, class I>
requires(!kIsVector<I>) INGOT_FN reg<T> gather(const T* p, I index) {
  return load<1>(p + index);
}
template <class T, class I>
INGOT_FN vec<T> gather_partial(const T* p, const I& index, i64 n, reg<T> fill = 0) {
  vec<T> out = splat<W>(fill);
  for (i64 i = 0; i < W && i < n; ++i) out[i] = load<1>(p + index[i]);
  return out;
}
/// p[index] in the lanes of m, `fill` (untouched memory) in the others.
template <class T, class I>
INGOT_FN vec<T> gather_if(const T* p, const I& index, vmask m, reg<T> fill) {
  // The others read a zero of this function's own, because choosing a pointer is no branch.
  const T none = {};
#define INGOT_LANE(i) load<1>(m[i] ? p + index[i] : &none)
  return select(m, vec<T>{INGOT_EACH_LANE(INGOT_LANE)}, splat<W>(fill));
#undef INGOT_LANE
}
/// Writes the lanes of m to p[index], lower lanes first.
template <class T, class I>
INGOT_FN void scatter_if(T* p, const I& index, const vec<T>& v, vmask m) {
  for (i64 i = 0; i < W; ++i) {
    if (m[i]) store(p + index[i], reg<T>(v[i]));
  }
}
/// Writes lane i to p[index[i]], lower lanes first.
template <class T, class I>
INGOT_FN void scatter_partial(T* p, const I& index, const vec<T>& v, i64 n) {
  for (i64 i = 0; i < W && i < n; ++i) store(p + index[i], reg<T>(v[i]));
}
template <class T, class I>
requires kIsVector<I> INGOT_FN void scatter(T* p, const I& index, const vec<T>& v) {
  scatter_partial(p, index, v, W);
}
template <class T, class I>
requires(!kIsVector<I>) INGOT_FN void scatter(T* p, I index, reg<T> x) {
  store(p + index, x);
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_VEC_H
