// frontend/onnx/ops_linear.cc: matrix products and convolutions, of floats and of integers.
#include <algorithm>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/spatial.h"

namespace ingot::onnx {
namespace {

Result<ValueIds> matmul(OpContext& n) {
  return only(numpy_matmul(n, n.in(0), n.in(1)));
}

/// alpha op(A) op(B) + beta C.
Result<ValueIds> gemm(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const double alpha, n.attr_real("alpha", 1.0));
  TRY(const double beta, n.attr_real("beta", 1.0));
  TRY(const bool turn_a, n.attr_flag("transA", false));
  TRY(const bool turn_b, n.attr_flag("transB", false));
  n.has_attr("broadcast");  // opsets below 7; NumPy's rules cover it
  ValueId a = n.in(0);
  ValueId b = n.in(1);
  if (n.rank(a) != 2 || n.rank(b) != 2) {
    return invalid_model("expected matrices, got inputs of rank ", n.rank(a), " and ", n.rank(b));
  }
  if (turn_a) {
    TRY(a, n.transpose(a, {1, 0}));
  }
  if (turn_b) {
    TRY(b, n.transpose(b, {1, 0}));
  }
  TRY(ValueId y, n.matmul(a, b));
  if (alpha != 1) {
    TRY(y, n.map1(y, [&](Expr e) { return e * n.number(e.dtype(), alpha); }));
  }
  if (!n.has(2) || beta == 0) return ValueIds{y};
  const Exprs dims = n.dims(y);
  TRY(y, n.map2(y, n.in(2), [&](Expr e, Expr c) {
    return e + (beta == 1 ? c : c * n.number(c.dtype(), beta));
  }));
  if (n.dims(y) != dims) {
    return invalid_model("input C: expected dims that broadcast to the product's");
  }
  return ValueIds{y};
}

/// Kernel sizes from kernel_shape or from w [.., .., kernel..].
Result<std::vector<int64_t>> kernel_of(OpContext& n, ValueId w) {
  TRY(std::vector<int64_t> given, n.attr_ints("kernel_shape"));
  std::vector<int64_t> kernel;
  for (int64_t a = 2; a < n.rank(w); ++a) {
    const auto size = n.dim(w, a).as_int();
    if (!size) return unsupported("kernels of unknown size");
    kernel.push_back(*size);
  }
  if (n.has_attr("kernel_shape") && given != kernel) {
    return invalid_model("attribute 'kernel_shape': expected ", kernel,
                         ", as the weights say, got ", given);
  }
  return kernel;
}

/// x [N, C, spatial..] convolved with w [OC, C/groups, kernel..].
Result<ValueId> convolution(OpContext& n, ValueId x, ValueId w, ValueId bias) {
  if (n.rank(x) < 3 || n.rank(w) != n.rank(x)) {
    return invalid_model("expected input and weights of one rank above 2, got ", n.rank(x), " and ",
                         n.rank(w));
  }
  TRY(std::vector<int64_t> kernel, kernel_of(n, w));
  TRY(const Spatial s, read_spatial(n, x, std::move(kernel)));
  TRY(const int64_t groups, n.attr_int("group", 1));
  TRY(const ValueId last, channels_last(n, x));
  TRY(const ValueId padded, pad_open(n, last, s, 0));
  // [OC, C/groups, kernel..] -> [kernel.., C/groups, OC]
  std::vector<int64_t> order = Builder::all_axes(n.rank(w));
  std::rotate(order.begin(), order.begin() + 2, order.end());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  TRY(const ValueId weights, n.transpose(w, std::move(order)));
  Attributes attributes = s.attributes();
  attributes["groups"] = groups;
  ValueIds inputs = {padded, weights};
  if (bias.valid()) inputs.push_back(bias);
  TRY(const ValueId y, n.add("conv", attributes, std::move(inputs)));
  return channels_first(n, y);
}

Result<ValueIds> conv(OpContext& n) {
  return only(convolution(n, n.in(0), n.in(1), n.in(2)));
}

// -- transposed convolution: zeros between the elements of x, then a convolution with w mirrored --

/// w [C, OC/groups, kernel..] -> [kernel.., C/groups, OC], mirrored.
Result<ValueId> mirrored_weights(OpContext& n, ValueId w, int64_t groups) {
  const auto c = n.dim(w, 0).as_int();
  if (!c || groups < 1 || *c % groups != 0) {
    return invalid_model("attribute 'group': ", groups, " does not divide the input channels");
  }
  Exprs dims = n.dims(w);
  dims[0] = n.integer(*c / groups);
  dims.insert(dims.begin(), n.integer(groups));
  TRY(const ValueId grouped, n.reshape(w, dims));  // [g, C/g, OC/g, kernel..]
  std::vector<int64_t> order;
  for (int64_t a = 3; a < n.rank(grouped); ++a) order.push_back(a);
  order.insert(order.end(), {1, 0, 2});
  TRY(const ValueId turned, n.transpose(grouped, std::move(order)));
  Exprs joined = n.dims(turned);  // [kernel.., C/g, g, OC/g]
  joined.pop_back();
  joined.back() = n.dim(w, 1) * groups;
  TRY(ValueId y, n.reshape(turned, std::move(joined)));
  for (int64_t a = 0; a < n.rank(y) - 2; ++a) {
    TRY(y, n.slice_axis(y, a, n.dim(y, a) - 1, n.dim(y, a), -1));
  }
  return y;
}

/// x [N, spatial.., C] with stride - 1 zeros after every element but the last.
Result<ValueId> spread(OpContext& n, ValueId x, const std::vector<int64_t>& strides) {
  for (size_t k = 0; k < strides.size(); ++k) {
    if (strides[k] == 1) continue;
    const int64_t axis = static_cast<int64_t>(k) + 1;
    const Expr length = n.dim(x, axis);
    Exprs apart = n.dims(x);
    apart.insert(apart.begin() + axis + 1, n.integer(1));
    TRY(const ValueId single, n.reshape(x, apart));
    Exprs none(apart.size(), n.integer(0));
    Exprs after = none;
    after[static_cast<size_t>(axis) + 1] = n.integer(strides[k] - 1);
    TRY(const ValueId padded, n.pad(single, none, after, "constant", ValueId()));
    Exprs joined = n.dims(x);
    joined[static_cast<size_t>(axis)] = length * strides[k];
    TRY(const ValueId whole, n.reshape(padded, std::move(joined)));
    TRY(x, n.slice_axis(whole, axis, n.integer(0),
                        max(length * strides[k] - (strides[k] - 1), n.integer(0))));
  }
  return x;
}

/// Errors: invalid_model for numbers that are no size of a dim.
Status check_extents(std::string_view attribute, const std::vector<int64_t>& values) {
  for (const int64_t value : values) {
    if (value >= 0 && value <= kMaxDim) continue;
    return invalid_model("attribute '", attribute, "': expected 0 to ", kMaxDim, ", got ", value);
  }
  return ok();
}

/// Where output_shape or auto_pad says how large the result is, the padding follows from it.
/// Source: ONNX ConvTranspose-11.
Status pads_from_output(OpContext& n, ValueId x, std::vector<int64_t>& output_padding, Spatial& s) {
  TRY(const std::string auto_pad, n.attr_text("auto_pad", "NOTSET"));
  TRY(const std::vector<int64_t> shape, n.attr_ints("output_shape"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!n.has_attr("output_shape") && !same) return ok();
  if (!shape.empty() && shape.size() != s.rank()) {
    return invalid_model("attribute 'output_shape': expected ", s.rank(), " numbers, got ",
                         shape.size());
  }
  TRY_STATUS(check_extents("output_shape", shape));
  s.open_begin.clear();
  s.open_end.clear();
  for (size_t k = 0; k < s.rank(); ++k) {
    const auto in = n.dim(x, static_cast<int64_t>(k) + 2).as_int();
    if (!in) return unsupported("output_shape or auto_pad SAME over run-time dims");
    const int64_t wanted = shape.empty() ? *in * s.strides[k] : shape[k];
    const int64_t natural = (*in - 1) * s.strides[k] + output_padding[k] + s.reach(k);
    const int64_t total = std::max<int64_t>(natural - wanted, 0);
    output_padding[k] += std::max<int64_t>(wanted - natural, 0);
    const int64_t half = total / 2;
    s.pads_begin[k] = auto_pad == "SAME_UPPER" ? half : total - half;
    s.pads_end[k] = total - s.pads_begin[k];
  }
  return ok();
}

Result<ValueIds> conv_transpose(OpContext& n) {
  const ValueId x = n.in(0);
  const ValueId w = n.in(1);
  if (n.rank(x) < 3 || n.rank(w) != n.rank(x)) {
    return invalid_model("expected input and weights of one rank above 2, got ", n.rank(x), " and ",
                         n.rank(w));
  }
  TRY(std::vector<int64_t> kernel, kernel_of(n, w));
  TRY(Spatial s, read_spatial(n, x, std::move(kernel)));
  TRY(const int64_t groups, n.attr_int("group", 1));
  TRY(std::vector<int64_t> output_padding, n.attr_ints("output_padding"));
  if (output_padding.empty()) output_padding.assign(s.rank(), 0);
  if (output_padding.size() != s.rank()) {
    return invalid_model("attribute 'output_padding': expected ", s.rank(), " numbers, got ",
                         output_padding.size());
  }
  TRY_STATUS(check_extents("output_padding", output_padding));
  TRY_STATUS(pads_from_output(n, x, output_padding, s));
  TRY(const ValueId weights, mirrored_weights(n, w, groups));
  TRY(const ValueId last, channels_last(n, x));
  TRY(const ValueId wide, spread(n, last, s.strides));

  // The whole result, of which the padding is cut off; what can be left out at once is.
  Spatial direct = s;
  std::vector<int64_t> cut(s.rank(), 0);
  Exprs sizes;
  for (size_t k = 0; k < s.rank(); ++k) {
    direct.strides[k] = 1;
    const int64_t border = s.reach(k) - 1;
    const int64_t before = border - s.pads_begin[k];
    const int64_t after = border - s.pads_end[k] + output_padding[k];
    direct.pads_begin[k] = std::max<int64_t>(before, 0);
    direct.pads_end[k] = std::max<int64_t>(after, 0);
    cut[k] = std::max<int64_t>(-before, 0);
    const Expr in = n.dim(x, static_cast<int64_t>(k) + 2);
    sizes.push_back((in - 1) * s.strides[k] + (output_padding[k] + s.reach(k)) -
                    (s.pads_begin[k] + s.pads_end[k]));
  }
  Attributes attributes = direct.attributes();
  attributes["groups"] = groups;
  ValueIds inputs = {wide, weights};
  if (n.has(2)) inputs.push_back(n.in(2));
  TRY(ValueId y, n.add("conv", attributes, std::move(inputs)));
  for (size_t k = 0; k < s.rank(); ++k) {
    const int64_t axis = static_cast<int64_t>(k) + 1;
    if (cut[k] == 0 && s.pads_end[k] <= s.reach(k) - 1 + output_padding[k]) continue;
    TRY(y, n.slice_axis(y, axis, n.integer(cut[k]), sizes[k]));
  }
  return only(channels_first(n, y));
}

// -- integers: differences from zero points, products in i32 --

Result<ValueIds> matmul_integer(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  return only(integer_matmul(n, n.in(0), n.in(2), n.in(1), n.in(3)));
}

Result<ValueIds> conv_integer(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId x, without_zero(n, n.in(0), n.in(2), -1));
  TRY(const ValueId w, without_zero(n, n.in(1), n.in(3), 0));
  return only(convolution(n, x, w, ValueId()));
}

/// a_scale * b_scale / y_scale.
Result<ValueId> joint_scale(OpContext& n, ValueId a, ValueId b, ValueId y) {
  return n.map(DType::f32, {a, b, y}, [](std::span<const Expr> p) {
    return cast(p[0], DType::f32) * cast(p[1], DType::f32) / cast(p[2], DType::f32);
  });
}

Result<ValueIds> qlinear_matmul(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId acc, integer_matmul(n, n.in(0), n.in(2), n.in(3), n.in(5)));
  ValueId a_scale = n.in(1);
  if (n.rank(a_scale) == 1 && !n.dim(a_scale, 0).is_int(1)) {
    TRY(a_scale, n.reshape(a_scale, {n.dim(a_scale, 0), n.integer(1)}));
  }
  TRY(const ValueId scale, joint_scale(n, a_scale, n.in(4), n.in(6)));
  return only(requantized(n, acc, scale, n.in(7)));
}

