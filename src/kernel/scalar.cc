// kernel/scalar.cc: integers that wrap, floats in fp64, and the rules of casts.
#include "kernel/scalar.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ingot {
namespace {

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

bool is_below(int64_t a, int64_t b, DType dtype) {
  return dtype == DType::u64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

int64_t divide_truncating(int64_t a, int64_t b, DType dtype) {
  if (b == 0) return 0;
  if (dtype == DType::u64) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  }
  const uint64_t quotient = magnitude(a) / magnitude(b);
  return static_cast<int64_t>((a < 0) == (b < 0) ? quotient : uint64_t{0} - quotient);
}

int64_t remainder_truncating(int64_t a, int64_t b, DType dtype) {
  if (b == 0) return 0;
  if (dtype == DType::u64) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  }
  const int64_t rest = static_cast<int64_t>(magnitude(a) % magnitude(b));
  return a < 0 ? -rest : rest;
}

bool rounds_down(int64_t a, int64_t b, DType dtype) {
  return dtype != DType::u64 && (a < 0) != (b < 0) && remainder_truncating(a, b, dtype) != 0;
}

int64_t shift(ExprKind kind, int64_t a, int64_t amount, DType dtype) {
  const bool all_out = amount < 0 || amount >= bits(dtype);
  if (kind == ExprKind::shift_left) {
    return all_out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << amount);
  }
  if (is_signed(dtype)) return a >> (all_out ? 63 : amount);
  return all_out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> amount);
}

int64_t power(int64_t base, int64_t exponent, DType dtype) {
  if (exponent < 0 && dtype != DType::u64) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (uint64_t left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

int64_t apply_integers(ExprKind kind, DType dtype, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a);
  const uint64_t y = static_cast<uint64_t>(b);
  switch (kind) {
    case ExprKind::add:
      return static_cast<int64_t>(x + y);
    case ExprKind::sub:
      return static_cast<int64_t>(x - y);
    case ExprKind::mul:
      return static_cast<int64_t>(x * y);
    case ExprKind::neg:
      return static_cast<int64_t>(uint64_t{0} - x);
    case ExprKind::div:
      return divide_truncating(a, b, dtype);
    case ExprKind::fmod:
      return remainder_truncating(a, b, dtype);
    case ExprKind::floordiv:
      return divide_truncating(a, b, dtype) - (rounds_down(a, b, dtype) ? 1 : 0);
    case ExprKind::floormod:
      return remainder_truncating(a, b, dtype) + (rounds_down(a, b, dtype) ? b : 0);
    case ExprKind::min:
      return is_below(b, a, dtype) ? b : a;
    case ExprKind::max:
      return is_below(a, b, dtype) ? b : a;
    case ExprKind::pow:
      return power(a, b, dtype);
    case ExprKind::abs:
      return is_signed(dtype) ? static_cast<int64_t>(magnitude(a)) : a;
    case ExprKind::sign:
      return dtype == DType::u64 ? a != 0 : (a > 0) - (a < 0);
    case ExprKind::bit_and:
      return a & b;
    case ExprKind::bit_or:
      return a | b;
    case ExprKind::bit_xor:
      return a ^ b;
    case ExprKind::bit_not:
      return ~a;
    case ExprKind::shift_left:
    case ExprKind::shift_right:
      return shift(kind, a, b, dtype);
    default:
      CHECK(false, name(kind), " is not defined on integers");
  }
  INGOT_UNREACHABLE();
}

double smaller(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

double power(double base, double exponent) {
  if (exponent == 2) return base * base;
  if (exponent == 3) return base * base * base;
  if (exponent == -1) return 1 / base;
  return std::pow(base, exponent);
}

double sigmoid(double x) {
  // e^-|x| cannot overflow.
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double apply_reals(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::add:
      return a + b;
    case ExprKind::sub:
      return a - b;
    case ExprKind::mul:
      return a * b;
    case ExprKind::div:
      return a / b;
    case ExprKind::neg:
      return -a;
    case ExprKind::floordiv:
      return std::floor(a / b);
    case ExprKind::floormod:
      return floor_remainder(a, b);
    case ExprKind::fmod:
      return std::fmod(a, b);
    case ExprKind::min:
      return smaller(a, b);
    case ExprKind::max:
      return larger(a, b);
    case ExprKind::pow:
      return power(a, b);
    case ExprKind::abs:
      return std::abs(a);
    case ExprKind::sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case ExprKind::exp:
      return std::exp(a);
    case ExprKind::log:
      return std::log(a);
    case ExprKind::sqrt:
      return std::sqrt(a);
    case ExprKind::sin:
      return std::sin(a);
    case ExprKind::cos:
      return std::cos(a);
    case ExprKind::tan:
      return std::tan(a);
    case ExprKind::asin:
      return std::asin(a);
    case ExprKind::acos:
      return std::acos(a);
    case ExprKind::atan:
      return std::atan(a);
    case ExprKind::sinh:
      return std::sinh(a);
    case ExprKind::cosh:
      return std::cosh(a);
    case ExprKind::tanh:
      return std::tanh(a);
    case ExprKind::asinh:
      return std::asinh(a);
    case ExprKind::acosh:
      return std::acosh(a);
    case ExprKind::atanh:
      return std::atanh(a);
    case ExprKind::erf:
      return std::erf(a);
    case ExprKind::sigmoid:
      return sigmoid(a);
    case ExprKind::floor:
      return std::floor(a);
    case ExprKind::ceil:
      return std::ceil(a);
    case ExprKind::round:
      return std::nearbyint(a);
    case ExprKind::trunc:
      return std::trunc(a);
    default:
      CHECK(false, name(kind), " is not defined on floating-point numbers");
  }
  INGOT_UNREACHABLE();
}

template <class T>
bool compare_values(ExprKind kind, T a, T b) {
  switch (kind) {
    case ExprKind::eq:
      return a == b;
    case ExprKind::ne:
      return a != b;
    case ExprKind::lt:
      return a < b;
    case ExprKind::le:
      return a <= b;
    default:
      INGOT_UNREACHABLE();
  }
}

bool compare_scalars(ExprKind kind, const Scalar& a, const Scalar& b) {
  if (is_float(a.dtype)) return compare_values(kind, a.real, b.real);
  if (a.dtype == DType::u64) {
    return compare_values(kind, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer));
  }
  return compare_values(kind, a.integer, b.integer);
}

int64_t truncate_and_saturate(double value, DType dtype) {
  uint64_t pattern = 0;
  store_from_double(dtype, &pattern, 0, value);
  return load_as_int(dtype, &pattern, 0);
}

double as_real(const Scalar& value) {
  if (is_float(value.dtype)) return value.real;
  return value.dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(value.integer))
                                   : static_cast<double>(value.integer);
}

}  // namespace

