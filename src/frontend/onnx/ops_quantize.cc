// frontend/onnx/ops_quantize.cc: linear quantisation, per tensor, per axis and per block.
#include "frontend/onnx/blocks.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/storage.h"

namespace ingot::onnx {
namespace {

/// A scale or zero point as something that broadcasts against x: a number, a list along the axis,
/// or one per block of `block` elements along it.
Result<ValueId> spread_over(OpContext& n, ValueId factor, ValueId x, int64_t block) {
  const int64_t rank = n.rank(x);
  if (n.rank(factor) == 0) return factor;
  // Some files hold a scalar as a list of one, under an axis that means nothing.
  if (n.rank(factor) == 1 && n.dim(factor, 0).is_int(1)) return n.reshape(factor, {});
  TRY(const int64_t axis, n.attr_axis("axis", rank, rank == 1 ? 0 : 1));
  if (block == 0) {
    if (n.rank(factor) != 1) {
      return invalid_model("expected a scale of rank 0 or 1, got ", n.rank(factor));
    }
    Exprs dims(static_cast<size_t>(rank - axis), n.integer(1));
    dims[0] = n.dim(factor, 0);
    return n.reshape(factor, std::move(dims));
  }
  if (n.rank(factor) != rank) {
    return invalid_model("expected a scale of rank ", rank, ", got ", n.rank(factor));
  }
  return repeat_blocks(n, factor, axis, block, n.dim(x, axis));
}

Result<int64_t> block_size(OpContext& n) {
  TRY(const int64_t block, n.attr_int("block_size", 0));
  if (block < 0 || block > kMaxDim) {
    return invalid_model("attribute 'block_size': expected 0 or more, got ", block);
  }
  return block;
}

/// y = saturate(round(x / scale) + zero); floats are not rounded to integers.
Result<ValueIds> quantize(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const ValueId x = n.in(0);
  TRY(const int64_t block, block_size(n));
  TRY(const bool saturate, n.attr_flag("saturate", true));
  DType held = n.has(2) ? n.dtype(n.in(2)) : DType::u8;
  if (n.has_attr("output_dtype")) {
    TRY(const int64_t number, n.attr_int("output_dtype"));
    if (number != 0) {
      TRY(held, n.attr_dtype("output_dtype"));
    }
  }
  n.has_attr("precision");
  n.has_attr("axis");
  TRY(const ValueId scale, spread_over(n, n.in(1), x, block));
  ValueIds xs = {x, scale};
  if (n.has(2) && !is_float(held)) {
    TRY(const ValueId zero, spread_over(n, n.in(2), x, block));
    xs.push_back(zero);
  }
  return only(n.map(held, xs, [&](std::span<const Expr> p) {
    const Expr scaled = cast(p[0], DType::f32) / cast(p[1], DType::f32);
    if (is_float(held)) return storable(scaled, held, {.saturate = saturate});
    const Expr whole = unary(ExprKind::round, scaled);
    return p.size() > 2 ? whole + cast(p[2], DType::f32) : whole;
  }));
}

/// y = (x - zero) * scale, in the type of the scale.
Result<ValueIds> dequantize(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  if (n.has(2) && n.dtype(n.in(2)) != n.dtype(n.in(0))) {
    return invalid_model("expected a zero point of ", n.dtype(n.in(0)), ", got ", n.dtype(n.in(2)));
  }
  const ValueId x = n.in(0);
  TRY(const int64_t block, block_size(n));
  DType held = n.dtype(n.in(1));
  if (n.has_attr("output_dtype")) {
    TRY(const int64_t number, n.attr_int("output_dtype"));
    if (number != 0) {
      TRY(held, n.attr_dtype("output_dtype"));
    }
  }
  n.has_attr("axis");
  TRY(const ValueId scale, spread_over(n, n.in(1), x, block));
  ValueIds xs = {x, scale};
  if (n.has(2)) {
    TRY(const ValueId zero, spread_over(n, n.in(2), x, block));
    xs.push_back(zero);
  }
  return only(n.map(held, xs, [&](std::span<const Expr> p) {
    const auto wide = [](Expr e) {
      return is_float(e.dtype()) ? cast(e, DType::f32) : cast(e, DType::i32);
    };
    const Expr centred = p.size() > 2 ? wide(p[0]) - wide(p[2]) : wide(p[0]);
    return cast(centred, DType::f32) * cast(p[1], DType::f32);
  }));
}

/// y as u8 with scale = (max - min) / 255 over a range that includes 0. Also scale and zero point.
Result<ValueIds> dynamic_quantize(OpContext& n) {
  if (n.dtype(n.in(0)) != DType::f32) {
    return invalid_model("expected f32, got ", n.dtype(n.in(0)));
  }
  return n.add_all("dynamic_quantize", {}, {n.in(0)});
}

constexpr OpRow kRows[] = {
    {"DequantizeLinear", 10, 2, 3, dequantize},
    {"DynamicQuantizeLinear", 11, 1, 1, dynamic_quantize},
    {"QuantizeLinear", 10, 2, 3, quantize},
};

}  // namespace

std::span<const OpRow> quantize_rows() {
  return kRows;
}

}  // namespace ingot::onnx