Result<ValueIds> qlinear_conv(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId x, without_zero(n, n.in(0), n.in(2), -1));
  TRY(const ValueId w, without_zero(n, n.in(3), n.in(5), 0));
  TRY(const ValueId acc, convolution(n, x, w, n.in(8)));
  TRY(ValueId scale, joint_scale(n, n.in(1), n.in(4), n.in(6)));
  if (n.rank(scale) == 1) {
    Exprs dims(static_cast<size_t>(n.rank(acc) - 1), n.integer(1));
    dims[0] = n.dim(scale, 0);
    TRY(scale, n.reshape(scale, std::move(dims)));
  }
  return only(requantized(n, acc, scale, n.in(7)));
}

// -- determinants: elimination, the largest element of a column in front --

/// One step of elimination on m [B, k, k]: the pivot with its sign [B, 1, 1], and what is left of
/// m, [B, k - 1, k - 1].
struct Elimination {
  ValueId pivot;
  ValueId rest;
};

Result<Elimination> eliminate(OpContext& n, ValueId m, int64_t size) {
  const DType dtype = n.dtype(m);
  const Expr batch = n.dim(m, 0), one = n.integer(1);
  const auto row_of = [&](ValueId x, int64_t first, int64_t count) {
    return n.slice_axis(x, 1, n.integer(first), n.integer(count));
  };
  const auto column_of = [&](ValueId x, int64_t first, int64_t count) {
    return n.slice_axis(x, 2, n.integer(first), n.integer(count));
  };
  TRY(const ValueId column, column_of(m, 0, 1));
  TRY(const ValueId magnitude, n.map1(column, [](Expr e) { return unary(ExprKind::abs, e); }));
  TRY(const ValueId largest,
      n.add("arg_reduce", {{"axis", int64_t{1}}, {"keepdims", true}}, {magnitude}));  // [B, 1, 1]
  TRY(const ValueId rows, n.reshape(m, {batch * size, n.integer(size)}));
  TRY(const ValueId b, n.iota({batch, one}, 0));
  TRY(const ValueId flat, n.reshape(largest, {batch, one}));
  TRY(const ValueId at, n.map2(b, flat, [&](Expr i, Expr p) { return i * size + p; }));
  TRY(const ValueId chosen, n.gather(rows, at, 0));  // [B, 1, k]
  TRY(const ValueId head, column_of(chosen, 0, 1));
  Elimination e;
  TRY(e.pivot, n.map(dtype, {head, largest}, [&](std::span<const Expr> p) {
    return select(equal(p[1], n.integer(0)), p[0], -p[0]);
  }));
  if (size == 1) return e;
  // The chosen row and the first one change places.
  TRY(const ValueId first, row_of(m, 0, 1));
  TRY(const ValueId others, row_of(m, 1, size - 1));
  TRY(const ValueId i, n.iota({n.integer(size - 1), one}, 0));
  TRY(const ValueId swapped, n.map(dtype, {others, first, i, largest}, [](std::span<const Expr> p) {
    return select(equal(p[2] + 1, p[3]), p[1], p[0]);
  }));
  TRY(const ValueId left, column_of(swapped, 0, 1));
  TRY(const ValueId right, column_of(swapped, 1, size - 1));
  TRY(const ValueId top, column_of(chosen, 1, size - 1));
  TRY(e.rest, n.map(dtype, {right, left, head, top}, [&](std::span<const Expr> p) {
    const Expr zero = n.number(dtype, 0);
    const Expr factor = select(equal(p[2], zero), zero, p[1] / p[2]);
    return p[0] - factor * p[3];
  }));
  return e;
}

