// frontend/onnx/ops_window.cc: pools, over windows and over everything.
#include <limits>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/spatial.h"

namespace ingot::onnx {
namespace {

Result<Spatial> pool_spatial(OpContext& n) {
  TRY(std::vector<int64_t> kernel, n.attr_ints("kernel_shape"));
  if (!n.has_attr("kernel_shape")) {
    return invalid_model("the attribute 'kernel_shape' is missing");
  }
  return read_spatial(n, n.in(0), std::move(kernel));
}

/// One pool over x [N, C, spatial..].
Result<ValueId> pool(OpContext& n, ValueId x, const Spatial& s, std::string kind,
                     bool count_include_pad) {
  TRY(const bool ceil_mode, n.attr_flag("ceil_mode", false));
  TRY(const ValueId last, channels_last(n, x));
  TRY(const ValueId padded,
      pad_open(n, last, s, kind == "max" ? -std::numeric_limits<double>::infinity() : 0));
  Attributes attributes = s.attributes();
  attributes["kind"] = std::move(kind);
  attributes["kernel"] = s.kernel;
  attributes["ceil_mode"] = ceil_mode;
  attributes["count_include_pad"] = count_include_pad;
  TRY(const ValueId y, n.add("pool", attributes, {padded}));
  return channels_first(n, y);
}

Result<ValueIds> max_pool(OpContext& n) {
  TRY_STATUS(n.expect_numbers(0, 1));
  TRY(const Spatial s, pool_spatial(n));
  n.has_attr("storage_order");  // concerns the indices alone
  if (n.wants(1)) return unsupported("its output 'Indices'");
  return only(pool(n, n.in(0), s, "max", false));
}

Result<ValueIds> average_pool(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const Spatial s, pool_spatial(n));
  TRY(const bool include_pad, n.attr_flag("count_include_pad", false));
  if (!s.open_begin.empty() && !include_pad) {
    return unsupported("auto_pad SAME with strides over run-time dims");
  }
  return only(pool(n, n.in(0), s, "average", include_pad));
}

std::vector<int64_t> spatial_axes(OpContext& n, ValueId x) {
  std::vector<int64_t> axes;
  for (int64_t a = 2; a < n.rank(x); ++a) axes.push_back(a);
  return axes;
}

Result<ValueIds> global_average_pool(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  if (n.rank(x) < 3) return ValueIds{x};
  TRY(const ValueId y, n.mean(x, spatial_axes(n, x), true));
  return only(n.cast(y, n.dtype(x)));
}

Result<ValueIds> global_max_pool(OpContext& n) {
  TRY_STATUS(n.expect_numbers(0, 1));
  return only(n.reduce(ReduceKind::max, n.in(0), spatial_axes(n, n.in(0)), true));
}

/// |x|^p, and the root of a sum of such.
Result<ValueId> power(OpContext& n, ValueId x, double p) {
  return n.map1(x, [&](Expr e) {
    const Expr magnitude = unary(ExprKind::abs, e);
    if (p == 1) return magnitude;
    return p == 2 ? e * e : pow(magnitude, n.number(e.dtype(), p));
  });
}

Result<ValueId> root(OpContext& n, ValueId sum, double p) {
  return n.map1(sum, [&](Expr e) {
    if (p == 1) return e;
    return p == 2 ? sqrt(e) : pow(e, n.number(e.dtype(), 1 / p));
  });
}

/// p is an int from opset 2 on, a float before.
Result<double> read_p(OpContext& n) {
  if (n.opset() < 2) return n.attr_real("p", 2.0);
  TRY(const int64_t p, n.attr_int("p", 2));
  if (p < 1) return invalid_model("attribute 'p': expected 1 or more, got ", p);
  return static_cast<double>(p);
}

Result<ValueIds> global_lp_pool(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const double p, read_p(n));
  const ValueId x = n.in(0);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId powers, power(n, wide, p));
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, powers, spatial_axes(n, x), true));
  TRY(const ValueId y, root(n, sum, p));
  return only(n.cast(y, n.dtype(x)));
}

/// A sum over a window is its average, padding counted, times its size.
Result<ValueIds> lp_pool(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const double p, read_p(n));
  TRY(const Spatial s, pool_spatial(n));
  TRY(const bool ceil_mode, n.attr_flag("ceil_mode", false));
  // A window that hangs over the end has fewer taps, so its average is of fewer.
  if (ceil_mode) return unsupported("ceil_mode");
  const ValueId x = n.in(0);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId powers, power(n, wide, p));
  TRY(const ValueId average, pool(n, powers, s, "average", true));
  double taps = 1;
  for (const int64_t size : s.kernel) taps *= static_cast<double>(size);
  TRY(const ValueId sum, n.map1(average, [&](Expr e) { return e * n.number(e.dtype(), taps); }));
  TRY(const ValueId y, root(n, sum, p));
  return only(n.cast(y, n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"AveragePool", 1, 1, 1, average_pool},
    {"GlobalAveragePool", 1, 1, 1, global_average_pool},
    {"GlobalLpPool", 1, 1, 1, global_lp_pool},
    {"GlobalMaxPool", 1, 1, 1, global_max_pool},
    {"LpPool", 1, 1, 1, lp_pool},
    {"MaxPool", 1, 1, 1, max_pool},
};

}  // namespace

std::span<const OpRow> window_rows() {
  return kRows;
}

}  // namespace ingot::onnx
