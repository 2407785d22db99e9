// frontend/onnx/storage.cc: saturation and rounding towards narrow types.
#include "frontend/onnx/storage.h"

#include <limits>

namespace ingot::onnx {
namespace {

/// The largest finite number of an 8-bit float format.
double largest(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return 448;
    case DType::f8e4m3fnuz:
      return 240;
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      return 57344;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

/// To a power of two: the nearest one, moved by a step where it lies on the wrong side.
Expr to_power_of_two(Expr x, PowerRounding rounding) {
  const Expr near = cast(cast(x, DType::f8e8m0), DType::f32);
  const Expr two = x.pool().real(2, DType::f32);
  if (rounding == PowerRounding::up) return select(less(near, x), near * two, near);
  if (rounding == PowerRounding::down) return select(less(x, near), near / two, near);
  return near;
}

}  // namespace

Expr storable(Expr e, DType to, StorageOptions options) {
  if (is_int(to) && bits(to) < 8) return cast(cast(e, DType::i32), to);
  if (compute_dtype(to) == to) return e;
  if (bits(to) > 8) return cast(e, to);
  const Expr x = cast(e, DType::f32);
  const auto real = [&](double value) { return x.pool().real(value, DType::f32); };
  if (to == DType::f4e2m1) return cast(select(unary(ExprKind::is_nan, x), real(-0.0), x), to);
  if (to == DType::f8e8m0) return cast(to_power_of_two(x, options.rounding), to);
  if (!options.saturate) return cast(x, to);
  return cast(min(max(x, real(-largest(to))), real(largest(to))), to);
}

}  // namespace ingot::onnx
