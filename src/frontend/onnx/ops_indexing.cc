// frontend/onnx/ops_indexing.cc: choosing elements by index, and masks made from indices.
#include <algorithm>

#include "base/text.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// Indices as i64.
Result<ValueId> wide_indices(OpContext& n, ValueId indices) {
  if (!is_int(n.dtype(indices))) {
    return invalid_model("expected integer indices, got ", n.dtype(indices));
  }
  return n.cast(indices, DType::i64);
}

Result<ValueIds> gather(OpContext& n) {
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), 0));
  TRY(const ValueId indices, wide_indices(n, n.in(1)));
  return only(n.gather(n.in(0), indices, axis));
}

/// index + dim where it is negative, clamped into the dim so that no data can lead elsewhere.
Expr wrapped(Expr index, Expr dim) {
  const Expr zero = index.pool().integer(0);
  return min(max(select(less(index, zero), index + dim, index), zero), dim - 1);
}

/// Elements of x [dims..] at flat positions.
Result<ValueId> take_flat(OpContext& n, ValueId x, ValueId positions) {
  TRY(const ValueId flat, n.reshape(x, {n.count(n.dims(x), 0, n.rank(x))}));
  return n.gather(flat, positions, 0);
}

/// y[i..] = x[i.., with indices[i..] at axis].
Result<ValueIds> gather_elements(OpContext& n) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  TRY(const int64_t axis, n.attr_axis("axis", rank, 0));
  if (n.rank(n.in(1)) != rank) {
    return invalid_model("expected indices of rank ", rank, ", got ", n.rank(n.in(1)));
  }
  TRY(ValueId indices, wide_indices(n, n.in(1)));
  const Exprs dims = n.dims(indices);
  const Exprs strides = row_major_strides(n.pool(), n.dims(x));
  ValueIds operands = {indices};
  std::vector<size_t> axes;
  for (int64_t a = 0; a < rank; ++a) {
    if (a == axis) continue;
    TRY(const ValueId at, n.iota(dims, a));
    operands.push_back(at);
    axes.push_back(static_cast<size_t>(a));
  }
  const size_t along = static_cast<size_t>(axis);
  TRY(const ValueId positions, n.map(DType::i64, operands, [&](std::span<const Expr> p) {
    Expr offset = wrapped(p[0], n.dims(x)[along]) * strides[along];
    for (size_t k = 0; k < axes.size(); ++k) offset = offset + p[k + 1] * strides[axes[k]];
    return offset;
  }));
  return only(take_flat(n, x, positions));
}

/// indices [.., k] hold k-tuples into x's dims after `batch_dims` common ones.
Result<ValueIds> gather_nd(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t batch, n.attr_int("batch_dims", 0));
  TRY(ValueId indices, wide_indices(n, n.in(1)));
  const int64_t q = n.rank(indices);
  if (q < 1 || n.rank(x) < 1) return invalid_model("expected data and indices of rank 1 or more");
  const auto tuple = n.dim(indices, q - 1).as_int();
  if (!tuple) return unsupported("index tuples of unknown length");
  if (batch < 0 || batch >= std::min(q, n.rank(x)) || *tuple < 1 || *tuple > n.rank(x) - batch) {
    return invalid_model("expected index tuples of 1 to ", n.rank(x) - batch, ", got ", *tuple,
                         " with ", batch, " batch dims");
  }
  // The dims that indices choose from, batch dims first, become one dim of slices.
  const int64_t chosen = batch + *tuple;
  Exprs flat = {n.count(n.dims(x), 0, chosen)};
  flat.insert(flat.end(), n.dims(x).begin() + chosen, n.dims(x).end());
  TRY(const ValueId slices, n.reshape(x, std::move(flat)));
  const Exprs head(n.dims(x).begin(), n.dims(x).begin() + chosen);
  const Exprs strides = row_major_strides(n.pool(), head);

  Exprs outer(n.dims(indices).begin(), n.dims(indices).end() - 1);
  ValueIds operands;
  for (int64_t k = 0; k < *tuple; ++k) {
    TRY(const ValueId column, n.slice_axis(indices, q - 1, n.integer(k), n.integer(1)));
    TRY(const ValueId coordinate, n.reshape(column, outer));
    operands.push_back(coordinate);
  }
  for (int64_t a = 0; a < batch; ++a) {
    TRY(const ValueId at, n.iota(outer, a));
    operands.push_back(at);
  }
  TRY(const ValueId positions, n.map(DType::i64, operands, [&](std::span<const Expr> p) {
    Expr offset = n.integer(0);
    for (int64_t k = 0; k < *tuple; ++k) {
      const size_t axis = static_cast<size_t>(batch + k);
      offset = offset + wrapped(p[static_cast<size_t>(k)], head[axis]) * strides[axis];
    }
    for (int64_t a = 0; a < batch; ++a) {
      offset = offset + p[static_cast<size_t>(*tuple + a)] * strides[static_cast<size_t>(a)];
    }
    return offset;
  }));
  return only(n.gather(slices, positions, 0));
}