int64_t wrap(int64_t value, DType dtype) {
  if (dtype == DType::b8) return value != 0;
  const int unused = 64 - bits(dtype);
  const uint64_t high = static_cast<uint64_t>(value) << unused;
  return is_signed(dtype) ? static_cast<int64_t>(high) >> unused
                          : static_cast<int64_t>(high >> unused);
}

Scalar make_integer(int64_t value, DType dtype) {
  return {.dtype = dtype, .real = 0, .integer = wrap(value, dtype)};
}

Scalar make_real(double value, DType dtype) {
  return {.dtype = dtype, .real = value, .integer = 0};
}

bool is_same(const Scalar& a, const Scalar& b) {
  if (a.dtype != b.dtype) return false;
  if (!is_float(a.dtype)) return a.integer == b.integer;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

Scalar cast(const Scalar& value, DType dtype) {
  if (dtype == value.dtype) return value;
  if (is_float(dtype)) {
    const double real = as_real(value);
    if (bits(dtype) >= 32) return make_real(real, dtype);
    return make_real(decode_float(dtype, encode_float(dtype, real, Overflow::kIeee)), dtype);
  }
  if (!is_float(value.dtype)) return make_integer(value.integer, dtype);
  return make_integer(truncate_and_saturate(value.real, dtype), dtype);
}

Scalar apply(ExprKind kind, DType dtype, std::span<const Scalar> operands) {
  const Scalar& a = operands[0];
  const Scalar& b = operands.size() > 1 ? operands[1] : a;
  const auto boolean = [](bool value) { return make_integer(value ? 1 : 0, DType::b8); };
  switch (kind) {
    case ExprKind::select:
      return a.integer != 0 ? b : operands[2];
    case ExprKind::cast:
      return cast(a, dtype);
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::lt:
    case ExprKind::le:
      return boolean(compare_scalars(kind, a, b));
    case ExprKind::is_nan:
      return boolean(std::isnan(a.real));
    case ExprKind::is_inf:
      return boolean(std::isinf(a.real));
    case ExprKind::logical_and:
      return boolean(a.integer && b.integer);
    case ExprKind::logical_or:
      return boolean(a.integer || b.integer);
    case ExprKind::logical_xor:
      return boolean(a.integer != b.integer);
    case ExprKind::logical_not:
      return boolean(!a.integer);
    default:
      break;
  }
  if (is_float(a.dtype)) return make_real(apply_reals(kind, a.real, b.real), a.dtype);
  return make_integer(apply_integers(kind, a.dtype, a.integer, b.integer), a.dtype);
}

Scalar neutral(ReduceKind kind, DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto either = [&](double real, int64_t integer) {
    return is_float(dtype) ? make_real(real, dtype) : make_integer(integer, dtype);
  };
  const bool is_unsigned = !is_signed(dtype);
  const int64_t top =
      is_unsigned ? -1 : (int64_t{1} << (bits(dtype) - 2)) - 1 + (int64_t{1} << (bits(dtype) - 2));
  switch (kind) {
    case ReduceKind::sum:
      return either(0, 0);
    case ReduceKind::product:
      return either(1, 1);
    case ReduceKind::min:
      return either(kInf, top);
    case ReduceKind::max:
      return either(-kInf, is_unsigned ? 0 : -top - 1);
    case ReduceKind::any:
      return make_integer(0, DType::b8);
    case ReduceKind::all:
      return make_integer(1, DType::b8);
  }
  INGOT_UNREACHABLE();
}

Scalar gather(ReduceKind kind, const Scalar& sum, const Scalar& value) {
  const Scalar operands[] = {sum, value};
  switch (kind) {
    case ReduceKind::sum:
      return apply(ExprKind::add, sum.dtype, operands);
    case ReduceKind::product:
      return apply(ExprKind::mul, sum.dtype, operands);
    case ReduceKind::min:
      return apply(ExprKind::min, sum.dtype, operands);
    case ReduceKind::max:
      return apply(ExprKind::max, sum.dtype, operands);
    case ReduceKind::any:
      return apply(ExprKind::logical_or, sum.dtype, operands);
    case ReduceKind::all:
      return apply(ExprKind::logical_and, sum.dtype, operands);
  }
  INGOT_UNREACHABLE();
}

}  // namespace ingot
