// kernel/scalar.h: the meaning of every expression kind on single values; folding and the
// interpreter both ask here.
#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernel/expr.h"
#include "kernel/stmt.h"

namespace ingot {

/// Whether values of the type are held as integers: ints and b8.
constexpr bool is_integral(DType dtype) {
  return is_int(dtype) || dtype == DType::b8;
}

/// The value kept in the low bits of an integer type, sign or zero extended. b8: 0 or 1.
int64_t wrap(int64_t value, DType dtype);

Scalar make_integer(int64_t value, DType dtype);
Scalar make_real(double value, DType dtype);
/// Equal bits of meaning: same type and value, NaN equal to NaN, -0 unequal to 0.
bool is_same(const Scalar& a, const Scalar& b);

/// The value of an operation. Every kind except leaves, load and reduce.
/// Shifts: an amount outside [0, width) shifts everything out. pow: x*x, (x*x)*x and 1/x for the
/// exponents 2, 3 and -1 of floats. min and max: -0 is below 0.
Scalar apply(ExprKind kind, DType dtype, std::span<const Scalar> operands);

/// cast, as expr.def says. f32 stays unrounded; narrower formats round.
Scalar cast(const Scalar& value, DType dtype);

/// What a reduction begins with.
Scalar neutral(ReduceKind kind, DType dtype);
/// The next step of a reduction.
Scalar gather(ReduceKind kind, const Scalar& sum, const Scalar& value);

}  // namespace ingot
