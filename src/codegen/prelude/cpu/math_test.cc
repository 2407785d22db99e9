// codegen/prelude/cpu/math_test.cc: the error bounds that math.h promises, against libm in f64.
#include <cmath>
#include <cstdio>

#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

struct UnaryCase {
  const char* name;
  Unary op;
  double (*reference)(double);
  double bound_ulp;  // as promised at the head of math.h
};

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double rsqrt(double x) {
  return 1 / std::sqrt(x);
}

#define LIBM(name, bound)                                            \
  {                                                                  \
#name, Unary::name, [](double x) { return std::name(x); }, bound \
  }
const UnaryCase kUnary[] = {
    LIBM(exp, 1.5),
    LIBM(expm1, 2),
    LIBM(exp2, 1),
    LIBM(log, 1),
    LIBM(log1p, 2),
    LIBM(sin, 1.5),
    LIBM(cos, 1.5),
    LIBM(tan, 2.5),
    LIBM(asin, 2.5),
    LIBM(acos, 1.5),
    LIBM(atan, 1.5),
    LIBM(sinh, 2),
    LIBM(cosh, 1.5),
    LIBM(tanh, 1.5),
    LIBM(asinh, 2),
    LIBM(acosh, 2),
    LIBM(atanh, 2),
    LIBM(erf, 1.5),
    LIBM(sqrt, 0.5),
    LIBM(floor, 0),
    LIBM(ceil, 0),
    LIBM(trunc, 0),
    {"round", Unary::round, std::nearbyint, 0},
    {"rsqrt", Unary::rsqrt, rsqrt, 1.5},
    {"sigmoid", Unary::sigmoid, sigmoid, 2.5},
};
#undef LIBM

/// Bit patterns over the whole of binary32, and the places where functions change their course.
std::vector<float> arguments() {
  std::vector<float> values;
  constexpr uint64_t kStride = 9973;  // a prime: all low bits occur
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStride) {
    values.push_back(float_of(static_cast<uint32_t>(bits)));
  }
  for (uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (uint32_t mantissa : {0u, 1u, 2u, 0x3504f3u, 0x3504f4u, 0x3fffffu, 0x400000u, 0x400001u,
                              0x7ffffeu, 0x7fffffu}) {
      values.push_back(float_of(exponent << 23 | mantissa));
    }
  }
  const auto around = [&](double x) {
    uint32_t bits;
    const float nearest = static_cast<float>(x);
    memcpy(&bits, &nearest, sizeof bits);
    for (uint32_t off : {~0u, 0u, 1u}) {
      values.push_back(float_of(bits + off));
      values.push_back(-float_of(bits + off));
    }
  };
  for (int k = 1; k < 3000; ++k) around(k * M_PI_2);    // sin, cos, tan
  for (int k = 1; k < 300; ++k) around(k * M_LN2 / 2);  // exp and its kin
  for (double x : {0.5, 0.65, 1.0, 3.95, 4096.0, 65536.0, 88.7228391, 89.4159862, 103.972076}) {
    around(x);
  }
  // Arguments nearest to a multiple of pi/2 among all of binary32 in their binades.
  for (float x : {0x1.47d0fep+34f, 0x1.dd5dd4p+4f, 0x1.79a108p+89f}) values.push_back(x);
  while (values.size() % 16 != 0) values.push_back(1.0f);
  return values;
}

class MathTest : public LevelTest {};

TEST_P(MathTest, UnaryFunctionsKeepTheirBound) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const UnaryCase& test : kUnary) {
    level().unary(test.op, Form::vector, x.data(), y.data(), static_cast<i64>(x.size()));
    // Because a polynomial without fma rounds twice per step.
    const double bound = test.bound_ulp + (level().has_fma || test.bound_ulp <= 0.5 ? 0 : 0.5);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error(y[i], test.reference(x[i]));
      if (error > worst) worst = error, at = i;
    }
    RecordProperty(test.name, std::to_string(worst));
    // Half an ulp is the best a correctly rounded result can do.
    EXPECT_LE(worst, std::max(bound, 0.0) + 1e-6) << test.name << "(" << x[at] << "): expected "
                                                  << test.reference(x[at]) << ", got " << y[at];
  }
}

TEST_P(MathTest, ScalarsGiveTheBitsOfLanes) {
  const std::vector<float> all = arguments();
  std::vector<float> x;
  for (size_t i = 0; i < all.size(); i += 61) x.push_back(all[i]);
  while (x.size() % 16 != 0) x.push_back(0.5f);
  std::vector<float> lanes(x.size()), single(x.size());
  const i64 n = static_cast<i64>(x.size());
  for (const UnaryCase& test : kUnary) {
    level().unary(test.op, Form::vector, x.data(), lanes.data(), n);
    level().unary(test.op, Form::scalar, x.data(), single.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same_bits(lanes[i], single[i])) << test.name << "(" << x[i] << "): a lane gives "
                                                  << lanes[i] << ", a scalar " << single[i];
    }
  }
}

