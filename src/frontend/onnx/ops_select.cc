// frontend/onnx/ops_select.cc: choosing elements by their values: TopK, NonMaxSuppression,
// Compress, Unique.
#include <limits>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/positions.h"

namespace ingot::onnx {
namespace {

Result<ValueIds> top_k(OpContext& n, Expr k, bool largest) {
  TRY_STATUS(n.expect_numbers(0, 1));
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(x), -1));
  const Expr length = n.dim(x, axis);
  if (!k.as_int() || !length.as_int()) k = min(max(k, n.integer(0)), length);
  return n.add_all("topk", {{"axis", axis}, {"largest", largest}, {"count", k}}, {x});
}

/// k as an attribute.
Result<ValueIds> top_k_1(OpContext& n) {
  TRY(const int64_t k, n.attr_int("k"));
  return top_k(n, n.integer(k), true);
}

Result<ValueIds> top_k_10(OpContext& n) {
  TRY(const Expr k, n.content(1, "K"));
  TRY(const bool largest, n.attr_flag("largest", true));
  n.has_attr("sorted");  // sorted is one of the orders that unsorted allows
  return top_k(n, k, largest);
}

/// Input k as one number of a type, or `otherwise`.
Result<ValueId> one_number(OpContext& n, size_t k, DType dtype, double otherwise) {
  if (!n.has(k)) return n.scalar(dtype, otherwise);
  TRY(const ValueId flat, n.reshape(n.in(k), {}));
  return n.cast(flat, dtype);
}

Result<ValueIds> non_max_suppression(OpContext& n) {
  TRY(const bool centre, n.attr_flag("center_point_box", false));
  TRY(const ValueId most, one_number(n, 2, DType::i64, 0));
  TRY(const ValueId overlap, one_number(n, 3, DType::f32, 0));
  TRY(const ValueId score, one_number(n, 4, DType::f32, -std::numeric_limits<double>::infinity()));
  return only(
      n.add("non_max_suppression", {{"centre", centre}}, {n.in(0), n.in(1), most, overlap, score}));
}

/// The slices of x along an axis, or its elements, whose condition holds.
Result<ValueIds> compress(OpContext& n) {
  ValueId x = n.in(0);
  ValueId condition = n.in(1);
  int64_t axis = 0;
  if (n.has_attr("axis")) {
    TRY(axis, n.attr_axis("axis", n.rank(x), 0));
  } else {
    TRY(x, n.reshape(x, {n.count(n.dims(x), 0, n.rank(x))}));
  }
  if (n.rank(condition) != 1) {
    return invalid_model("expected a list of conditions, got rank ", n.rank(condition));
  }
  // What the condition does not speak of is left out; it may speak of more than there is.
  const Expr spoken = min(n.dim(condition, 0), n.dim(x, axis));
  TRY(condition, n.slice_axis(condition, 0, n.integer(0), spoken));
  TRY(const ValueId found, n.add("nonzero", {}, {condition}));
  TRY(const ValueId indices, n.reshape(found, {n.dim(found, 1)}));
  return only(n.gather(x, indices, axis));
}

// ---- Unique ----

/// How many slices of x [n, m] come before each in lexicographic order; i64 [n]. Equal slices have
/// equal ranks.
Result<ValueId> ranks_of(OpContext& n, ValueId x) {
  const Expr count = n.dim(x, 0), width = n.dim(x, 1);
  TRY(const ValueId a, n.reshape(x, {count, n.integer(1), width}));
  TRY(const ValueId b, n.reshape(x, {n.integer(1), count, width}));
  // The first place where slices differ decides: 2 (width - place) + 1 if b comes first.
  TRY(const ValueId place, n.iota({width}, 0));
  TRY(const ValueId difference, n.map(DType::i64, {a, b, place}, [&](std::span<const Expr> p) {
    const Expr weight = (width - p[2]) * 2;
    return select(equal(p[0], p[1]), n.integer(0), select(less(p[1], p[0]), weight + 1, weight));
  }));
  TRY(const ValueId decided, n.reduce(ReduceKind::max, difference, {2}, false));
  TRY(const ValueId before, n.map1(decided, [&](Expr e) {
    return select(less(n.integer(0), e), floormod(e, 2), n.integer(0));
  }));
  return n.reduce(ReduceKind::sum, before, {1}, false);
}

/// Positions along the only axis of keys, in rising order, equal keys as they were.
Result<ValueIds> sorted(OpContext& n, ValueId keys) {
  return n.add_all("topk", {{"axis", int64_t{0}}, {"largest", false}, {"count", n.dim(keys, 0)}},
                   {keys});
}

