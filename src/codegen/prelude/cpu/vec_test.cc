// codegen/prelude/cpu/vec_test.cc: loads, stores, conversions, comparisons and reductions of every
// element type, each against plain scalar code.
#include <bit>
#include <unordered_map>

#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

struct Half {
  uint16_t bits;
};
struct BrainHalf {
  uint16_t bits;
};

/// The value of a binary16, from its definition.
float value_of(Half x) {
  const int exponent = x.bits >> 10 & 31, mantissa = x.bits & 1023;
  const float sign = x.bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}
float value_of(BrainHalf x) {
  return float_of(static_cast<uint32_t>(x.bits) << 16);
}

/// Rounds to `bits` significant bits, ties to even, no finer than 2^lowest.
float round_to_bits(float x, int bits, int lowest, float largest) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - bits, lowest));
  const double rounded = std::nearbyint(x / unit) * unit;
  if (std::fabs(rounded) > largest) return std::copysign(INFINITY, x);
  return std::copysign(static_cast<float>(rounded), x);
}
float as_half(float x) {
  return round_to_bits(x, 11, -24, 65504.0f);
}
float as_brain_half(float x) {
  return round_to_bits(x, 8, -133, std::numeric_limits<float>::max());
}

/// The binary16 with this very value.
Half half_of(float value) {
  static const std::unordered_map<uint32_t, uint16_t> kBits = [] {
    std::unordered_map<uint32_t, uint16_t> bits;
    for (uint32_t i = 0; i < 65536; ++i) {
      const Half half{static_cast<uint16_t>(i)};
      bits.emplace(std::bit_cast<uint32_t>(value_of(half)), half.bits);
    }
    return bits;
  }();
  return std::isnan(value) ? Half{0x7e00} : Half{kBits.at(std::bit_cast<uint32_t>(value))};
}

/// Fails, naming the operands, unless `same`. Not a template, because dozens of type pairs use it.
[[gnu::noinline]] void expect(bool same, const char* what, Type type, long double x, long double y,
                              long double want, long double got) {
  if (same) return;
  ADD_FAILURE() << what << ", type " << static_cast<int>(type) << ": of " << x << " and " << y
                << " expected " << want << ", got " << got;
}

template <class T>
constexpr Type kTypeOf = Type::f32;
template <>
constexpr Type kTypeOf<double> = Type::f64;
template <>
constexpr Type kTypeOf<Half> = Type::f16;
template <>
constexpr Type kTypeOf<BrainHalf> = Type::bf16;
template <>
constexpr Type kTypeOf<int8_t> = Type::i8;
template <>
constexpr Type kTypeOf<int16_t> = Type::i16;
template <>
constexpr Type kTypeOf<int32_t> = Type::i32;
template <>
constexpr Type kTypeOf<int64_t> = Type::i64;
template <>
constexpr Type kTypeOf<uint8_t> = Type::u8;
template <>
constexpr Type kTypeOf<uint16_t> = Type::u16;
template <>
constexpr Type kTypeOf<uint32_t> = Type::u32;
template <>
constexpr Type kTypeOf<uint64_t> = Type::u64;

template <class T>
constexpr bool kIsStorage = std::is_same_v<T, Half> || std::is_same_v<T, BrainHalf>;
template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsStorage<T>;

/// Calls body(T()) for each element type.
template <class Body>
void each_type(Body body) {
  body(float()), body(double()), body(Half()), body(BrainHalf());
  body(int8_t()), body(int16_t()), body(int32_t()), body(int64_t());
  body(uint8_t()), body(uint16_t()), body(uint32_t()), body(uint64_t());
}
template <class Body>
void each_integer(Body body) {
  body(int8_t()), body(int16_t()), body(int32_t()), body(int64_t());
  body(uint8_t()), body(uint16_t()), body(uint32_t()), body(uint64_t());
}

/// What a T is outside memory.
template <class T>
auto widened(T x) {
  if constexpr (kIsStorage<T>) {
    return value_of(x);
  } else {
    return x;
  }
}

