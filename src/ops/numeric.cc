// ops/numeric.cc: the arithmetic of reference functions: exact integers, NaN-propagating extremes.
#include "ops/numeric.h"

#include <array>
#include <cmath>
#include <limits>

namespace ingot::ops {

int64_t wrap(DType dtype, int64_t value) {
  std::array<std::byte, 8> bytes{};
  store_from_int(dtype, bytes.data(), 0, value);
  return load_as_int(dtype, bytes.data(), 0);
}

bool less_integer(DType dtype, int64_t a, int64_t b) {
  return is_signed(dtype) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

int64_t lowest_integer(DType dtype) {
  if (!is_signed(dtype)) return 0;
  return static_cast<int64_t>(~uint64_t{0} << (bits(dtype) - 1));
}

int64_t highest_integer(DType dtype) {
  if (dtype == DType::b8) return 1;
  if (is_signed(dtype)) return ~lowest_integer(dtype);
  return static_cast<int64_t>(~uint64_t{0} >> (64 - bits(dtype)));
}

double neutral_real(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return 0;
    case ReduceKind::product:
      return 1;
    case ReduceKind::min:
      return std::numeric_limits<double>::infinity();
    case ReduceKind::max:
      return -std::numeric_limits<double>::infinity();
    case ReduceKind::any:
    case ReduceKind::all:
      break;
  }
  INGOT_UNREACHABLE();
}

int64_t neutral_integer(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::sum:
      return 0;
    case ReduceKind::product:
      return 1;
    case ReduceKind::min:
      return highest_integer(dtype);
    case ReduceKind::max:
      return lowest_integer(dtype);
    case ReduceKind::any:
      return 0;
    case ReduceKind::all:
      return 1;
  }
  INGOT_UNREACHABLE();
}

double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::sum:
      return a + b;
    case ReduceKind::product:
      return a * b;
    case ReduceKind::min:
      return a < b || std::isnan(a) ? a : b;
    case ReduceKind::max:
      return a > b || std::isnan(a) ? a : b;
    case ReduceKind::any:
    case ReduceKind::all:
      break;
  }
  INGOT_UNREACHABLE();
}

int64_t combine(ReduceKind kind, DType dtype, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  switch (kind) {
    case ReduceKind::sum:
      return wrap(dtype, static_cast<int64_t>(ua + ub));
    case ReduceKind::product:
      return wrap(dtype, static_cast<int64_t>(ua * ub));
    case ReduceKind::min:
      return less_integer(dtype, b, a) ? b : a;
    case ReduceKind::max:
      return less_integer(dtype, a, b) ? b : a;
    case ReduceKind::any:
      return a != 0 || b != 0 ? 1 : 0;
    case ReduceKind::all:
      return a != 0 && b != 0 ? 1 : 0;
  }
  INGOT_UNREACHABLE();
}

Expr lowest(ExprPool& pool, DType dtype) {
  return is_float(dtype) ? pool.real(-std::numeric_limits<double>::infinity(), dtype)
                         : pool.integer(lowest_integer(dtype), dtype);
}

void DotProduct::add(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  if (is_float(dtype_)) {
    real_ += a.real(i) * b.real(j);
  } else {
    const int64_t product = combine(ReduceKind::product, dtype_, a.integer(i), b.integer(j));
    integer_ = combine(ReduceKind::sum, dtype_, integer_, product);
  }
}

void DotProduct::add(const Tensor& a, int64_t i) {
  if (is_float(dtype_)) {
    real_ += a.real(i);
  } else {
    integer_ = combine(ReduceKind::sum, dtype_, integer_, a.integer(i));
  }
}

void DotProduct::store(Tensor& y, int64_t k) const {
  if (is_float(dtype_)) {
    y.set_real(k, real_);
  } else {
    y.set_integer(k, integer_);
  }
}

}  // namespace ingot::ops
