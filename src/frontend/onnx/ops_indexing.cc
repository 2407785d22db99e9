// frontend/onnx/ops_indexing.cc: choosing elements by index, and masks made from indices.
#include <algorithm>

#include "base/text.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/positions.h"

namespace ingot::onnx {
namespace {

Result<ValueIds> gather(OpContext& n) {
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), 0));
  TRY(const ValueId indices, wide_indices(n, n.in(1)));
  return only(n.gather(n.in(0), indices, axis));
}

/// y[i..] = x[i.., with indices[i..] at axis].
Result<ValueIds> gather_elements(OpContext& n) {
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), 0));
  TRY(const ValueId positions, element_positions(n, n.in(0), n.in(1), axis, Outside::clamp));
  return only(take_flat(n, n.in(0), positions));
}

/// indices [.., k] hold k-tuples into x's dims after `batch_dims` common ones.
Result<ValueIds> gather_nd(OpContext& n) {
  TRY(const int64_t batch, n.attr_int("batch_dims", 0));
  TRY(const Slices slices, tuple_positions(n, n.in(0), n.in(1), batch, Outside::clamp));
  return only(n.gather(slices.x, slices.positions, 0));
}

/// 1 where the index along the new axis is the given one; values [off, on].
Result<ValueIds> one_hot(OpContext& n) {
  const ValueId given = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(given) + 1, -1));
  Expr depth;
  const bool is_real = is_float(n.dtype(n.in(1)));
  if (is_real && n.graph().constant(n.in(1)) == nullptr) {
    TRY(const ValueId whole, n.cast(n.in(1), DType::i64));
    TRY(const Exprs read, n.contents_of(whole, "depth"));
    if (read.size() != 1) return invalid_model("input 'depth': expected one number");
    depth = max(read[0], n.integer(0));
  } else if (is_real) {
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
  TRY(const ValueId hot, n.map(DType::b8, {column, position}, [&](std::span<const Expr> p) {
    return equal(select(less(p[0], n.integer(0)), p[0] + depth, p[0]), p[1]);
  }));
  return only(n.choose(hot, values[1], values[0]));
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

/// The first elements of each sequence in reverse order. Source: ONNX ReverseSequence-10.
Result<ValueIds> reverse_sequence(OpContext& n) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank < 2 || n.rank(n.in(1)) != 1) {
    return invalid_model("expected an input of rank 2 or more and a list of lengths");
  }
  TRY(const int64_t batch, n.attr_axis("batch_axis", rank, 1));
  TRY(const int64_t time, n.attr_axis("time_axis", rank, 0));
  if (batch == time) return invalid_model("batch_axis and time_axis are both ", time);
  TRY(const ValueId lengths, n.cast(n.in(1), DType::i64));
  // With time and batch in front, rows of a flat [T * B, ..] in another order.
  std::vector<int64_t> order = {time, batch};
  for (int64_t a = 0; a < rank; ++a) {
    if (a != time && a != batch) order.push_back(a);
  }
  std::vector<int64_t> back(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  }
  TRY(const ValueId front, n.transpose(x, std::move(order)));
  const Exprs dims = n.dims(front);
  TRY(const ValueId t, n.iota({dims[0], n.integer(1)}, 0));
  TRY(const ValueId b, n.iota({dims[1]}, 0));
  TRY(const ValueId row, n.map(DType::i64, {t, b, lengths}, [&](std::span<const Expr> p) {
    const Expr turned = max(p[2] - 1 - p[0], n.integer(0));
    return select(less(p[0], p[2]), turned, p[0]) * dims[1] + p[1];
  }));
  Exprs flat(dims.begin() + 1, dims.end());
  flat[0] = dims[0] * dims[1];
  TRY(const ValueId rows, n.reshape(front, std::move(flat)));
  TRY(const ValueId y, n.gather(rows, row, 0));
  return only(n.transpose(y, std::move(back)));
}

// ---- storing by index ----

/// The attribute 'reduction': how updates meet what is there.
Result<std::optional<ReduceKind>> read_reduction(OpContext& n) {
  constexpr std::string_view kNames[] = {"none", "add", "mul", "min", "max"};
  constexpr ReduceKind kKinds[] = {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                   ReduceKind::max};
  TRY(const size_t which, n.attr_choice("reduction", kNames, 0));
  if (which == 0) return std::optional<ReduceKind>();
  return std::optional(kKinds[which - 1]);
}

/// x with x[i.., with indices[i..] at axis] = updates[i..].
Result<ValueIds> scatter_elements(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(x), 0));
  TRY(const auto combine, read_reduction(n));
  TRY(const ValueId positions, element_positions(n, x, n.in(1), axis, Outside::skip));
  TRY(const ValueId flat, n.reshape(x, {n.count(n.dims(x), 0, n.rank(x))}));
  TRY(const ValueId y, scatter_rows(n, flat, positions, n.in(2), combine));
  return only(n.reshape(y, n.dims(x)));
}

/// x with the slices that index tuples name replaced.
Result<ValueIds> scatter_nd(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const auto combine, read_reduction(n));
  TRY(const Slices slices, tuple_positions(n, x, n.in(1), 0, Outside::skip));
  TRY(const ValueId y, scatter_rows(n, slices.x, slices.positions, n.in(2), combine));
  return only(n.reshape(y, n.dims(x)));
}

/// A cache with an update written from write_indices[batch] on, along an axis that may wrap around.
Result<ValueIds> tensor_scatter(OpContext& n) {
  const ValueId x = n.in(0);
  const ValueId update = n.in(1);
  const int64_t rank = n.rank(x);
  TRY(const int64_t axis, n.attr_axis("axis", rank, -2));
  constexpr std::string_view kModes[] = {"linear", "circular"};
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  if (n.rank(update) != rank) {
    return invalid_model("expected an update of rank ", rank, ", got ", n.rank(update));
  }
  Exprs dims = n.dims(update);
  const Expr length = n.dim(x, axis);
  TRY(ValueId at, n.iota(dims, axis));
  if (n.has(2)) {
    TRY(const ValueId first, wide_indices(n, n.in(2)));
    Exprs column(static_cast<size_t>(rank), n.integer(1));
    column[0] = n.dim(first, 0);
    TRY(const ValueId placed, n.reshape(first, std::move(column)));
    TRY(at, n.map2(at, placed, [&](Expr i, Expr from) {
      return mode == 1 ? floormod(i + from, length) : i + from;
    }));
  }
  TRY(const ValueId positions, element_positions(n, x, at, axis, Outside::skip));
  TRY(const ValueId flat, n.reshape(x, {n.count(n.dims(x), 0, rank)}));
  TRY(const ValueId y, scatter_rows(n, flat, positions, update, {}));
  return only(n.reshape(y, n.dims(x)));
}

constexpr OpRow kRows[] = {
    {"Gather", 1, 2, 2, gather},
    {"GatherElements", 11, 2, 2, gather_elements},
    {"GatherND", 11, 2, 2, gather_nd},
    {"NonZero", 9, 1, 1, nonzero},
    {"OneHot", 9, 3, 3, one_hot},
    {"ReverseSequence", 10, 2, 2, reverse_sequence},
    {"Scatter", 9, 3, 3, scatter_elements},
    {"ScatterElements", 11, 3, 3, scatter_elements},
    {"ScatterND", 11, 3, 3, scatter_nd},
    {"TensorScatter", 24, 2, 3, tensor_scatter},
    {"Trilu", 14, 1, 2, trilu},
};

}  // namespace

std::span<const OpRow> indexing_rows() {
  return kRows;
}

}  // namespace ingot::onnx
