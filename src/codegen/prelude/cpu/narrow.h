// codegen/prelude/cpu/narrow.h: floats of 8 bits, and elements of 4 and 2 bits, which share bytes.
//
// Pasted behind vec.h where kernels hold such elements. They exist in memory only: floats are f32
// outside of it, integers i8 or u8.
//
//   type           bits  in registers   convert<T>(x) is x as T would hold it
//   f8e4m3fn ...   8     f32            rounded to nearest even; too large: infinity, or NaN where
//                                       the format has none; f8e8m0 rounds halves up
//   f4e2m1         4     f32            rounded to nearest even; saturates, NaN is the largest
//   i4, u4         4     i8, u8         integers keep the low bits, floats truncate and saturate
//   i2, u2         2     i8, u8         likewise
//
// Elements below a byte are reached through Packed<T, Byte> in place of a pointer; the first lies
// in the low bits. Threads may share a byte at the ends of their work, so whatever is no whole byte
// is stored by atomic operations on its bits.
#ifndef INGOT_PRELUDE_CPU_NARROW_H
#define INGOT_PRELUDE_CPU_NARROW_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

// ---- formats -------------------------------------------------------------------------------

/// What the end of a format's range means (base/dtype.cc).
enum class Specials { ieee, nan_only, fnuz, none };

template <int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
struct SmallFloat {
  u8 bits;
};
typedef SmallFloat<4, 3, 7, Specials::nan_only> f8e4m3fn;
typedef SmallFloat<4, 3, 8, Specials::fnuz> f8e4m3fnuz;
typedef SmallFloat<5, 2, 15, Specials::ieee> f8e5m2;
typedef SmallFloat<5, 2, 16, Specials::fnuz> f8e5m2fnuz;
typedef SmallFloat<2, 1, 1, Specials::none> f4e2m1;
/// A power of two, 2^(bits - 127), or NaN.
struct f8e8m0 {
  u8 bits;
};
/// An integer of 4 or 2 bits.
template <int kBits, bool kSigned>
struct SmallInt {};
typedef SmallInt<4, true> i4;
typedef SmallInt<2, true> i2;
typedef SmallInt<4, false> u4;
typedef SmallInt<2, false> u2;

template <int E, int M, int B, Specials S>
struct VectorOf<SmallFloat<E, M, B, S>> : VectorOf<f32> {};
template <>
struct VectorOf<f8e8m0> : VectorOf<f32> {};
template <int kBits>
struct VectorOf<SmallInt<kBits, true>> : VectorOf<i8> {};
template <int kBits>
struct VectorOf<SmallInt<kBits, false>> : VectorOf<u8> {};
template <int E, int M, int B, Specials S>
struct RegisterOf<SmallFloat<E, M, B, S>> : RegisterOf<f32> {};
template <>
struct RegisterOf<f8e8m0> : RegisterOf<f32> {};
template <int kBits>
struct RegisterOf<SmallInt<kBits, true>> : RegisterOf<i8> {};
template <int kBits>
struct RegisterOf<SmallInt<kBits, false>> : RegisterOf<u8> {};

/// The u32 or vu32 of a code's bits beside the f32 or vf32 of its value.
template <class U>
struct ValueOf {
  typedef f32 type;
};
template <>
struct ValueOf<vu32> {
  typedef vf32 type;
};
template <class U>
using value = typename ValueOf<U>::type;

/// All bits where a comparison of U holds, else none.
INGOT_FN u32 where(bool condition) {
  return condition ? ~0u : 0u;
}
INGOT_FN vu32 where(vi32 condition) {
  return bits_as<vu32>(condition);
}
template <class U>
INGOT_FN U choose(U mask, U a, U b) {
  return (mask & a) | (~mask & b);
}

/// How the bits of one element, the low ones of a u32 or of the lanes of a vu32, are read and
/// written. `decode` gives the value in registers, `encode` the bits.
template <class T>
struct Code;

template <int E, int M, int kBias, Specials S>
struct Code<SmallFloat<E, M, kBias, S>> {
  static constexpr int kBits = 1 + E + M;
  static constexpr u32 kSign = 1u << (E + M), kMagnitude = kSign - 1;
  static constexpr u32 kLargest = S == Specials::ieee       ? kMagnitude - (1u << M)
                                  : S == Specials::nan_only ? kMagnitude - 1
                                                            : kMagnitude;
  static constexpr u32 kNan = S == Specials::ieee       ? (((1u << E) - 1) << M) | (1u << (M - 1))
                              : S == Specials::nan_only ? kMagnitude
                              : S == Specials::fnuz     ? kSign
                                                        : kLargest;
  static constexpr u32 kTooLarge = S == Specials::none   ? kLargest
                                   : S == Specials::ieee ? kLargest + 1
                                                         : kNan;

