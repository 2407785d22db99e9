// ops/numeric.h: the arithmetic of reference functions, on top of the meaning of expressions.
#pragma once

#include <cstdint>

#include "ir/op_def.h"
#include "kernel/scalar.h"

namespace ingot::ops {

/// Element k of a tensor in its compute dtype, as expressions see it, and back.
Scalar element_of(const Tensor& tensor, int64_t k);
void set_element(Tensor& tensor, int64_t k, const Scalar& value);

/// The larger one; a NaN on either side wins.
double max_or_nan(double a, double b);

/// The smallest value of a compute dtype: -infinity, or the lowest integer.
Expr lowest(ExprPool& pool, DType dtype);

/// A sum of products in the type of the operands: fp64 for floats, wrapping for integers.
class DotProduct {
 public:
  explicit DotProduct(DType dtype) : dtype_(dtype) {}
  void add(const Tensor& a, int64_t i, const Tensor& b, int64_t j);
  void add(const Tensor& a, int64_t i);
  void store(Tensor& y, int64_t k) const;

 private:
  DType dtype_;
  double real_ = 0;
  uint64_t integer_ = 0;  // wraps around at 64 bits, narrower where stored
};

}  // namespace ingot::ops
