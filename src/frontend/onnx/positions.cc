// frontend/onnx/positions.cc: where indices lead, as row-major positions of a tensor.
#include "frontend/onnx/positions.h"

namespace ingot::onnx {
namespace {

/// The sum of coordinates times strides, where negative coordinates count from the end.
class Position {
 public:
  Position(ExprPool& pool, Outside outside)
      : outside_(outside), offset_(pool.integer(0)), inside_(pool.boolean(true)) {}

  void add(Expr index, Expr dim, Expr stride) {
    const Expr zero = index.pool().integer(0);
    const Expr front = select(less(index, zero), index + dim, index);
    if (outside_ == Outside::clamp) {
      offset_ = offset_ + min(max(front, zero), dim - 1) * stride;
    } else {
      inside_ = logical_and(inside_, logical_and(less_equal(zero, front), less(front, dim)));
      offset_ = offset_ + front * stride;
    }
  }
  /// A coordinate that is known to lie inside.
  void add_inner(Expr index, Expr stride) { offset_ = offset_ + index * stride; }
  Expr value() const {
    if (outside_ == Outside::clamp) return offset_;
    return select(inside_, offset_, offset_.pool().integer(-1));
  }

 private:
  Outside outside_;
  Expr offset_;
  Expr inside_;
};

}  // namespace

Result<ValueId> wide_indices(OpContext& n, ValueId indices) {
  if (!is_int(n.dtype(indices))) {
    return invalid_model("expected integer indices, got ", n.dtype(indices));
  }
  return n.cast(indices, DType::i64);
}

Result<ValueId> element_positions(OpContext& n, ValueId x, ValueId indices, int64_t axis,
                                  Outside outside) {
  const int64_t rank = n.rank(x);
  if (n.rank(indices) != rank) {
    return invalid_model("expected indices of rank ", rank, ", got ", n.rank(indices));
  }
  TRY(const ValueId wide, wide_indices(n, indices));
  const Exprs dims = n.dims(wide);
  const Exprs x_dims = n.dims(x);
  const Exprs strides = row_major_strides(n.pool(), x_dims);
  ValueIds operands = {wide};
  std::vector<size_t> axes;
  for (int64_t a = 0; a < rank; ++a) {
    if (a == axis) continue;
    TRY(const ValueId at, n.iota(dims, a));
    operands.push_back(at);
    axes.push_back(static_cast<size_t>(a));
  }
  const auto along = static_cast<size_t>(axis);
  return n.map(DType::i64, operands, [&](std::span<const Expr> p) {
    Position position(n.pool(), outside);
    position.add(p[0], x_dims[along], strides[along]);
    for (size_t k = 0; k < axes.size(); ++k) position.add_inner(p[k + 1], strides[axes[k]]);
    return position.value();
  });
}

Result<Slices> tuple_positions(OpContext& n, ValueId x, ValueId indices, int64_t batch,
                               Outside outside) {
  TRY(const ValueId wide, wide_indices(n, indices));
  const int64_t q = n.rank(wide);
  if (q < 1 || n.rank(x) < 1) return invalid_model("expected data and indices of rank 1 or more");
  const auto tuple = n.dim(wide, q - 1).as_int();
  if (!tuple) return unsupported("index tuples of unknown length");
  if (batch < 0 || batch >= std::min(q, n.rank(x)) || *tuple < 1 || *tuple > n.rank(x) - batch) {
    return invalid_model("expected index tuples and batch dims that data of rank ", n.rank(x),
                         " have, got tuples of ", *tuple, " and ", batch, " batch dims");
  }
  // The dims that indices choose from, batch dims first, become one dim of slices.
  const int64_t chosen = batch + *tuple;
  const Exprs head(n.dims(x).begin(), n.dims(x).begin() + chosen);
  Exprs flat = {n.count(n.dims(x), 0, chosen)};
  flat.insert(flat.end(), n.dims(x).begin() + chosen, n.dims(x).end());
  Slices slices;
  TRY(slices.x, n.reshape(x, std::move(flat)));
  const Exprs strides = row_major_strides(n.pool(), head);

  const Exprs outer(n.dims(wide).begin(), n.dims(wide).end() - 1);
  ValueIds operands;
  for (int64_t k = 0; k < *tuple; ++k) {
    TRY(const ValueId column, n.slice_axis(wide, q - 1, n.integer(k), n.integer(1)));
    TRY(const ValueId coordinate, n.reshape(column, outer));
    operands.push_back(coordinate);
  }
  for (int64_t a = 0; a < batch; ++a) {
    TRY(const ValueId at, n.iota(outer, a));
    operands.push_back(at);
  }
  TRY(slices.positions, n.map(DType::i64, operands, [&](std::span<const Expr> p) {
    Position position(n.pool(), outside);
    for (int64_t k = 0; k < *tuple; ++k) {
      const auto axis = static_cast<size_t>(batch + k);
      position.add(p[static_cast<size_t>(k)], head[axis], strides[axis]);
    }
    for (int64_t a = 0; a < batch; ++a) {
      position.add_inner(p[static_cast<size_t>(*tuple + a)], strides[static_cast<size_t>(a)]);
    }
    return position.value();
  }));
  return slices;
}

Result<ValueId> take_flat(OpContext& n, ValueId x, ValueId positions) {
  TRY(const ValueId flat, n.reshape(x, {n.count(n.dims(x), 0, n.rank(x))}));
  return n.gather(flat, positions, 0);
}

Result<ValueId> scatter_rows(OpContext& n, ValueId x, ValueId positions, ValueId updates,
                             std::optional<ReduceKind> combine) {
  const Expr count = n.count(n.dims(positions), 0, n.rank(positions));
  Exprs dims = {count};
  dims.insert(dims.end(), n.dims(x).begin() + 1, n.dims(x).end());
  TRY(const ValueId list, n.reshape(positions, {count}));
  TRY(const ValueId rows, n.reshape(updates, std::move(dims)));
  return n.add("scatter",
               {{"combine", combine.has_value()}, {"kind", combine.value_or(ReduceKind::sum)}},
               {x, list, rows});
}

}  // namespace ingot::onnx