  template <class U>
  INGOT_FN value<U> decode(U code) {
    const U magnitude = code & kMagnitude, sign = (code & kSign) << (31 - E - M);
    // Because a power of two rebiases the exponent, a subnormal is normalised by the product.
    const value<U> scaled =
        bits_as<value<U>>(magnitude << (23 - M)) * bits_as<f32>(u32(254 - kBias) << 23);
    U out = bits_as<U>(scaled) | sign;
    if constexpr (S == Specials::ieee) {
      const U special = 0x7f800000u | ((magnitude & ((1u << M) - 1)) << (23 - M)) |
                        (where(magnitude > kLargest + 1) & 0x400000u);
      out = choose<U>(where(magnitude > kLargest), special | sign, out);
    } else if constexpr (S == Specials::nan_only) {
      out = choose<U>(where(magnitude == kNan), U{} + 0x7fc00000u, out);
    } else if constexpr (S == Specials::fnuz) {
      out = choose<U>(where((code & (kSign | kMagnitude)) == kNan), U{} + 0x7fc00000u, out);
    }
    return bits_as<value<U>>(out);
  }

  template <class U>
  INGOT_FN U encode(value<U> x) {
    const U bits = bits_as<U>(x), magnitude = bits & 0x7fffffffu;
    constexpr u32 kRebias = u32(127 - kBias) << 23;
    const U normal =
        (magnitude - kRebias + ((1u << (22 - M)) - 1) + ((magnitude >> (23 - M)) & 1u)) >> (23 - M);
    // Below the least normal number the unit of the sum is that of the format.
    constexpr u32 kUnit = u32(127 + 1 - kBias - M + 23) << 23;
    const U subnormal = bits_as<U>(bits_as<value<U>>(magnitude) + bits_as<f32>(kUnit)) - kUnit;
    U out = choose<U>(where(magnitude < kRebias + (1u << 23)), subnormal, normal);
    out = choose<U>(where(out > kLargest), U{} + kTooLarge, out);
    const U sign = (bits >> (31 - E - M)) & kSign;
    if constexpr (S == Specials::fnuz) {
      out = choose<U>(where(out == 0u), out, out | sign);
    } else {
      out |= sign;
    }
    return choose<U>(where(magnitude > 0x7f800000u), U{} + kNan, out);
  }
};

template <>
struct Code<f8e8m0> {
  static constexpr int kBits = 8;
  template <class U>
  INGOT_FN value<U> decode(U code) {
    const U least = choose<U>(where(code == 0u), U{} + 0x400000u, code << 23);
    return bits_as<value<U>>(choose<U>(where(code == 255u), U{} + 0x7fc00000u, least));
  }
  /// Zero and negative numbers are the smallest.
  template <class U>
  INGOT_FN U encode(value<U> x) {
    const U bits = bits_as<U>(x);
    const U subnormal = where(bits >= 0x600000u) & 1u;
    U out = choose<U>(where(bits < 0x800000u), subnormal, (bits + 0x400000u) >> 23);
    out = choose<U>(where(bits >= 0x80000000u), U{}, out);
    return choose<U>(where((bits & 0x7fffffffu) > 0x7f800000u), U{} + 255u, out);
  }
};

template <int kWidth, bool kSigned>
struct Code<SmallInt<kWidth, kSigned>> {
  typedef SmallInt<kWidth, kSigned> T;
  static constexpr int kBits = kWidth;
  static constexpr int kLow = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int kHigh = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;

  INGOT_FN reg<T> decode(u32 code) {
    if constexpr (kSigned) {
      return i8(i32(code << (32 - kBits)) >> (32 - kBits));
    } else {
      return u8(code & u32(kHigh));
    }
  }
  INGOT_FN vec<T> decode(vu32 code) {
    if constexpr (kSigned) {
      return convert<i8>(bits_as<vi32>(code << (32 - kBits)) >> (32 - kBits));
    } else {
      return convert<u8>(code & u32(kHigh));
    }
  }
  template <class U>
  INGOT_FN U encode(const auto& x) {
    return convert<u32>(x) & u32((1 << kBits) - 1);
  }
};

