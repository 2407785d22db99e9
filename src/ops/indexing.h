// ops/indexing.h: positions and indices of row-major tensors, as numbers and as expressions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace ingot::ops {

/// Position of `index` in a row-major tensor of `dims`.
int64_t position_of(std::span<const int64_t> dims, std::span<const int64_t> index);

/// Position in a tensor of `dims` that is broadcast to the space of `index`: aligned at the last
/// dim, dims of size 1 repeat.
int64_t broadcast_position(std::span<const int64_t> dims, std::span<const int64_t> index);

/// The same as index expressions: those of an operand of `dims` broadcast to the space of `index`.
Exprs broadcast_index(ExprPool& pool, std::span<const Expr> dims, std::span<const Expr> index);

/// A slice along one axis: `outer` x `length` x `inner` elements.
struct AxisSplit {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  /// Position of element k of the slice (o, i).
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * length + k) * inner + i; }
};
AxisSplit split_at(std::span<const int64_t> dims, int64_t axis);

/// `axis` counted from the front; it must be within the rank.
size_t front_axis(int64_t axis, size_t rank);

/// Reduction over the box of `extents`, the last one innermost: body(j0, j1, ...).
Expr reduce_box(Lowering& k, ReduceKind kind, std::span<const Expr> extents,
                const std::function<Expr(std::span<const Expr>)>& body);

/// lo <= value < hi, without the parts that the ranges of symbols and loops prove.
Expr within(Expr value, Expr lo, Expr hi);

}  // namespace ingot::ops