TEST_P(MathTest, DoubleFunctionsAreLibmsOrCorrectlyRounded) {
  std::vector<double> x;
  for (float value : arguments()) {
    if (x.size() < 8000) x.push_back(value * 1.0000001);
  }
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 3);
  for (int i = 0; i < 8000; ++i) x.push_back(normal(random));
  for (double special : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e300, -1e300, 5e-324, 0x1p52,
                         0x1.8p51, double{INFINITY}, -double{INFINITY}, double{NAN}}) {
    x.push_back(special);
  }
  std::vector<double> y(x.size());
  for (Form form : {Form::vector, Form::scalar}) {
    for (const UnaryCase& test : kUnary) {
      level().unary64(test.op, form, x.data(), y.data(), static_cast<i64>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = test.reference(x[i]);
        if ((std::isnan(want) && std::isnan(y[i])) || y[i] == want) continue;
        // sigmoid's reference is another formula, each of its steps right to half an ulp.
        const double slack = test.op == Unary::sigmoid ? 4 * 0x1p-53 * want : 0;
        ASSERT_LE(std::fabs(y[i] - want), slack)
            << test.name << "(" << x[i] << "): expected " << want << ", got " << y[i];
      }
    }
  }
}

/// Values whose pairs cover the special cases of pow and the remainders.
std::vector<float> operands() {
  const float inf = INFINITY;
  std::vector<float> values = {0.0f,    1.0f,   2.0f,    3.0f,       0.5f,       1.5f,       2.5f,
                               1 / 3.f, 0.999f, 1.0001f, 7.0f,       10.0f,      63.0f,      100.0f,
                               1e-3f,   1e-10f, 1e10f,   16777215.f, 16777216.f, 33554432.f, 1e30f,
                               3.4e38f, 1e-38f, 1e-42f,  1.4e-45f,   inf,        NAN};
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

TEST_P(MathTest, PowKeepsItsBound) {
  const std::vector<float> values = operands();
  std::vector<float> x, y;
  for (float a : values) {
    for (float b : values) x.push_back(a), y.push_back(b);
  }
  std::mt19937 random(2);
  std::uniform_int_distribution<uint32_t> any_bits;
  std::normal_distribution<float> normal(0, 8);
  for (int i = 0; i < 200000; ++i) {
    x.push_back(std::fabs(float_of(any_bits(random))));
    y.push_back(i % 2 == 0 ? normal(random) : float_of(any_bits(random)));
  }
  while (x.size() % 16 != 0) x.push_back(2), y.push_back(2);
  std::vector<float> z(x.size());
  level().binary(Binary::pow, Form::vector, x.data(), y.data(), z.data(),
                 static_cast<i64>(x.size()));
  const double bound = level().has_fma ? 1 : 1.5;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    ASSERT_LE(ulp_error(z[i], want), bound)
        << "pow(" << x[i] << ", " << y[i] << "): expected " << want << ", got " << z[i];
  }
}

float floormod(float x, float y) {
  const float r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

TEST_P(MathTest, RemaindersAreExact) {
  const std::vector<float> values = operands();
  std::vector<float> x, y;
  for (float a : values) {
    for (float b : values) x.push_back(a), y.push_back(b);
  }
  while (x.size() % 16 != 0) x.push_back(2), y.push_back(2);
  std::vector<float> z(x.size());
  const struct {
    Binary op;
    float (*reference)(float, float);
  } kCases[] = {
      {Binary::fmod, [](float a, float b) { return std::fmod(a, b); }},
      {Binary::remainder, [](float a, float b) { return std::remainder(a, b); }},
      {Binary::floormod, floormod},
      {Binary::floordiv, [](float a, float b) { return std::floor(a / b); }},
  };
  for (Form form : {Form::vector, Form::scalar}) {
    for (const auto& test : kCases) {
      level().binary(test.op, form, x.data(), y.data(), z.data(), static_cast<i64>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const float want = test.reference(x[i], y[i]);
        ASSERT_TRUE(same_bits(z[i], want))
            << "operation " << static_cast<int>(test.op) << " of " << x[i] << " and " << y[i]
            << ": expected " << want << ", got " << z[i];
      }
    }
  }
}

TEST_P(MathTest, DoubleBinaryFunctionsAreLibms) {
  const double x[16] = {2, -8, 0, 1, 5.5, -5.5, 1e300, 7, 3, 9, -1, INFINITY, 2, 0.5, 10, 1.5};
  const double y[16] = {0.5, 3, 0, NAN, 2, 2, 2, -3, -2, 0.5, INFINITY, 2, -1074, 9, 3, -1.5};
  double z[16];
  for (Form form : {Form::vector, Form::scalar}) {
    level().binary64(Binary::pow, form, x, y, z, 16);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(z[i], std::pow(x[i], y[i])) << x[i] << "^" << y[i];
    level().binary64(Binary::fmod, form, x, y, z, 16);
    EXPECT_EQ(z[5], -1.5);
    EXPECT_EQ(z[7], 1.0);
    level().binary64(Binary::floormod, form, x, y, z, 16);
    EXPECT_EQ(z[5], 0.5);
    EXPECT_EQ(z[7], -2.0);
    level().binary64(Binary::floordiv, form, x, y, z, 16);
    EXPECT_EQ(z[5], -3.0);
    EXPECT_EQ(z[7], -3.0);
    level().binary64(Binary::remainder, form, x, y, z, 16);
    EXPECT_EQ(z[4], -0.5);
  }
}

INSTANTIATE_LEVELS(MathTest);

}  // namespace
}  // namespace ingot::prelude_test
