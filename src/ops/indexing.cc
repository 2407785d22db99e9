// ops/indexing.cc: positions and indices of row-major tensors, as numbers and as expressions.
#include "ops/indexing.h"

namespace ingot::ops {

int64_t position_of(std::span<const int64_t> dims, std::span<const int64_t> index) {
  DCHECK(dims.size() == index.size());
  int64_t position = 0;
  for (size_t a = 0; a < dims.size(); ++a) position = position * dims[a] + index[a];
  return position;
}

int64_t broadcast_position(std::span<const int64_t> dims, std::span<const int64_t> index) {
  const size_t skipped = index.size() - dims.size();
  int64_t position = 0;
  for (size_t a = 0; a < dims.size(); ++a) {
    position = position * dims[a] + (dims[a] == 1 ? 0 : index[skipped + a]);
  }
  return position;
}

Exprs broadcast_index(ExprPool& pool, std::span<const Expr> dims, std::span<const Expr> index) {
  const size_t skipped = index.size() - dims.size();
  Exprs result;
  for (size_t a = 0; a < dims.size(); ++a) {
    result.push_back(dims[a].is_int(1) ? pool.integer(0) : index[skipped + a]);
  }
  return result;
}

AxisSplit split_at(std::span<const int64_t> dims, int64_t axis) {
  AxisSplit split;
  const size_t a = front_axis(axis, dims.size());
  split.outer = count_of(dims.first(a));
  split.length = dims[a];
  split.inner = count_of(dims.subspan(a + 1));
  return split;
}

size_t front_axis(int64_t axis, size_t rank) {
  const auto front = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  CHECK(front < rank, "axis ", axis, " of rank ", rank);
  return front;
}

Expr reduce_box(Lowering& k, ReduceKind kind, std::span<const Expr> extents,
                const std::function<Expr(std::span<const Expr>)>& body) {
  Exprs box_index;
  const std::function<Expr()> level = [&]() -> Expr {
    if (box_index.size() == extents.size()) return body(box_index);
    return k.reduce(kind, extents[box_index.size()], [&](Expr j) {
      box_index.push_back(j);
      const Expr inner = level();
      box_index.pop_back();
      return inner;
    });
  };
  return level();
}

Expr within(Expr value, Expr lo, Expr hi) {
  ExprPool& pool = value.pool();
  Expr condition = pool.boolean(true);
  if (range_of(value - lo).lo < 0) condition = less_equal(lo, value);
  if (range_of(hi - value).lo < 1) condition = logical_and(condition, less(value, hi));
  return condition;
}

}  // namespace ingot::ops