/// Different elements, or slices along an axis: them, where each was first, which each element is,
/// and how often each occurs; sorted, or by where they were first.
Result<ValueIds> distinct(OpContext& n, bool in_order) {
  ValueId x = n.in(0);
  const bool are_strings = n.dtype(x) == DType::str;
  if (!are_strings) TRY_STATUS(n.expect_numbers(0, 1));
  // What x is sorted by.
  TRY(const ValueId numbers, are_strings ? n.add("string_rank", {}, {x}) : Result<ValueId>(x));
  int64_t axis = 0;
  ValueId keys;
  if (n.has_attr("axis")) {
    TRY(axis, n.attr_axis("axis", n.rank(x), 0));
    std::vector<int64_t> order = {axis};
    for (int64_t a = 0; a < n.rank(x); ++a) {
      if (a != axis) order.push_back(a);
    }
    TRY(const ValueId front, n.transpose(numbers, std::move(order)));
    TRY(const ValueId rows,
        n.reshape(front, {n.dim(front, 0), n.count(n.dims(front), 1, n.rank(front))}));
    TRY(keys, ranks_of(n, rows));
  } else {
    const Expr all = n.count(n.dims(x), 0, n.rank(x));
    TRY(keys, n.reshape(numbers, {all}));
    TRY(x, n.reshape(x, {all}));
  }
  const Expr count = n.dim(keys, 0);
  TRY(const ValueIds order, sorted(n, keys));  // values, positions
  TRY(const ValueId i, n.iota({count}, 0));
  TRY(const ValueId previous, n.map1(i, [&](Expr e) { return max(e - 1, n.integer(0)); }));
  TRY(const ValueId before, n.gather(order[0], previous, 0));
  TRY(const ValueId starts, n.map(DType::b8, {order[0], before, i}, [&](std::span<const Expr> p) {
    return logical_or(equal(p[2], n.integer(0)), logical_not(equal(p[0], p[1])));
  }));
  TRY(const ValueId found, n.add("nonzero", {}, {starts}));
  const Expr groups = n.dim(found, 1);
  TRY(const ValueId first, n.reshape(found, {groups}));  // of each group, in sorted order
  TRY(ValueId indices, n.gather(order[1], first, 0));
  // Which group the elements in sorted order belong to: groups begin at or before them.
  TRY(const ValueId column, n.reshape(i, {count, n.integer(1)}));
  TRY(const ValueId begun, n.map(DType::i64, {first, column}, [&](std::span<const Expr> p) {
    return ingot::cast(less_equal(p[0], p[1]), DType::i64);
  }));
  TRY(const ValueId group_of, n.reduce(ReduceKind::sum, begun, {1}, false));
  TRY(ValueId group, n.map1(group_of, [](Expr e) { return e - 1; }));
  if (!in_order) {
    // Groups by their first element instead.
    TRY(const ValueIds by_place, sorted(n, indices));
    TRY(const ValueId number, n.iota({groups}, 0));
    TRY(const ValueId none, n.fill(DType::i64, 0, {groups}));
    TRY(const ValueId place, scatter_rows(n, none, by_place[1], number, {}));
    indices = by_place[0];
    TRY(group, n.gather(place, group, 0));
  }
  TRY(const ValueId y, n.gather(x, indices, axis));
  TRY(const ValueId zeros, n.fill(DType::i64, 0, {count}));
  TRY(const ValueId inverse, scatter_rows(n, zeros, order[1], group, {}));
  TRY(const ValueId none, n.fill(DType::i64, 0, {groups}));
  TRY(const ValueId ones, n.fill(DType::i64, 1, {count}));
  TRY(const ValueId counts, scatter_rows(n, none, group, ones, ReduceKind::sum));
  return ValueIds{y, indices, inverse, counts};
}

/// Source: ONNX Unique-11.
Result<ValueIds> unique(OpContext& n) {
  TRY(const bool in_order, n.attr_flag("sorted", true));
  return distinct(n, in_order);
}

/// onnxruntime's own, of a list: elements, which each is, counts.
Result<ValueIds> unique_by_first(OpContext& n) {
  TRY(const ValueIds found, distinct(n, false));
  return ValueIds{found[0], found[2], found[3]};
}

constexpr OpRow kRows[] = {
    {"Compress", 9, 2, 2, compress}, {"NonMaxSuppression", 10, 2, 5, non_max_suppression},
    {"TopK", 1, 1, 1, top_k_1},      {"TopK", 10, 2, 2, top_k_10},
    {"Unique", 11, 1, 1, unique},    {"com.microsoft.Unique", 1, 1, 1, unique_by_first},
};

}  // namespace

std::span<const OpRow> select_rows() {
  return kRows;
}

}  // namespace ingot::onnx