/// Whether T is one of the types of this file.
template <class T>
concept Narrow = requires {
  Code<T>::kBits;
};
template <class T>
concept ByteFloat = Narrow<T> && Code<T>::kBits == 8;

/// x as a T would hold it, in a register.
template <class To, class V>
requires Narrow<To> INGOT_FN auto convert(const V& x) {
  constexpr bool kVector = kIsVector<V>;
  typedef typename LanesOf<kVector ? W : 1, u32>::type U;
  if constexpr (!kSame<reg<To>, f32>) {
    if constexpr (kIsFloat<element<V>>) {
      const auto wide = convert<i32>(x);
      const auto low = splat < kVector ? W : 1 > (i32(Code<To>::kLow));
      const auto high = splat < kVector ? W : 1 > (i32(Code<To>::kHigh));
      return convert<reg<To>>(min(high, max(low, wide)));
    } else {
      return Code<To>::decode(U(convert<u32>(x)));
    }
  } else {
    return Code<To>::decode(Code<To>::template encode<U>(convert<f32>(x)));
  }
}

// ---- 8-bit floats in memory ----------------------------------------------------------------

template <i64 N = W, class T>
requires ByteFloat<T> INGOT_FN lanes<N, T> load(const T* p) {
  typedef lanes<N, u32> U;
  return Code<T>::decode(U(convert<u32>(load<N>(reinterpret_cast<const u8*>(p)))));
}
template <class T>
requires ByteFloat<T> INGOT_FN void store(T* p, const vec<T>& v) {
  store(reinterpret_cast<u8*>(p), convert<u8>(Code<T>::template encode<vu32>(v)));
}
template <class T>
requires ByteFloat<T> INGOT_FN void store(T* p, reg<T> x) {
  p->bits = u8(Code<T>::template encode<u32>(x));
}
template <class T>
requires ByteFloat<T> INGOT_FN vec<T> load_partial(const T* p, i64 n) {
  return Code<T>::decode(convert<u32>(load_partial(reinterpret_cast<const u8*>(p), n)));
}
template <class T>
requires ByteFloat<T> INGOT_FN void store_partial(T* p, const vec<T>& v, i64 n) {
  store_partial(reinterpret_cast<u8*>(p), convert<u8>(Code<T>::template encode<vu32>(v)), n);
}

// ---- elements that share bytes -------------------------------------------------------------

/// Where element `at` of packed Ts lies; Byte is u8 or const u8.
template <class T, class Byte>
struct Packed {
  static constexpr int kBits = Code<T>::kBits;
  static constexpr i64 kPerByte = 8 / kBits;
  Byte* bytes;
  i64 at;

  INGOT_MEMBER Packed operator+(i64 n) const { return {bytes, at + n}; }
  INGOT_MEMBER i64 byte() const { return at / kPerByte; }
  INGOT_MEMBER int shift() const { return int(at % kPerByte) * kBits; }
  INGOT_MEMBER reg<T> operator[](i64 i) const { return load<1>(*this + i); }
};
template <class T, class Byte>
INGOT_FN Packed<T, Byte> packed(Byte* bytes) {
  return {bytes, 0};
}

template <i64 N = W, class T, class Byte>
INGOT_FN lanes<N, T> load(Packed<T, Byte> p) {
  if constexpr (N == 1) {
    return Code<T>::decode(u32(p.bytes[p.byte()]) >> p.shift());
  } else {
    constexpr i64 kPerByte = p.kPerByte;
    if (p.shift() == 0) {
#define INGOT_LANE(i) u32(p.bytes[p.byte() + (i) / kPerByte]) >> (p.kBits * ((i) % kPerByte))
      return Code<T>::decode(vu32{INGOT_EACH_LANE(INGOT_LANE)});
#undef INGOT_LANE
    }
    return load_strided(p, 1);
  }
}
template <class T>
INGOT_FN void store(Packed<T, u8> p, reg<T> x) {
  const u32 code = Code<T>::template encode<u32>(x);
  u8* byte = p.bytes + p.byte();
  const u32 mask = ((1u << p.kBits) - 1) << p.shift();
  __atomic_fetch_and(byte, u8(~mask), __ATOMIC_RELAXED);
  __atomic_fetch_or(byte, u8(code << p.shift()), __ATOMIC_RELAXED);
}
template <class T>
INGOT_FN void store_partial(Packed<T, u8> p, const vec<T>& v, i64 n) {
  const i64 count = n < W ? n : W;
  i64 i = 0;
  for (; i < count && (p + i).shift() != 0; ++i) store(p + i, reg<T>(v[i]));
  const vu32 codes = Code<T>::template encode<vu32>(v);
  for (; i + p.kPerByte <= count; i += p.kPerByte) {
    u32 byte = 0;
    for (i64 k = 0; k < p.kPerByte; ++k) byte |= codes[i + k] << (p.kBits * k);
    p.bytes[(p + i).byte()] = u8(byte);
  }
  for (; i < count; ++i) store(p + i, reg<T>(v[i]));
}
template <class T>
INGOT_FN void store(Packed<T, u8> p, const vec<T>& v) {
  store_partial(p, v, W);
}