template <class T>
bool same_value(T a, T b) {
  if constexpr (kIsStorage<T>) {
    return same_bits(value_of(a), value_of(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return a == b;
  }
}

/// Small numbers, limits and specials of T; a multiple of 16 of them.
template <class T>
std::vector<T> samples() {
  std::vector<T> values;
  if constexpr (kIsStorage<T>) {
    for (uint32_t bits = 0; bits < 65536; bits += 61)
      values.push_back(T{static_cast<uint16_t>(bits)});
    for (uint32_t bits : {0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x7fc0, 0x0001,
                          0x03ff, 0x0400, 0x7bff, 0x3c00, 0xbc00, 0x3f80, 0xbf80}) {
      values.push_back(T{static_cast<uint16_t>(bits)});
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    for (double x :
         {0.0,          0.25,         0.5,          0.75,         1.0,          1.5,
          2.0,          2.5,          3.0,          7.9,          126.5,        127.0,
          127.99,       128.0,        128.5,        200.0,        255.0,        255.9,
          256.0,        300.0,        32767.0,      32767.9,      32768.0,      32769.0,
          65504.0,      65519.9,      65520.0,      65535.0,      65536.0,      1e6,
          16777217.0,   2147483520.0, 2147483647.0, 2147483648.0, 2147483904.0, 4294967040.0,
          4294967295.0, 4294967296.0, 9.2e18,       0x1p63,       0x1.8p63,     1.8e19,
          0x1p64,       1e20,         1e30,         1e-8,         6e-8,         3e-5,
          6.1e-5,       1e-39}) {
      values.push_back(static_cast<T>(x));
      values.push_back(static_cast<T>(-x));
    }
    values.insert(values.end(),
                  {static_cast<T>(INFINITY), -static_cast<T>(INFINITY), static_cast<T>(NAN),
                   std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(),
                   std::numeric_limits<T>::denorm_min()});
  } else {
    for (int64_t x : {0,  1,   2,   3,   4,   5,   7,   8,    9,     31,    32,    63,   64,
                      65, 100, 126, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536}) {
      values.push_back(static_cast<T>(x));
      values.push_back(static_cast<T>(-x));
    }
    for (int k = 0; k < 4; ++k) {
      values.push_back(static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(k)));
      values.push_back(static_cast<T>(std::numeric_limits<T>::min() + static_cast<T>(k)));
    }
    values.push_back(static_cast<T>(int64_t{0x0123456789abcdef}));
    values.push_back(static_cast<T>(int64_t{0x7ffffffffffffbff}));  // a tie towards binary32
  }
  while (values.size() % 16 != 0) values.push_back(values[values.size() % 7]);
  return values;
}

/// The conversions that vec.h promises.
template <class To, class From>
To converted(From from) {
  const auto x = widened(from);
  if constexpr (std::is_same_v<To, Half>) {
    return half_of(as_half(static_cast<float>(x)));
  } else if constexpr (std::is_same_v<To, BrainHalf>) {
    const float y = as_brain_half(static_cast<float>(x));
    return BrainHalf{static_cast<uint16_t>(std::bit_cast<uint32_t>(y) >> 16)};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_floating_point_v<decltype(x)>) {
    if (std::isnan(x)) return 0;
    const long double wide = std::trunc(static_cast<long double>(x));
    if (wide >= static_cast<long double>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (wide <= static_cast<long double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(x);
  }
}

class VecTest : public LevelTest {};

TEST_P(VecTest, MemoryIsTouchedOnlyWhereAsked) {
  const i64 w = level().width;
  each_type([&](auto type) {
    typedef decltype(type) T;
    const std::vector<T> pool = samples<T>();
    for (Guard guard : {Guard::after, Guard::before}) {
      for (i64 n = -1; n <= w + 1; ++n) {
        const i64 count = std::clamp<i64>(n, 0, w);
        for (Path path : {Path::whole, Path::partial, Path::filled, Path::first_lanes,
                          Path::last_lanes, Path::strided, Path::gathered}) {
          if (path == Path::whole && n != w) continue;
          const bool apart = path == Path::strided || path == Path::gathered;
          const bool filled =
              path == Path::filled || path == Path::first_lanes || path == Path::last_lanes;
          const i64 from_stride = apart || path == Path::last_lanes ? 3 : 1;
          const i64 to_stride = apart ? 2 : 1;
          const i64 written = filled ? w : count;
          const i64 first = path == Path::last_lanes ? w - count : 0;
          const auto span = [](i64 elements, i64 stride) {
            return static_cast<size_t>(elements == 0 ? 0 : (elements - 1) * stride + 1);
          };
          Guarded<T> from(span(count, from_stride), guard), to(span(written, to_stride), guard);
          for (size_t i = 0; i < from.size(); ++i) from[i] = pool[i % pool.size()];
          const Guarded<T> blank(to.size());
          level().copy(kTypeOf<T>, path, from.data(), from_stride, to.data(), to_stride, n);
          for (i64 i = 0; i < written; ++i) {
            const T got = to[static_cast<size_t>(i * to_stride)];
            const bool loaded = i >= first && i < first + count;
            const T want = loaded ? from[static_cast<size_t>((i - first) * from_stride)]
                                  : converted<T>(int32_t{7});
            ASSERT_TRUE(same_value(got, want))
                << "type " << static_cast<int>(kTypeOf<T>) << ", path " << static_cast<int>(path)
                << ", n " << n << ", lane " << i;
          }
          for (size_t i = 0; i < to.size(); ++i) {
            if (static_cast<i64>(i) % to_stride == 0) continue;
            ASSERT_EQ(memcmp(&to[i], &blank[i], sizeof(T)), 0) << "a gap was written";
          }
          ASSERT_TRUE(to.untouched()) << "path " << static_cast<int>(path) << ", n " << n;
        }
      }
    }
  });
}

TEST_P(VecTest, ConvertsEveryPairOfTypes) {
  const size_t w = static_cast<size_t>(level().width);
  each_type([&](auto from_type) {
    typedef decltype(from_type) From;
    const std::vector<From> x = samples<From>();
    each_type([&](auto to_type) {
      typedef decltype(to_type) To;
      for (Form form : {Form::vector, Form::scalar}) {
        for (size_t i = 0; i + w <= x.size(); i += w) {
          To y[16];
          level().convert(kTypeOf<From>, kTypeOf<To>, form, &x[i], y);
          for (size_t lane = 0; lane < w; ++lane) {
            const To want = converted<To>(x[i + lane]);
            expect(same_value(y[lane], want), "conversion to", kTypeOf<To>, widened(x[i + lane]), 0,
                   widened(want), widened(y[lane]));
          }
        }
      }
    });
  });
}

TEST_P(VecTest, RoundsToHalvesAndBack) {
  const size_t w = static_cast<size_t>(level().width);
  const auto check = [&](auto type, float (*rounded)(float)) {
    typedef decltype(type) T;
    for (uint32_t bits = 0; bits < 65536; bits += 16) {
      for (size_t at = 0; at < 16; at += w) {
        T x[16];
        float y[16];
        for (size_t i = 0; i < w; ++i) x[i] = T{static_cast<uint16_t>(bits + at + i)};
        level().convert(kTypeOf<T>, Type::f32, Form::vector, x, y);
        for (size_t i = 0; i < w; ++i) ASSERT_TRUE(same_bits(y[i], value_of(x[i]))) << x[i].bits;
      }
    }
    // Every 4099th binary32, and ties between neighbours.
    std::vector<float> x;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 40009) {
      x.push_back(float_of(static_cast<uint32_t>(bits)));
      x.push_back(float_of(static_cast<uint32_t>(bits) & 0xfffff000u));
      x.push_back(float_of((static_cast<uint32_t>(bits) & 0xffff0000u) | 0x8000u));
    }
    while (x.size() % 16 != 0) x.push_back(0);
    for (Form form : {Form::vector, Form::scalar}) {
      for (size_t i = 0; i < x.size(); i += w) {
        T y[16];
        level().convert(Type::f32, kTypeOf<T>, form, &x[i], y);
        for (size_t lane = 0; lane < w; ++lane) {
          ASSERT_TRUE(same_bits(value_of(y[lane]), rounded(x[i + lane])))
              << x[i + lane] << ": expected " << rounded(x[i + lane]) << ", got "
              << value_of(y[lane]);
        }
      }
    }
  };
  check(Half(), as_half);
  check(BrainHalf(), as_brain_half);
}

template <class T>
bool compared(Comparison op, T a, T b) {
  switch (op) {
    case Comparison::equal:
      return a == b;
    case Comparison::not_equal:
      return a != b;
    case Comparison::less:
      return a < b;
    case Comparison::less_equal:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_equal:
      return a >= b;
  }
  return false;
}

/// Runs body(x, y) over vectors of pairs of samples of T.
template <class T, class Body>
void each_pair(size_t w, Body body) {
  std::vector<T> pool = samples<T>();
  if (pool.size() > 128) pool.erase(pool.begin() + 64, pool.end() - 64);
  std::vector<T> x, y;
  for (size_t shift = 0; shift < pool.size(); ++shift) {
    for (size_t i = 0; i < pool.size(); ++i) {
      x.push_back(pool[i]);
      y.push_back(pool[(i + shift) % pool.size()]);
    }
  }
  for (size_t i = 0; i + w <= x.size(); i += w) body(&x[i], &y[i]);
}

TEST_P(VecTest, ComparesAndSelects) {
  const size_t w = static_cast<size_t>(level().width);
  each_type([&](auto type) {
    typedef decltype(type) T;
    for (Comparison op : {Comparison::equal, Comparison::not_equal, Comparison::less,
                          Comparison::less_equal, Comparison::greater, Comparison::greater_equal}) {
      for (Form form : {Form::vector, Form::scalar}) {
        each_pair<T>(w, [&](const T* x, const T* y) {
          T z[16];
          unsigned char mask[16];
          level().compare(op, kTypeOf<T>, form, x, y, z, mask);
          for (size_t i = 0; i < w; ++i) {
            const bool want = compared(op, widened(x[i]), widened(y[i]));
            const T chosen = want ? x[i] : y[i];
            expect(mask[i] == want && same_value(z[i], chosen), "comparison", kTypeOf<T>,
                   widened(x[i]), widened(y[i]), widened(chosen), widened(z[i]));
          }
        });
      }
    }
  });
}

template <class T>
T divided(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}
template <class T>
T wanted(Arithmetic op, T a, T b) {
  const T q = divided(a, b);
  const T r = b == 0 ? T(0)
                     : static_cast<T>(static_cast<uint64_t>(a) -
                                      static_cast<uint64_t>(q) * static_cast<uint64_t>(b));
  const bool down = r != 0 && (r < 0) != (b < 0);
  const uint64_t bits = 8 * sizeof(T);
  const bool all_out = static_cast<uint64_t>(b) >= bits;
  switch (op) {
    case Arithmetic::min:
      return a < b ? a : b;
    case Arithmetic::max:
      return a > b ? a : b;
    case Arithmetic::div:
      return q;
    case Arithmetic::fmod:
      return r;
    case Arithmetic::floordiv:
      return down ? static_cast<T>(q - 1) : q;
    case Arithmetic::floormod:
      return down ? static_cast<T>(r + b) : r;
    case Arithmetic::shift_left:
      return all_out ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << b);
    case Arithmetic::shift_right:
      return all_out ? (a < 0 ? T(-1) : T(0)) : static_cast<T>(a >> b);
  }
  return 0;
}

TEST_P(VecTest, IntegerArithmeticNeverTraps) {
  const size_t w = static_cast<size_t>(level().width);
  each_integer([&](auto type) {
    typedef decltype(type) T;
    for (Arithmetic op :
         {Arithmetic::min, Arithmetic::max, Arithmetic::div, Arithmetic::fmod, Arithmetic::floordiv,
          Arithmetic::floormod, Arithmetic::shift_left, Arithmetic::shift_right}) {
      for (Form form : {Form::vector, Form::scalar}) {
        each_pair<T>(w, [&](const T* x, const T* y) {
          T z[16];
          level().arithmetic(op, kTypeOf<T>, form, x, y, z);
          for (size_t i = 0; i < w; ++i) {
            const T want = wanted(op, x[i], y[i]);
            expect(z[i] == want, "arithmetic", kTypeOf<T>, x[i], y[i], want, z[i]);
          }
        });
      }
    }
  });
}

TEST_P(VecTest, NaNWinsInMinAndMax) {
  const size_t w = static_cast<size_t>(level().width);
  const auto check = [&](auto type) {
    typedef decltype(type) T;
    for (Arithmetic op : {Arithmetic::min, Arithmetic::max}) {
      for (Form form : {Form::vector, Form::scalar}) {
        each_pair<T>(w, [&](const T* x, const T* y) {
          T z[16];
          level().arithmetic(op, kTypeOf<T>, form, x, y, z);
          for (size_t i = 0; i < w; ++i) {
            const auto a = widened(x[i]), b = widened(y[i]);
            const auto extreme = (op == Arithmetic::min ? a < b : a > b) ? a : b;
            const auto want = std::isnan(a) ? a : extreme;
            expect(same_value(widened(z[i]), want), "extremum", kTypeOf<T>, a, b, want,
                   widened(z[i]));
          }
        });
      }
    }
  };
  check(float()), check(double()), check(Half()), check(BrainHalf());
}

TEST_P(VecTest, SignsAndClasses) {
  const size_t w = static_cast<size_t>(level().width);
  each_type([&](auto type) {
    typedef decltype(type) T;
    for (Form form : {Form::vector, Form::scalar}) {
      each_pair<T>(w, [&](const T* x, const T* y) {
        T z[5 * 16];
        level().signs(kTypeOf<T>, form, x, y, z);
        for (size_t i = 0; i < w; ++i) {
          const auto a = widened(x[i]);
          typedef std::remove_const_t<decltype(a)> V;
          const V b = widened(y[i]);
          const auto check = [&](size_t row, V want) {
            const V got = widened(z[row * w + i]);
            expect(same_value(got, want), "sign", kTypeOf<T>, a, b, want, got);
          };
          if constexpr (kIsFloating<T>) {
            check(0, V(std::fabs(a)));
            // value_of does not keep the sign of a NaN.
            if (!std::isnan(b)) check(2, V(std::copysign(a, b)));
            check(3, V(std::isnan(a) ? 1 : 0));
            check(4, V(std::isinf(a) ? 1 : 0));
          } else {
            check(0, a < 0 ? static_cast<V>(0 - static_cast<uint64_t>(a)) : a);
          }
          check(1, a > 0 ? V(1) : a < 0 ? V(-1) : a);
        }
      });
    }
  });
}

/// The tree of vec.h's head comment.
template <class T, class Combine>
T tree(std::vector<T> v, Combine combine) {
  for (size_t half = v.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) v[i] = combine(v[i], v[i + half]);
  }
  return v[0];
}

TEST_P(VecTest, ReducesInTheDocumentedOrder) {
  const size_t w = static_cast<size_t>(level().width);
  std::mt19937 random(3);
  each_type([&](auto type) {
    typedef decltype(type) T;
    typedef decltype(widened(T())) V;
    for (int round = 0; round < 40; ++round) {
      T x[16];
      std::vector<V> values;
      for (size_t i = 0; i < w; ++i) {
        if constexpr (kIsFloating<T>) {
          const float draw = static_cast<float>(static_cast<int>(random() % 2000) - 1000) / 37.0f;
          x[i] = converted<T>(as_brain_half(as_half(draw)));
        } else {
          x[i] = static_cast<T>(random());
        }
        values.push_back(widened(x[i]));
      }
      const auto check = [&](Reduction op, V want) {
        T got;
        level().reduce(op, kTypeOf<T>, x, &got);
        const T stored = converted<T>(want);
        expect(same_value(got, stored), "reduction", kTypeOf<T>, static_cast<int>(op), 0,
               widened(stored), widened(got));
      };
      check(Reduction::reduce_add, tree(values, [](V a, V b) {
              if constexpr (std::is_integral_v<V>) {
                return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
              } else {
                return static_cast<V>(a + b);
              }
            }));
      check(Reduction::reduce_mul, tree(values, [](V a, V b) {
              if constexpr (std::is_integral_v<V>) {
                return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
              } else {
                return static_cast<V>(a * b);
              }
            }));
      check(Reduction::reduce_min, *std::min_element(values.begin(), values.end()));
      check(Reduction::reduce_max, *std::max_element(values.begin(), values.end()));
    }
  });
  for (size_t lane = 0; lane < w; ++lane) {
    float x[16] = {}, got = 0;
    x[lane] = NAN;
    level().reduce(Reduction::reduce_max, Type::f32, x, &got);
    EXPECT_TRUE(std::isnan(got)) << "lane " << lane;
    level().reduce(Reduction::reduce_min, Type::f32, x, &got);
    EXPECT_TRUE(std::isnan(got)) << "lane " << lane;
  }
}

TEST_P(VecTest, AnyAndAll) {
  float x[16] = {}, y[16] = {};
  bool any, all;
  level().any_all(x, y, &any, &all);
  EXPECT_FALSE(any);
  EXPECT_FALSE(all);
  const size_t w = static_cast<size_t>(level().width);
  for (size_t i = 0; i < w; ++i) {
    y[i] = 1;
    level().any_all(x, y, &any, &all);
    EXPECT_TRUE(any);
    EXPECT_EQ(all, i + 1 == w);
  }
}

INSTANTIATE_LEVELS(VecTest);

}  // namespace
}  // namespace ingot::prelude_test