/// 1 where the index along the new axis is the given one; values [off, on].
Result<ValueIds> one_hot(OpContext& n) {
  const ValueId given = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(given) + 1, -1));
  Expr depth;
  if (n.has(1) && is_float(n.dtype(n.in(1)))) {
    TRY(const std::vector<double> value, n.constant_reals(1, "depth"));
    if (value.size() != 1 || !(value[0] >= 0 && value[0] <= static_cast<double>(kMaxDim))) {
      return invalid_model("input 'depth': expected one number from 0 to ", kMaxDim);
    }
    depth = n.integer(static_cast<int64_t>(value[0]));
  } else {
    TRY(depth, n.content(1, "depth"));
  }
  if (n.rank(n.in(2)) != 1 || !n.dim(n.in(2), 0).is_int(2)) {
    return invalid_model("input 'values': expected two values");
  }
  TRY(const ValueId indices, n.cast(given, DType::i64));
  Exprs dims = n.dims(indices);
  dims.insert(dims.begin() + axis, n.integer(1));
  TRY(const ValueId column, n.reshape(indices, dims));
  dims[static_cast<size_t>(axis)] = depth;
  TRY(const ValueId position, n.iota(dims, axis));
  ValueIds values;
  for (int64_t k = 0; k < 2; ++k) {
    TRY(const ValueId one, n.slice_axis(n.in(2), 0, n.integer(k), n.integer(1)));
    TRY(const ValueId scalar, n.reshape(one, {}));
    values.push_back(scalar);
  }
  return only(n.map(n.dtype(n.in(2)), {column, position, values[0], values[1]},
                    [&](std::span<const Expr> p) {
                      const Expr front = select(less(p[0], n.integer(0)), p[0] + depth, p[0]);
                      return select(equal(front, p[1]), p[3], p[2]);
                    }));
}

/// The triangle on or above (below) diagonal k of the last two dims; zeros elsewhere.
Result<ValueIds> trilu(OpContext& n) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank < 2) return invalid_model("expected an input of rank 2 or more, got ", rank);
  TRY(const bool upper, n.attr_flag("upper", true));
  Expr k = n.integer(0);
  if (n.has(1)) {
    TRY(k, n.content(1, "k"));
  }
  TRY(const ValueId i, n.iota({n.dim(x, rank - 2), n.integer(1)}, 0));
  TRY(const ValueId j, n.iota({n.dim(x, rank - 1)}, 0));
  const DType held = n.dtype(x);
  return only(n.map(held, {x, i, j}, [&](std::span<const Expr> p) {
    const Expr diagonal = p[1] + k;
    const Expr kept = upper ? less_equal(diagonal, p[2]) : less_equal(p[2], diagonal);
    return select(kept, p[0], n.number(held, 0));
  }));
}

Result<ValueIds> nonzero(OpContext& n) {
  return only(n.add("nonzero", {}, {n.in(0)}));
}

constexpr OpRow kRows[] = {
    {"Gather", 1, 2, 2, gather},       {"GatherElements", 11, 2, 2, gather_elements},
    {"GatherND", 11, 2, 2, gather_nd}, {"NonZero", 9, 1, 1, nonzero},
    {"OneHot", 9, 3, 3, one_hot},      {"Trilu", 14, 1, 2, trilu},
};

}  // namespace

std::span<const OpRow> indexing_rows() {
  return kRows;
}

}  // namespace ingot::onnx