template <i64 N = W, class T, class Byte>
INGOT_FN lanes<N, T> load_strided(Packed<T, Byte> p, i64 stride) {
  if constexpr (N == 1) {
    return load<1>(p);
  } else {
#define INGOT_LANE(i) load<1>(p + (i)*stride)
    return vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  }
}
/// p[i * stride] in the lanes first <= i < end, `fill` (untouched memory) in the others.
template <class T, class Byte>
INGOT_FN vec<T> load_between(Packed<T, Byte> p, i64 stride, i64 first, i64 end, reg<T> fill) {
  vec<T> out = splat<W>(fill);
  for (i64 i = first > 0 ? first : 0; i < W && i < end; ++i) out[i] = load<1>(p + i * stride);
  return out;
}
template <class T, class Byte>
INGOT_FN vec<T> load_strided_partial(Packed<T, Byte> p, i64 stride, i64 n, reg<T> fill = 0) {
  return load_between(p, stride, 0, n, fill);
}
template <class T, class Byte>
INGOT_FN vec<T> load_partial(Packed<T, Byte> p, i64 n, reg<T> fill = 0) {
  return n >= W ? load<W>(p) : load_between(p, 1, 0, n, fill);
}
template <class T>
INGOT_FN void store_strided_partial(Packed<T, u8> p, i64 stride, const vec<T>& v, i64 n) {
  for (i64 i = 0; i < W && i < n; ++i) store(p + i * stride, reg<T>(v[i]));
}
template <class T>
INGOT_FN void store_strided(Packed<T, u8> p, i64 stride, const vec<T>& v) {
  store_strided_partial(p, stride, v, W);
}
template <class T>
INGOT_FN void store_strided(Packed<T, u8> p, i64, reg<T> x) {
  store(p, x);
}

template <class T, class Byte, class I>
INGOT_FN auto gather(Packed<T, Byte> p, const I& index) {
  if constexpr (kIsVector<I>) {
#define INGOT_LANE(i) load<1>(p + i64(index[i]))
    return vec<T>{INGOT_EACH_LANE(INGOT_LANE)};
#undef INGOT_LANE
  } else {
    return load<1>(p + i64(index));
  }
}
template <class T, class Byte, class I>
INGOT_FN vec<T> gather_partial(Packed<T, Byte> p, const I& index, i64 n, reg<T> fill = 0) {
  vec<T> out = splat<W>(fill);
  for (i64 i = 0; i < W && i < n; ++i) out[i] = load<1>(p + i64(index[i]));
  return out;
}
/// p[index] in the lanes of m, `fill` (untouched memory) in the others.
template <class T, class Byte, class I>
INGOT_FN vec<T> gather_if(Packed<T, Byte> p, const I& index, vmask m, reg<T> fill) {
  vec<T> out = splat<W>(fill);
  for (i64 i = 0; i < W; ++i) {
    if (m[i]) out[i] = load<1>(p + i64(index[i]));
  }
  return out;
}
template <class T, class I>
INGOT_FN void scatter_if(Packed<T, u8> p, const I& index, const vec<T>& v, vmask m) {
  for (i64 i = 0; i < W; ++i) {
    if (m[i]) store(p + i64(index[i]), reg<T>(v[i]));
  }
}
template <class T, class I>
INGOT_FN void scatter_partial(Packed<T, u8> p, const I& index, const vec<T>& v, i64 n) {
  for (i64 i = 0; i < W && i < n; ++i) store(p + i64(index[i]), reg<T>(v[i]));
}
template <class T, class I>
INGOT_FN void scatter(Packed<T, u8> p, const I& index, const auto& v) {
  if constexpr (kIsVector<I>) {
    scatter_partial(p, index, v, W);
  } else {
    store(p + i64(index), reg<T>(v));
  }
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_NARROW_H
