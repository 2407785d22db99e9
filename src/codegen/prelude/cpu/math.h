// codegen/prelude/cpu/math.h: elementary functions of f32 and f64, vectors and scalars.
//
// Pasted behind vec.h. Each function exists for vf32, vf64, f32 and f64; a scalar f32 gives the
// same bits as a vector lane. f32 functions are computed in f32 by the polynomials below (pow and
// the reduction of huge angles in wider arithmetic); f64 functions are the C library's, lane by
// lane, except those that are one instruction.
//
// Largest error of the f32 functions over all arguments, in units of the last place of the result
// (math_test.cc holds them to it; v1, without a fused multiply-add, may be 0.5 worse):
//
//   sqrt 0.5   rsqrt 1.5  exp 1.5    expm1 2    exp2 1     log 1      log1p 2    pow 1
//   sin 1.5    cos 1.5    tan 2.5    asin 2.5   acos 1.5   atan 1.5   sinh 2     cosh 1.5
//   tanh 1.5   asinh 2    acosh 2    atanh 2    erf 1.5    sigmoid 2.5
//   floor, ceil, trunc, round (ties to even), fmod, remainder, floormod: exact
//
// NaN gives NaN; infinities, signed zeros, subnormal arguments and results, overflow and arguments
// outside the domain behave as in C's <math.h> (Annex F), also 0^0 = 1^NaN = 1.
//
// Coefficients: tools/fit_polynomials.py, which prints the lines quoted beside them. They are
// minimax for the error of the finished function on the interval named there.
#ifndef INGOT_PRELUDE_CPU_MATH_H
#define INGOT_PRELUDE_CPU_MATH_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

// ---- building blocks -----------------------------------------------------------------------

/// a * b + c of f32 with the product exact at every level; v1 goes through f64.
INGOT_FN vf32 exact_fma(vf32 a, vf32 b, vf32 c) {
#if INGOT_LEVEL_NUMBER == 1
  return convert<f32>(vf64(convert<f64>(a) * convert<f64>(b) + convert<f64>(c)));
#else
  return fma(a, b, c);
#endif
}

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class V>
INGOT_FN V polynomial(const V&, f32 c0) {
  return splat<W>(c0);
}
template <class... Rest>
INGOT_FN vf32 polynomial(const vf32& x, f32 c0, f32 c1, Rest... rest) {
  return fma(polynomial(x, c1, f32(rest)...), x, splat<W>(c0));
}

/// 2^n for integers -126 <= n <= 127.
INGOT_FN vf32 power_of_two(vi32 n) {
  return bits_as<vf32>((n + 127) << 23);
}

