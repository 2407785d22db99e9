// frontend/onnx/ops_microsoft_elementwise.cc: onnxruntime's fused activations, biases and
// residuals.
#include "frontend/onnx/activation.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// One expression of the sum of all inputs, in the type of the first.
template <auto kFn>
Result<ValueIds> of_sum(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, n.input_count()));
  return only(n.map(n.dtype(n.in(0)), n.all_inputs(), [](std::span<const Expr> p) {
    Expr sum = p[0];
    for (const Expr e : p.subspan(1)) sum = sum + ingot::cast(e, sum.dtype());
    return kFn(sum);
  }));
}

constexpr auto kSame = [](Expr x) { return x; };

Result<ValueIds> quick_gelu(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const double alpha, n.attr_real("alpha", 1.702));
  return only(n.map1(n.in(0), [&](Expr x) { return swish(x, alpha); }));
}

/// The left half of x + bias times gelu of the right half.
Result<ValueIds> bias_split_gelu(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  TRY(const ValueId sum, n.map2(n.in(0), n.in(1), [](Expr x, Expr b) { return x + b; }));
  const int64_t last = n.rank(sum) - 1;
  const Expr half = floordiv(n.dim(sum, last), 2);
  TRY(const ValueId left, n.slice_axis(sum, last, n.integer(0), half));
  TRY(const ValueId right, n.slice_axis(sum, last, half, half));
  return only(n.map2(left, right, [](Expr a, Expr b) { return a * gelu(b); }));
}

/// Inference: nothing is dropped.
Result<ValueIds> bias_dropout(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  ValueIds xs = {n.in(0), n.in(1)};
  if (n.has(2)) xs.push_back(n.in(2));
  TRY(const ValueId sum, n.map(n.dtype(xs[0]), xs, [](std::span<const Expr> p) {
    return p.size() > 2 ? p[0] + p[1] + p[2] : p[0] + p[1];
  }));
  return build_as(n, "Dropout", 13, {sum, n.in(3), n.in(4)});
}

/// Softmax over the dims from `axis` on, as one.
Result<ValueIds> bias_softmax(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  // Which dims the bias is repeated over is seen from its own.
  n.has_attr("is_inner_broadcast");
  const Exprs dims = n.dims(n.in(0));
  TRY(const ValueId sum, n.map2(n.in(0), n.in(1), [](Expr x, Expr b) { return x + b; }));
  if (n.dims(sum) != dims) return invalid_model("expected a bias that is repeated over the data");
  return build_as(n, "Softmax", 11, {sum});
}

/// Whether no element of any input is infinite or NaN.
Result<ValueIds> is_all_finite(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, n.input_count()));
  TRY(const bool only_nan, n.attr_flag("isnan_only", false));
  TRY(const bool only_inf, n.attr_flag("isinf_only", false));
  if (only_nan && only_inf) return invalid_model("isnan_only and isinf_only exclude each other");
  ValueIds found;
  for (const ValueId x : n.all_inputs()) {
    TRY(const ValueId good, n.map(DType::b8, {x}, [&](std::span<const Expr> p) {
      const Expr nan = unary(ExprKind::is_nan, p[0]), inf = unary(ExprKind::is_inf, p[0]);
      return logical_not(only_nan ? nan : only_inf ? inf : logical_or(nan, inf));
    }));
    TRY(const ValueId all, n.reduce(ReduceKind::all, good, Builder::all_axes(n.rank(x)), false));
    found.push_back(all);
  }
  return only(n.map(DType::b8, found, [](std::span<const Expr> p) {
    Expr all = p[0];
    for (const Expr e : p.subspan(1)) all = logical_and(all, e);
    return all;
  }));
}

constexpr OpRow kRows[] = {
    {"com.microsoft.BiasAdd", 1, 3, 3, of_sum<kSame>},
    {"com.microsoft.BiasDropout", 1, 2, 5, bias_dropout},
    {"com.microsoft.BiasGelu", 1, 2, 2, of_sum<gelu>},
    {"com.microsoft.BiasSoftmax", 1, 2, 2, bias_softmax},
    {"com.microsoft.BiasSplitGelu", 1, 2, 2, bias_split_gelu},
    {"com.microsoft.FastGelu", 1, 1, 2, of_sum<gelu_by_tanh>},
    {"com.microsoft.Gelu", 1, 1, 1, of_sum<gelu>},
    {"com.microsoft.IsAllFinite", 1, 1, kVariadic, is_all_finite},
    {"com.microsoft.QuickGelu", 1, 1, 1, quick_gelu},
};

}  // namespace

std::span<const OpRow> microsoft_elementwise_rows() {
  return kRows;
}

}  // namespace ingot::onnx