Result<ValueIds> determinant(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank < 2) return invalid_model("expected matrices, got rank ", rank);
  const auto size = n.dim(x, rank - 1).as_int();
  constexpr int64_t kLargest = 32;  // a few nodes for each column
  if (!size || !n.dim(x, rank - 2).is_int(*size) || *size > kLargest) {
    return unsupported("determinants but of square matrices of a known size up to ", kLargest);
  }
  const Exprs outer(n.dims(x).begin(), n.dims(x).end() - 2);
  TRY(ValueId m, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(m, n.reshape(m, {n.count(n.dims(x), 0, rank - 2), n.integer(*size), n.integer(*size)}));
  TRY(ValueId y, n.fill(n.dtype(m), 1, {n.integer(1), n.integer(1), n.integer(1)}));
  for (int64_t k = *size; k > 0; --k) {
    TRY(const Elimination e, eliminate(n, m, k));
    TRY(y, n.map2(y, e.pivot, [](Expr a, Expr b) { return a * b; }));
    m = e.rest;
  }
  TRY(y, n.cast(y, n.dtype(x)));
  if (*size == 0) return only(n.fill(n.dtype(x), 1, outer));
  return only(n.reshape(y, outer));
}

constexpr OpRow kRows[] = {
    {"Conv", 1, 2, 3, conv},
    {"ConvInteger", 10, 2, 4, conv_integer},
    {"ConvTranspose", 1, 2, 3, conv_transpose},
    {"Det", 11, 1, 1, determinant},
    {"Gemm", 1, 2, 3, gemm},
    {"MatMul", 1, 2, 2, matmul},
    {"MatMulInteger", 10, 2, 4, matmul_integer},
    {"QLinearConv", 10, 8, 9, qlinear_conv},
    {"QLinearMatMul", 10, 8, 8, qlinear_matmul},
};

}  // namespace

std::span<const OpRow> linear_rows() {
  return kRows;
}

}  // namespace ingot::onnx