/// x * 2^n rounded once, for integral n in [-252, 254] (and whatever n is, if x is NaN).
INGOT_FN vf32 scale(vf32 x, vi32 n) {
#if INGOT_LEVEL_NUMBER == 4
  vf32 out;
  asm("vscalefps %2, %1, %0" : "=v"(out) : "v"(x), "v"(__builtin_convertvector(n, vf32)));
  return out;
#else
  const vi32 half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

/// x rounded to the nearest integer, ties to even, with that integer; |x| < 2^22.
struct Rounded {
  vf32 value;
  vi32 integer;
};
INGOT_FN Rounded round_small(vf32 x) {
  const vf32 magic = splat<W>(0x1.8p23f);  // because its ulp is 1
  const vf32 shifted = x + magic;
  return {shifted - magic, bits_as<vi32>(shifted) - bits_as<vi32>(magic)};
}

constexpr f32 kLn2High = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;  // ln 2 - high
constexpr f32 kPiOver2High = 0x1.921fb6p+0f, kPiOver2Middle = -0x1.777a5cp-25f,
              kPiOver2Low = -0x1.ee59dap-50f;
constexpr f32 kInfinity = __builtin_inff();
constexpr f32 kNaN = __builtin_nanf("");

// ---- square root and rounding --------------------------------------------------------------

#define INGOT_SCALAR_OF_VECTOR(name) \
  INGOT_FN f32 name(f32 x) {         \
    return name(splat<W>(x))[0];     \
  }

// Applies one instruction to an f32 vector, or to each half of an f64 vector.
#define INGOT_ONE_INSTRUCTION(name, constraint, single, twice)   \
  INGOT_FN vf32 name(vf32 x) {                                   \
    vf32 out;                                                    \
    asm(single " %1, %0" : "=" constraint(out) : constraint(x)); \
    return out;                                                  \
  }                                                              \
  INGOT_SCALAR_OF_VECTOR(name)                                   \
  INGOT_FN hf64 name##_half(hf64 x) {                            \
    hf64 out;                                                    \
    asm(twice " %1, %0" : "=" constraint(out) : constraint(x));  \
    return out;                                                  \
  }                                                              \
  INGOT_FN vf64 name(const vf64& x) {                            \
    const Halves<f64> h = halves_of<f64>(x);                     \
    return join<f64>({name##_half(h.low), name##_half(h.high)}); \
  }                                                              \
  INGOT_FN f64 name(f64 x) {                                     \
    return name##_half(x - hf64{})[0];                           \
  }

#if INGOT_LEVEL_NUMBER == 4
INGOT_ONE_INSTRUCTION(sqrt, "v", "vsqrtps", "vsqrtpd")
INGOT_ONE_INSTRUCTION(round, "v", "vrndscaleps $8,", "vrndscalepd $8,")
INGOT_ONE_INSTRUCTION(floor, "v", "vrndscaleps $9,", "vrndscalepd $9,")
INGOT_ONE_INSTRUCTION(ceil, "v", "vrndscaleps $10,", "vrndscalepd $10,")
INGOT_ONE_INSTRUCTION(trunc, "v", "vrndscaleps $11,", "vrndscalepd $11,")
#elif INGOT_LEVEL_NUMBER == 3
INGOT_ONE_INSTRUCTION(sqrt, "x", "vsqrtps", "vsqrtpd")
INGOT_ONE_INSTRUCTION(round, "x", "vroundps $8,", "vroundpd $8,")
INGOT_ONE_INSTRUCTION(floor, "x", "vroundps $9,", "vroundpd $9,")
INGOT_ONE_INSTRUCTION(ceil, "x", "vroundps $10,", "vroundpd $10,")
INGOT_ONE_INSTRUCTION(trunc, "x", "vroundps $11,", "vroundpd $11,")
#else
INGOT_ONE_INSTRUCTION(sqrt, "x", "sqrtps", "sqrtpd")

// Because a number of 2^23 (2^52) and more is integral, only smaller ones are rounded, by adding
// and subtracting that power; the sign is put back for the sake of -0.
INGOT_FN vf32 round(vf32 x) {
  const vf32 magic = splat<W>(0x1p23f), magnitude = abs(x);
  const vf32 rounded = (magnitude + magic) - magic;
  return select(less(magnitude, magic), copysign(rounded, x), x);
}
INGOT_FN vf64 round(const vf64& x) {
  const vf64 magic = splat<W>(0x1p52), magnitude = abs(x);
  const vf64 rounded = (magnitude + magic) - magic;
  return select(less(magnitude, magic), copysign(rounded, x), x);
}
template <class V>
INGOT_FN V floor_of(const V& x) {
  typedef element<V> T;
  const V r = round(x);
  return copysign(select(greater(r, x), V(r - T(1)), r), x);
}
INGOT_FN vf32 floor(vf32 x) {
  return floor_of(x);
}
INGOT_FN vf64 floor(const vf64& x) {
  return floor_of(x);
}
INGOT_FN vf32 ceil(vf32 x) {
  return -floor_of(vf32(-x));
}
INGOT_FN vf64 ceil(const vf64& x) {
  return -floor_of(vf64(-x));
}
INGOT_FN vf32 trunc(vf32 x) {
  return copysign(floor_of(abs(x)), x);
}
INGOT_FN vf64 trunc(const vf64& x) {
  return copysign(floor_of(abs(x)), x);
}
#define INGOT_SCALARS(name)      \
  INGOT_SCALAR_OF_VECTOR(name)   \
  INGOT_FN f64 name(f64 x) {     \
    return name(splat<W>(x))[0]; \
  }
INGOT_SCALARS(round)
INGOT_SCALARS(floor)
INGOT_SCALARS(ceil)
INGOT_SCALARS(trunc)
#undef INGOT_SCALARS
#endif
#undef INGOT_ONE_INSTRUCTION

INGOT_FN vf32 rsqrt(vf32 x) {
  return 1.0f / sqrt(x);
}

// ---- exponentials --------------------------------------------------------------------------
//
// x = n ln 2 + r with |r| <= ln 2 / 2, and e^x = 2^n e^r. r is exact to an ulp because ln 2 is
// subtracted in two parts with exact products.

struct Reduced {
  vf32 rest;
  vi32 power;
};
INGOT_FN Reduced reduce_by_ln2(vf32 x) {
  const Rounded n = round_small(x * 0x1.715476p+0f);
  return {exact_fma(n.value, splat<W>(-kLn2Low), exact_fma(n.value, splat<W>(-kLn2High), x)),
          n.integer};
}

/// e^x * 2^shift for shift 0 or -1, without overflow in between.
INGOT_FN vf32 exp_shifted(vf32 x, i32 shift) {
  // Because e^-105 rounds to 0 and e^90 / 2 to infinity, n stays within reach of `scale`.
  const vf32 low = select(less(x, splat<W>(-105.0f)), splat<W>(-105.0f), x);
  const Reduced r = reduce_by_ln2(select(greater(low, splat<W>(90.0f)), splat<W>(90.0f), low));
  // e^r = 1 + r + r^2 g(r); exp: largest weighted error 0.056 * 2^-24
  const vf32 g = polynomial(r.rest, 0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.5558b8p-5f, 0x1.123e5ap-7f,
                            0x1.6a4da6p-10f);
  // What rounds to 0 becomes it here: an underflow in `scale` would cost a hundred cycles.
  const vf32 significand = 1.0f + fma(r.rest * r.rest, g, r.rest);
  return scale(select(less(x, splat<W>(-104.0f)), vf32{}, significand), r.power + shift);
}
INGOT_FN vf32 exp(vf32 x) {
  return exp_shifted(x, 0);
}

INGOT_FN vf32 expm1(vf32 x) {
  // Below -18 the result rounds to -1; at 89 it is infinite and n is still 128.
  const vf32 low = select(less(x, splat<W>(-18.0f)), splat<W>(-18.0f), x);
  const Reduced r = reduce_by_ln2(select(greater(low, splat<W>(89.0f)), splat<W>(89.0f), low));
  // e^r - 1 = r + r^2 g(r); expm1: largest weighted error 0.008 * 2^-24
  const vf32 g = polynomial(r.rest, 0.5f, 0x1.555554p-3f, 0x1.5554f4p-5f, 0x1.1112d0p-7f,
                            0x1.6d4050p-10f, 0x1.9e8b3ep-13f);
  const vf32 p = fma(r.rest * r.rest, g, r.rest);
  // 2^n p + (2^n - 1), computed at half size because 2^128 is no f32.
  const vf32 half = power_of_two(r.power - 1);
  const vf32 result = 2.0f * fma(half, p, half - 0.5f);
  // n = 0 keeps p itself: for -0 and subnormal x.
  return select(equal(r.power, vi32{}), select(equal(x, vf32{}), x, p), result);
}

INGOT_FN vf32 exp2(vf32 x) {
  const vf32 low = select(less(x, splat<W>(-151.0f)), splat<W>(-151.0f), x);
  const vf32 inside = select(greater(low, splat<W>(129.0f)), splat<W>(129.0f), low);
  const Rounded n = round_small(inside);
  // 2^f = 1 + f g(f); exp2: largest weighted error 0.054 * 2^-24
  const vf32 f = inside - n.value;
  const vf32 g = polynomial(f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6af72p-5f, 0x1.3b2ddap-7f,
                            0x1.5f0f74p-10f, 0x1.417a36p-13f);
  // As in exp: no underflow where the result is 0.
  const vf32 significand = fma(f, g, splat<W>(1.0f));
  return scale(select(less(x, splat<W>(-150.0f)), vf32{}, significand), n.integer);
}

/// 1 / (1 + e^-x), from e^-|x|, which never overflows.
INGOT_FN vf32 sigmoid(vf32 x) {
  const vf32 e = exp(-abs(x));
  return select(less(x, vf32{}), e, splat<W>(1.0f)) / (1.0f + e);
}

INGOT_FN vf32 tanh(vf32 x) {
  const vf32 a = abs(x), u = x * x;
  // tanh(x) = x + x^3 g(x^2), |x| < 0.65; tanh: largest weighted error 0.114 * 2^-24
  const vf32 g = polynomial(u, -0x1.555524p-2f, 0x1.1103f0p-3f, -0x1.b7cfb6p-5f, 0x1.4f5d72p-6f,
                            -0x1.696a9ap-8f);
  const vf32 small = fma(x * u, g, x);
  // tanh(a) = 1 - 2 / (e^2a + 1)
  const vf32 large = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return copysign(select(less(a, splat<W>(0.65f)), small, large), x);
}

INGOT_FN vf32 sinh(vf32 x) {
  const vf32 a = abs(x), u = x * x;
  // sinh(x) = x + x^3 g(x^2), |x| < 1; sinh: largest weighted error 0.005 * 2^-24
  const vf32 g = polynomial(u, 0x1.555556p-3f, 0x1.1110e2p-7f, 0x1.a02132p-13f, 0x1.75b2c8p-19f);
  const vf32 half = exp_shifted(a, -1);
  const vf32 large = half - 0.25f / half;
  return copysign(select(less(a, splat<W>(1.0f)), fma(x * u, g, x), large), x);
}

INGOT_FN vf32 cosh(vf32 x) {
  const vf32 half = exp_shifted(abs(x), -1);
  return half + 0.25f / half;
}

INGOT_FN vf32 erf(vf32 x) {
  const vf32 a = abs(x), u = x * x;
  // erf(x) = x + x g(x^2), |x| < 1; erf_small: largest weighted error 0.024 * 2^-24
  const vf32 small = polynomial(u, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f71cp-6f,
                                0x1.53f24cp-8f, -0x1.a35348p-11f, 0x1.47795cp-14f);
  // erf(a) = 1 - e^-g(a), a < 3.95, then 1; erf_large: largest weighted error 0.289 * 2^-24
  const vf32 inside = select(greater(a, splat<W>(3.95f)), splat<W>(3.95f), a);
  const vf32 large = polynomial(inside, 0x1.474612p-9f, 0x1.1e372cp+0f, 0x1.4eb29cp-1f,
                                0x1.6d1f4ep-4f, -0x1.e982d4p-7f, 0x1.32c902p-10f);
  return copysign(select(less(a, splat<W>(1.0f)), fma(x, small, x), vf32(1.0f - exp(-large))), x);
}

// ---- logarithms ----------------------------------------------------------------------------

/// u = m 2^e with m in [sqrt(1/2), sqrt(2)); u is positive, finite and normal.
struct Decomposed {
  vf32 mantissa;
  vi32 exponent;
};
INGOT_FN Decomposed decompose(vf32 u) {
  const vi32 bits = bits_as<vi32>(u), e = (bits - 0x3f3504f3) >> 23;  // sqrt(1/2)
  return {bits_as<vf32>(bits - (e << 23)), e};
}

/// log(1 + f) + e ln 2, 1 + f in [sqrt(1/2), sqrt(2)).
INGOT_FN vf32 log_of(vf32 f, vf32 e) {
  // log(1 + f) = f - f^2/2 + f^3 g(f); log: largest weighted error 0.013 * 2^-24
  const vf32 g =
      polynomial(f, 0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a476p-3f, -0x1.555c46p-3f,
                 0x1.233ba8p-3f, -0x1.fc2886p-4f, 0x1.e6bf3ap-4f, -0x1.de02bcp-4f, 0x1.14760cp-4f);
  const vf32 square = f * f;
  const vf32 tail = fma(square * f, g, fma(square, splat<W>(-0.5f), e * kLn2Low));
  return exact_fma(e, splat<W>(kLn2High), f + tail);
}

/// The logarithm at the ends of its domain: of 0 -infinity, of infinity itself, below 0 NaN.
INGOT_FN vf32 log_limits(vf32 x, vf32 value) {
  const vf32 upper = select(less(x, splat<W>(kInfinity)), value, x);
  const vf32 lower = select(less(x, vf32{}), splat<W>(kNaN), splat<W>(-kInfinity));
  return select(less_equal(x, vf32{}), lower, upper);
}

INGOT_FN vf32 log(vf32 x) {
  const vmask subnormal = less(x, splat<W>(0x1p-126f));
  const Decomposed d = decompose(select(subnormal, vf32(x * 0x1p24f), x));
  const vi32 e = d.exponent - select(subnormal, splat<W>(24), vi32{});
  return log_limits(x, log_of(d.mantissa - 1.0f, convert<f32>(e)));
}

INGOT_FN vf32 log1p(vf32 x) {
  // u = 1 + x loses `lost`: u + lost = 1 + x exactly.
  const vf32 u = 1.0f + x;
  const vf32 lost = select(less(x, splat<W>(1.0f)), vf32(x - (u - 1.0f)), vf32(1.0f - (u - x)));
  const Decomposed d = decompose(u);
  // Because `lost` is at most 1, it matters for small exponents only.
  const vi32 back = select(less(d.exponent, splat<W>(100)), vi32(-d.exponent), splat<W>(-100));
  const vf32 f = fma(lost, power_of_two(back), d.mantissa - 1.0f);
  const vf32 value = log_of(f, convert<f32>(d.exponent));
  return log_limits(u, select(equal(x, vf32{}), x, value));
}

INGOT_FN vf32 asinh(vf32 x) {
  const vf32 a = abs(x), u = a * a;
  // Beyond 4096, a + sqrt(a^2 + 1) is 2 a to within f32.
  const vf32 large = log(a) + kLn2High;
  const vf32 small = log1p(a + u / (1.0f + sqrt(1.0f + u)));
  return copysign(select(greater(a, splat<W>(4096.0f)), large, small), x);
}

INGOT_FN vf32 acosh(vf32 x) {
  const vf32 t = x - 1.0f;
  const vf32 small = log1p(t + sqrt(t * (x + 1.0f)));
  const vf32 value = select(greater(x, splat<W>(4096.0f)), vf32(log(x) + kLn2High), small);
  return select(less(x, splat<W>(1.0f)), splat<W>(kNaN), value);
}

INGOT_FN vf32 atanh(vf32 x) {
  const vf32 a = abs(x);
  return copysign(0.5f * log1p((a + a) / (1.0f - a)), x);
}

// ---- power ---------------------------------------------------------------------------------

/// y log2(a) in f64, for a positive, finite and normal; relative error 2^-50.
INGOT_FN hf64 scaled_log2(hf64 mantissa, hf64 exponent, hf64 y) {
  const hf64 s = (mantissa - 1.0) / (mantissa + 1.0), u = s * s;
  // log2((1 + s) / (1 - s)) = s g(s^2); log2: largest weighted error 0.367 * 2^-53
  hf64 g = u * 0x1.d5d07ee0164f5p-3 + 0x1.c11779e3b4e82p-3;
  g = fma(g, u, 0x1.0cb2bea8673bep-2 - hf64{});
  g = fma(g, u, 0x1.484aa1f245bddp-2 - hf64{});
  g = fma(g, u, 0x1.a61763c33d0fdp-2 - hf64{});
  g = fma(g, u, 0x1.2776c50e4ecf5p-1 - hf64{});
  g = fma(g, u, 0x1.ec709dc3a08e0p-1 - hf64{});
  g = fma(g, u, 0x1.71547652b82fep+1 - hf64{});
  return y * fma(s, g, exponent);
}

INGOT_FN vf32 pow(vf32 x, vf32 y) {
  const vf32 a = abs(x);
  const vmask subnormal = less(a, splat<W>(0x1p-126f));
  const Decomposed d = decompose(select(subnormal, vf32(a * 0x1p24f), a));
  const vf32 e = convert<f32>(d.exponent) - select(subnormal, splat<W>(24.0f), vf32{});

  // 2^t with t = y log2 |x|, t = n + f split in f64 because t needs 24 bits behind the point.
  const Halves<f64> m = halves_of<f64>(convert<f64>(d.mantissa));
  const Halves<f64> e64 = halves_of<f64>(convert<f64>(e)), y64 = halves_of<f64>(convert<f64>(y));
  Halves<f64> t = {scaled_log2(m.low, e64.low, y64.low), scaled_log2(m.high, e64.high, y64.high)};
  vf64 exponent = join<f64>(t);
  exponent = select(greater(exponent, splat<W>(300.0)), splat<W>(300.0), exponent);
  exponent = select(less(exponent, splat<W>(-300.0)), splat<W>(-300.0), exponent);
  const vf64 n = (exponent + 0x1.8p52) - 0x1.8p52;  // nearest integer
  const vf32 f = convert<f32>(vf64(exponent - n));
  // exp2: largest weighted error 0.054 * 2^-24
  const vf32 g = polynomial(f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6af72p-5f, 0x1.3b2ddap-7f,
                            0x1.5f0f74p-10f, 0x1.417a36p-13f);
  const vf32 bounded = max(splat<W>(-160.0f), min(splat<W>(130.0f), convert<f32>(n)));
  vf32 result = scale(fma(f, g, splat<W>(1.0f)), convert<i32>(bounded));

  // |x| is 0, infinite or NaN.
  const vmask grows = less(vf32{}, y), shrinks = less(y, vf32{});
  const vf32 of_zero = select(grows, vf32{}, splat<W>(kInfinity));
  const vf32 of_infinity = select(shrinks, vf32{}, splat<W>(kInfinity));
  result = select(equal(a, vf32{}), of_zero, result);
  result = select(equal(a, splat<W>(kInfinity)), of_infinity, result);
  result = select(mask_or(is_nan(x), is_nan(y)), splat<W>(kNaN), result);

  // x has its sign bit set: odd y keeps the sign, a fraction has no real power.
  const vf32 whole = trunc(y), half = 0.5f * y;
  const vmask is_odd = mask_and(equal(whole, y), not_equal(trunc(half), half));
  const vi32 sign_bit = bits_as<vi32>(x) & i32(u32(1) << 31);
  const vf32 negated = bits_as<vf32>(bits_as<vi32>(result) ^ sign_bit);
  result = select(is_odd, negated, result);
  const vmask has_none =
      mask_and(mask_and(less(x, vf32{}), not_equal(whole, y)),
               mask_and(less(a, splat<W>(kInfinity)), less(abs(y), splat<W>(kInfinity))));
  result = select(has_none, splat<W>(kNaN), result);

  const vmask unit = mask_and(equal(a, splat<W>(1.0f)), is_inf(y));
  return select(mask_or(mask_or(equal(y, vf32{}), equal(x, splat<W>(1.0f))), unit), splat<W>(1.0f),
                result);
}

// ---- trigonometry --------------------------------------------------------------------------
//
// x = n pi/2 + r with |r| <= pi/4. Up to 2^16 by subtracting pi/2 in three parts with exact
// products; beyond, lane by lane in integers from the bits of 2/pi (Payne and Hanek).

struct Angle {
  vf32 rest;
  vi32 quadrant;  // modulo 4
};

/// x of 2^16 and more: quadrant and rest of |x|.
INGOT_FN void reduce_huge(f32 x, f32& rest, i32& quadrant) {
  // 32 zero bits, then the bits of 2/pi behind the point.
  constexpr u32 kTwoOverPi[] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  const u32 bits = bits_as<u32>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) {
    rest = kNaN;
    quadrant = 0;
    return;
  }
  // |x| = mantissa 2^exponent. Bits of 2/pi whose product is a multiple of 4 are skipped; the next
  // 96 decide quadrant and rest.
  const u64 mantissa = (bits & 0x7fffffu) | 0x800000u;
  const i32 exponent = i32(bits >> 23) - 150, skip = exponent + 30;
  const u32* words = kTwoOverPi + skip / 32;
  const i32 shift = skip % 32;
  u64 window[3];
  for (i32 i = 0; i < 3; ++i) {
    window[i] = ((u64(words[i]) << 32 | words[i + 1]) << shift) >> 32;
  }
  const u64 low = mantissa * window[2], middle = mantissa * window[1] + (low >> 32);
  const u64 product = ((mantissa * window[0] + (middle >> 32)) << 32) | (middle & 0xffffffffu);
  // The top two bits count quadrants; a rest of half a quadrant and more belongs to the next.
  const i64 fraction = i64(product << 2);
  quadrant = i32(product >> 62) + (fraction < 0);
  rest = f32(f64(fraction) * (0x1p-64 * 0x1.921fb54442d18p+0));
}

INGOT_FN Angle reduce_angle(vf32 x) {
  const Rounded n = round_small(x * 0x1.45f306p-1f);
  Angle out = {exact_fma(n.value, splat<W>(-kPiOver2High), x), n.integer};
  out.rest = exact_fma(n.value, splat<W>(-kPiOver2Middle), out.rest);
  out.rest = exact_fma(n.value, splat<W>(-kPiOver2Low), out.rest);
  const vmask small = less(abs(x), splat<W>(0x1p16f));
  if (!all(small)) {
    for (i64 i = 0; i < W; ++i) {
      if (small[i]) continue;
      f32 rest;
      i32 quadrant;
      reduce_huge(x[i], rest, quadrant);
      out.rest[i] = x[i] < 0.0f ? -rest : rest;
      out.quadrant[i] = x[i] < 0.0f ? -quadrant : quadrant;
    }
  }
  return out;
}

/// sin(r + quadrant pi/2).
INGOT_FN vf32 sine_of(const Angle& angle) {
  const vf32 r = angle.rest, u = r * r;
  // sin(r) = r + r^3 g(r^2); sin: largest weighted error 0.003 * 2^-24
  const vf32 s = fma(
      r * u, polynomial(u, -0x1.555556p-3f, 0x1.111172p-7f, -0x1.a056a6p-13f, 0x1.7b5ae0p-19f), r);
  // cos(r) = 1 - r^2/2 + r^4 g(r^2); cos: largest weighted error 0.000 * 2^-24
  const vf32 g = polynomial(u, 0x1.555556p-5f, -0x1.6c175ap-10f, 0x1.a06d46p-16f, -0x1.34e50ap-22f);
  const vf32 c = fma(u, fma(u, g, splat<W>(-0.5f)), splat<W>(1.0f));
  const vf32 value = select(equal(angle.quadrant & 1, vi32{}), s, c);
  return bits_as<vf32>(bits_as<vi32>(value) ^ (angle.quadrant >> 1 << 31));
}

INGOT_FN vf32 sin(vf32 x) {
  return select(equal(x, vf32{}), x, sine_of(reduce_angle(x)));
}

INGOT_FN vf32 cos(vf32 x) {
  Angle angle = reduce_angle(x);
  angle.quadrant += 1;
  return sine_of(angle);
}

INGOT_FN vf32 tan(vf32 x) {
  const Angle angle = reduce_angle(x);
  const vf32 r = angle.rest, u = r * r;
  // tan(r) = r + r^3 g(r^2); tan: largest weighted error 0.026 * 2^-24
  const vf32 g = polynomial(u, 0x1.555562p-2f, 0x1.110d12p-3f, 0x1.baf30ep-5f, 0x1.5bb636p-6f,
                            0x1.684c5ep-7f, -0x1.f168aap-14f, 0x1.25b278p-8f);
  const vf32 t = fma(r * u, g, r);
  const vf32 value = select(equal(angle.quadrant & 1, vi32{}), t, vf32(-1.0f / t));
  return select(equal(x, vf32{}), x, value);
}

/// s + s^3 g(s^2) = asin(s), |s| <= 1/2, with u = s^2; asin: largest weighted error 0.005 * 2^-24
INGOT_FN vf32 asin_small(vf32 s, vf32 u) {
  const vf32 g = polynomial(u, 0x1.55554cp-3f, 0x1.3338aap-4f, 0x1.6ca7fap-5f, 0x1.04cab0p-5f,
                            0x1.d5c5d2p-7f, 0x1.348024p-5f);
  return fma(s * u, g, s);
}

INGOT_FN vf32 asin(vf32 x) {
  // asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)) for a > 1/2; beyond 1 the root is NaN.
  const vf32 a = abs(x), u = 0.5f - 0.5f * a;
  const vmask small = less_equal(a, splat<W>(0.5f));
  const vf32 s = select(small, a, sqrt(u));
  const vf32 value = asin_small(s, select(small, vf32(a * a), u));
  const vf32 large = kPiOver2High - (value + value - kPiOver2Middle);
  return copysign(select(small, value, large), x);
}

INGOT_FN vf32 acos(vf32 x) {
  // pi/2 - asin(x); near 1: 2 asin(sqrt((1 - a) / 2)); near -1: pi minus that.
  const vf32 a = abs(x), u = 0.5f - 0.5f * a;
  const vmask small = less_equal(a, splat<W>(0.5f));
  const vf32 s = select(small, x, sqrt(u));
  const vf32 value = asin_small(s, select(small, vf32(x * x), u));
  const vf32 twice = value + value;
  const vf32 left = 2.0f * kPiOver2High - (twice - 2.0f * kPiOver2Middle);
  const vf32 large = select(less(x, vf32{}), left, twice);
  return select(small, vf32(kPiOver2High - (value - kPiOver2Middle)), large);
}

INGOT_FN vf32 atan(vf32 x) {
  // atan(a) = pi/2 - atan(1 / a) for a > 1.
  const vf32 a = abs(x);
  const vmask large = greater(a, splat<W>(1.0f));
  const vf32 t = select(large, vf32(1.0f / a), a), u = t * t;
  // atan(t) = t + t^3 g(t^2); atan: largest weighted error 0.008 * 2^-24
  const vf32 g = polynomial(u, -0x1.555552p-2f, 0x1.99981cp-3f, -0x1.247620p-3f, 0x1.c51170p-4f,
                            -0x1.6953bcp-4f, 0x1.150a00p-4f, -0x1.7080bap-5f, 0x1.753040p-6f,
                            -0x1.e6a0ecp-8f, 0x1.29687ep-10f);
  const vf32 value = fma(t * u, g, t);
  const vf32 rest = kPiOver2High - (value - kPiOver2Middle);
  return copysign(select(large, rest, value), x);
}

// ---- scalars, f64, remainders --------------------------------------------------------------

// f64: the C library, whose functions the compilers know without a header.
#define INGOT_FUNCTION(name)                                          \
  INGOT_SCALAR_OF_VECTOR(name)                                        \
  INGOT_FN f64 name(f64 x) {                                          \
    return __builtin_##name(x);                                       \
  }                                                                   \
  INGOT_FN vf64 name(const vf64& x) {                                 \
    vf64 out;                                                         \
    for (i64 i = 0; i < W; ++i) out[i] = __builtin_##name(f64(x[i])); \
    return out;                                                       \
  }
INGOT_FUNCTION(exp)
INGOT_FUNCTION(expm1)
INGOT_FUNCTION(exp2)
INGOT_FUNCTION(log)
INGOT_FUNCTION(log1p)
INGOT_FUNCTION(sin)
INGOT_FUNCTION(cos)
INGOT_FUNCTION(tan)
INGOT_FUNCTION(asin)
INGOT_FUNCTION(acos)
INGOT_FUNCTION(atan)
INGOT_FUNCTION(sinh)
INGOT_FUNCTION(cosh)
INGOT_FUNCTION(tanh)
INGOT_FUNCTION(asinh)
INGOT_FUNCTION(acosh)
INGOT_FUNCTION(atanh)
INGOT_FUNCTION(erf)
#undef INGOT_FUNCTION

INGOT_SCALAR_OF_VECTOR(sigmoid)
INGOT_SCALAR_OF_VECTOR(rsqrt)
#undef INGOT_SCALAR_OF_VECTOR
INGOT_FN f64 rsqrt(f64 x) {
  return 1.0 / sqrt(x);
}
INGOT_FN vf64 rsqrt(const vf64& x) {
  return 1.0 / sqrt(x);
}
INGOT_FN f64 sigmoid(f64 x) {
  const f64 e = __builtin_exp(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
INGOT_FN vf64 sigmoid(const vf64& x) {
  vf64 out;
  for (i64 i = 0; i < W; ++i) out[i] = sigmoid(f64(x[i]));
  return out;
}

INGOT_FN f32 pow(f32 x, f32 y) {
  return pow(splat<W>(x), splat<W>(y))[0];
}
INGOT_FN f64 pow(f64 x, f64 y) {
  return __builtin_pow(x, y);
}
INGOT_FN vf64 pow(const vf64& x, const vf64& y) {
  vf64 out;
  for (i64 i = 0; i < W; ++i) out[i] = __builtin_pow(f64(x[i]), f64(y[i]));
  return out;
}
/// Integer powers wrap. A negative exponent gives 1 / x^-y truncated; of x = 0 it gives 0.
template <class T>
requires(!kIsVector<T> && !kIsFloat<T>) INGOT_FN T pow(T x, T y) {
  u64 base = u64(x), power = 1;
  if constexpr (kIsSigned<T>) {
    if (y < 0) return T(x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0);
  }
  for (u64 left = u64(y); left != 0; left >>= 1, base *= base) {
    if (left & 1) power *= base;
  }
  return T(power);
}
template <class V>
requires(kIsVector<V> && !kIsFloat<element<V>>) INGOT_FN V pow(const V& x, const V& y) {
  V out = {};
  for (i64 i = 0; i < W; ++i) out[i] = pow(element<V>(x[i]), element<V>(y[i]));
  return out;
}

/// C's fmod: the sign of x. Exact.
INGOT_FN f32 fmod(f32 x, f32 y) {
  return __builtin_fmodf(x, y);
}
INGOT_FN f64 fmod(f64 x, f64 y) {
  return __builtin_fmod(x, y);
}
/// C's remainder: from the nearest multiple. Exact.
INGOT_FN f32 remainder(f32 x, f32 y) {
  return __builtin_remainderf(x, y);
}
INGOT_FN f64 remainder(f64 x, f64 y) {
  return __builtin_remainder(x, y);
}
/// The remainder with the sign of y, as Python's %.
template <class T>
requires kIsFloat<T> INGOT_FN T floormod(T x, T y) {
  const T r = fmod(x, y);
  return r != T(0) && (r < T(0)) != (y < T(0)) ? r + y : r;
}
template <class T>
requires kIsFloat<T> INGOT_FN T floordiv(T x, T y) {
  return floor(x / y);
}
template <class V>
requires(kIsVector<V>&& kIsFloat<element<V>>) INGOT_FN V floordiv(const V& x, const V& y) {
  return floor(V(x / y));
}
#define INGOT_LANE_WISE(name)                                                              \
  template <class V>                                                                       \
  requires(kIsVector<V> && kIsFloat<element<V>>) INGOT_FN V name(const V& x, const V& y) { \
    V out = {};                                                                            \
    for (i64 i = 0; i < W; ++i) out[i] = name(element<V>(x[i]), element<V>(y[i]));         \
    return out;                                                                            \
  }
INGOT_LANE_WISE(fmod)
INGOT_LANE_WISE(remainder)
INGOT_LANE_WISE(floormod)
#undef INGOT_LANE_WISE

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_MATH_H
