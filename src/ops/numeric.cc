// ops/numeric.cc: the arithmetic of reference functions, on top of the meaning of expressions.
#include "ops/numeric.h"

#include <cmath>

namespace ingot::ops {

Scalar element_of(const Tensor& tensor, int64_t k) {
  const DType dtype = compute_dtype(tensor.dtype());
  return tensor.holds_reals() ? make_real(tensor.real(k), dtype)
                              : make_integer(tensor.integer(k), dtype);
}

void set_element(Tensor& tensor, int64_t k, const Scalar& value) {
  if (tensor.holds_reals()) {
    tensor.set_real(k, value.real);
  } else {
    tensor.set_integer(k, value.integer);
  }
}

double max_or_nan(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

Expr lowest(ExprPool& pool, DType dtype) {
  const Scalar value = neutral(ReduceKind::max, dtype);
  return is_float(dtype) ? pool.real(value.real, dtype) : pool.integer(value.integer, dtype);
}

void DotProduct::add(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  if (is_float(dtype_)) {
    real_ += a.real(i) * b.real(j);
  } else {
    integer_ += static_cast<uint64_t>(a.integer(i)) * static_cast<uint64_t>(b.integer(j));
  }
}

void DotProduct::add(const Tensor& a, int64_t i) {
  if (is_float(dtype_)) {
    real_ += a.real(i);
  } else {
    integer_ += static_cast<uint64_t>(a.integer(i));
  }
}

void DotProduct::store(Tensor& y, int64_t k) const {
  if (is_float(dtype_)) {
    y.set_real(k, real_);
  } else {
    y.set_integer(k, static_cast<int64_t>(integer_));
  }
}

}  // namespace ingot::ops
