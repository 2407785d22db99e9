// ops/numeric.h: the arithmetic of reference functions: exact integers, NaN-propagating extremes.
#pragma once

#include <cstdint>

#include "ir/op_def.h"

namespace ingot::ops {

/// What remains of `value` in an integer `dtype`: wraps around.
int64_t wrap(DType dtype, int64_t value);
/// a < b as values of `dtype` (u64 is held as its bits).
bool less_integer(DType dtype, int64_t a, int64_t b);
int64_t lowest_integer(DType dtype);
int64_t highest_integer(DType dtype);

/// What a reduction of nothing gives: 0, 1, infinity, -infinity; false, true.
double neutral_real(ReduceKind kind);
int64_t neutral_integer(ReduceKind kind, DType dtype);

/// One step of a reduction. A NaN wins min and max.
double combine(ReduceKind kind, double a, double b);
int64_t combine(ReduceKind kind, DType dtype, int64_t a, int64_t b);

/// The smallest value of a compute dtype as an expression: -infinity, or the lowest integer.
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
  int64_t integer_ = 0;
};

}  // namespace ingot::ops
