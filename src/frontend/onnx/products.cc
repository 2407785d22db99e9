// frontend/onnx/products.cc: matrix products, zero points taken off, results quantized again.
#include "frontend/onnx/products.h"

namespace ingot::onnx {

Result<ValueId> numpy_matmul(OpContext& n, ValueId a, ValueId b) {
  if (n.rank(a) == 0 || n.rank(b) == 0) {
    return invalid_model("expected inputs of rank 1 or more");
  }
  const bool row = n.rank(a) == 1;
  const bool column = n.rank(b) == 1;
  if (row) {
    TRY(a, n.reshape(a, {n.integer(1), n.dim(a, 0)}));
  }
  if (column) {
    TRY(b, n.reshape(b, {n.dim(b, 0), n.integer(1)}));
  }
  TRY(const ValueId y, n.matmul(a, b));
  if (!row && !column) return y;
  Exprs dims = n.dims(y);
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return n.reshape(y, std::move(dims));
}

Result<ValueId> without_zero(OpContext& n, ValueId x, ValueId zero, int64_t axis) {
  TRY(const ValueId wide, n.cast(x, DType::i32));
  if (!zero.valid()) return wide;
  TRY(ValueId offset, n.cast(zero, DType::i32));
  if (n.rank(offset) == 1 && axis >= 0 && axis < n.rank(x)) {
    Exprs dims(static_cast<size_t>(n.rank(x) - axis), n.integer(1));
    dims[0] = n.dim(offset, 0);
    TRY(offset, n.reshape(offset, std::move(dims)));
  }
  return n.map2(wide, offset, [](Expr a, Expr b) { return a - b; });
}

Result<ValueId> integer_matmul(OpContext& n, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero) {
  TRY(const ValueId left, without_zero(n, a, a_zero, n.rank(a) - 2));
  TRY(const ValueId right, without_zero(n, b, b_zero, n.rank(b) - 1));
  return numpy_matmul(n, left, right);
}

Result<ValueId> requantized(OpContext& n, ValueId acc, ValueId scale, ValueId zero) {
  return n.map(n.dtype(zero), {acc, scale, zero}, [](std::span<const Expr> p) {
    const Expr scaled = unary(ExprKind::round, cast(p[0], DType::f32) * cast(p[1], DType::f32));
    return scaled + cast(p[2], DType::f32);
  });
}

}  // namespace ingot::onnx
