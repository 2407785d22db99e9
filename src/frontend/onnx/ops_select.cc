// frontend/onnx/ops_select.cc: choosing elements by their values: TopK, NonMaxSuppression,
// Compress.
#include "frontend/onnx/ops.h"

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

constexpr OpRow kRows[] = {
    {"Compress", 9, 2, 2, compress},
    {"NonMaxSuppression", 10, 2, 5, non_max_suppression},
    {"TopK", 1, 1, 1, top_k_1},
    {"TopK", 10, 2, 2, top_k_10},
};

}  // namespace

std::span<const OpRow> select_rows() {
  return kRows;
}

}  // namespace ingot::onnx
