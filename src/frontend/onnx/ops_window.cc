// frontend/onnx/ops_window.cc: pools, over windows and over everything.
#include <cmath>
#include <limits>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/positions.h"
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

/// Where tap `tap` of window `window` reads along spatial dim k.
Expr place_of(const Spatial& s, size_t k, Expr window, Expr tap) {
  Expr place = window * s.strides[k] + tap * s.dilations[k] - s.pads_begin[k];
  if (!s.open_begin.empty()) place = place - s.open_begin[k];
  return place;
}

/// The windows of x [N, C, spatial..] as [N, C, windows.., taps], `outside` where they hang over.
Result<ValueId> windows_of(OpContext& n, ValueId x, const Spatial& s, const Exprs& windows,
                           double outside) {
  const Exprs sizes = n.dims(x);
  ValueId v = x;
  Expr taps = n.integer(1);
  for (size_t k = 0; k < s.rank(); ++k) {
    const auto axis = static_cast<int64_t>(2 + 2 * k);  // each axis before became two
    const Expr size = sizes[2 + k];
    const Expr count = n.integer(s.kernel[k]);
    TRY(const ValueId window, n.iota({windows[k], n.integer(1)}, 0));
    TRY(const ValueId tap, n.iota({count}, 0));
    TRY(const ValueId place,
        n.map2(window, tap, [&](Expr w, Expr t) { return place_of(s, k, w, t); }));
    TRY(const ValueId inner,
        n.map1(place, [&](Expr e) { return max(min(e, size - 1), n.integer(0)); }));
    TRY(const ValueId read, n.gather(v, inner, axis));
    Exprs dims(static_cast<size_t>(n.rank(read) - axis), n.integer(1));
    dims[0] = windows[k];
    dims[1] = count;
    TRY(const ValueId spread, n.reshape(place, std::move(dims)));
    const DType held = n.dtype(x);
    TRY(v, n.map(held, {read, spread}, [&](std::span<const Expr> p) {
      const Expr inside = logical_and(less_equal(n.integer(0), p[1]), less(p[1], size));
      return select(inside, p[0], n.number(held, outside));
    }));
    taps = taps * s.kernel[k];
  }
  std::vector<int64_t> order = {0, 1};
  for (size_t k = 0; k < s.rank(); ++k) order.push_back(static_cast<int64_t>(2 + 2 * k));
  for (size_t k = 0; k < s.rank(); ++k) order.push_back(static_cast<int64_t>(3 + 2 * k));
  TRY(v, n.transpose(v, std::move(order)));
  Exprs dims(n.dims(v).begin(), n.dims(v).begin() + 2 + static_cast<std::ptrdiff_t>(s.rank()));
  dims.push_back(taps);
  return n.reshape(v, std::move(dims));
}

/// Positions in x [N, C, spatial..] of the maxima of its windows.
Result<ValueId> max_indices(OpContext& n, const Spatial& s, ValueId y, bool column_major) {
  const ValueId x = n.in(0);
  const Exprs sizes = n.dims(x);
  const Exprs dims = n.dims(y);
  const DType held = n.dtype(x);
  const double least = is_float(held)    ? -std::numeric_limits<double>::infinity()
                       : is_signed(held) ? -std::ldexp(1.0, bits(held) - 1)
                                         : 0;
  TRY(const ValueId windows, windows_of(n, x, s, Exprs(dims.begin() + 2, dims.end()), least));
  TRY(const ValueId tap, n.add("arg_reduce", {{"max", true}, {"axis", int64_t{-1}}}, {windows}));
  ValueIds xs = {tap};
  for (int64_t a = 0; a < n.rank(y); ++a) {
    TRY(const ValueId i, n.iota(dims, a));
    xs.push_back(i);
  }
  return n.map(DType::i64, xs, [&](std::span<const Expr> p) {
    Exprs place(s.rank());
    Expr rest = p[0];
    for (size_t k = s.rank(); k-- > 0;) {
      place[k] = place_of(s, k, p[3 + k], floormod(rest, s.kernel[k]));
      rest = floordiv(rest, s.kernel[k]);
    }
    Expr at = p[1] * sizes[1] + p[2];
    for (size_t j = 0; j < s.rank(); ++j) {
      const size_t k = column_major ? s.rank() - 1 - j : j;
      at = at * sizes[2 + k] + place[k];
    }
    return at;
  });
}

Result<ValueIds> max_pool(OpContext& n) {
  TRY_STATUS(n.expect_numbers(0, 1));
  TRY(const Spatial s, pool_spatial(n));
  TRY(const bool column_major, n.attr_flag("storage_order", false));
  TRY(const ValueId y, pool(n, n.in(0), s, "max", false));
  if (!n.wants(1)) return ValueIds{y};
  TRY(const ValueId indices, max_indices(n, s, y, column_major));
  return ValueIds{y, indices};
}

/// Zeros with the elements of x where `indices` say. Source: ONNX MaxUnpool-22.
Result<ValueIds> max_unpool(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const Spatial s, pool_spatial(n));
  Exprs natural(n.dims(x).begin(), n.dims(x).begin() + 2);
  for (size_t k = 0; k < s.rank(); ++k) {
    natural.push_back((n.dims(x)[2 + k] - 1) * s.strides[k] +
                      (s.kernel[k] - s.pads_begin[k] - s.pads_end[k]));
  }
  TRY(const ValueId indices, wide_indices(n, n.in(1)));
  TRY(const ValueId none, n.fill(n.dtype(x), 0, {n.count(natural, 0, n.rank(x))}));
  TRY(const ValueId flat, scatter_rows(n, none, indices, x, {}));
  TRY(ValueId y, n.reshape(flat, natural));
  if (!n.has(2)) return ValueIds{y};
  // Indices speak of the natural size; a larger output has zeros behind.
  TRY(const Exprs wanted, n.contents(2, "output_shape"));
  if (wanted.size() != natural.size()) {
    return invalid_model("input 'output_shape': expected ", natural.size(), " numbers, got ",
                         wanted.size());
  }
  const Exprs begin(wanted.size(), n.integer(0));
  Exprs end;
  for (size_t a = 0; a < wanted.size(); ++a) {
    end.push_back(max(wanted[a] - natural[a], n.integer(0)));
  }
  TRY(y, n.pad(y, begin, end, "constant", ValueId()));
  return only(n.reshape(y, wanted));
}

/// Sums of blocks [N, C * block, blocks] where they overlap in a picture. Source: ONNX Col2Im-18.
Result<ValueIds> col2im(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const Exprs picture, n.contents(1, "image_shape"));
  TRY(std::vector<int64_t> block, n.numbers(2, "block_shape"));
  if (n.rank(x) != 3 || picture.empty() || picture.size() != block.size()) {
    return invalid_model("expected blocks [N, C * block, L] and sizes of one length");
  }
  // The windows of the picture, as a pool of it would see them.
  Exprs like = {n.dim(x, 0), n.integer(1)};
  like.insert(like.end(), picture.begin(), picture.end());
  TRY(const ValueId shape, n.fill(DType::b8, 0, std::move(like)));
  TRY(const Spatial s, read_spatial(n, shape, std::move(block)));
  Exprs dims = {n.dim(x, 0)};
  int64_t taps = 1;
  for (const int64_t size : s.kernel) {
    if (size <= 0 || __builtin_mul_overflow(taps, size, &taps)) {
      return invalid_model(
          "input 'block_shape': expected positive sizes whose product fits 64 bits");
    }
  }
  dims.push_back(floordiv(n.dim(x, 1), taps));
  const Expr channels = dims[1];
  for (const int64_t size : s.kernel) dims.push_back(n.integer(size));
  for (size_t k = 0; k < s.rank(); ++k) {
    dims.push_back(
        floordiv(picture[k] + (s.pads_begin[k] + s.pads_end[k] - s.reach(k)), s.strides[k]) + 1);
  }
  ValueIds indices;
  for (size_t a = 0; a < dims.size(); ++a) {
    TRY(const ValueId i, n.iota(dims, static_cast<int64_t>(a)));
    indices.push_back(i);
  }
  TRY(const ValueId positions, n.map(DType::i64, indices, [&](std::span<const Expr> p) {
    Expr at = p[0] * channels + p[1];
    Expr inside = n.pool().boolean(true);
    for (size_t k = 0; k < s.rank(); ++k) {
      const Expr place = place_of(s, k, p[2 + s.rank() + k], p[2 + k]);
      inside = logical_and(inside,
                           logical_and(less_equal(n.integer(0), place), less(place, picture[k])));
      at = at * picture[k] + place;
    }
    return select(inside, at, n.integer(-1));
  }));
  Exprs out = {dims[0], channels};
  out.insert(out.end(), picture.begin(), picture.end());
  TRY(const ValueId none,
      n.fill(n.dtype(x), 0, {n.count(out, 0, static_cast<int64_t>(out.size()))}));
  TRY(const ValueId flat, scatter_rows(n, none, positions, x, ReduceKind::sum));
  return only(n.reshape(flat, out));
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
  const ValueId x = n.in(0);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId powers, power(n, wide, p));
  if (ceil_mode) {
    // A window that hangs over the end has fewer taps, so its average is of fewer.
    TRY(const ValueId like, pool(n, powers, s, "max", false));
    const Exprs windows(n.dims(like).begin() + 2, n.dims(like).end());
    TRY(const ValueId all, windows_of(n, powers, s, windows, 0));
    TRY(const ValueId total, n.reduce(ReduceKind::sum, all, {n.rank(all) - 1}, false));
    TRY(const ValueId rooted, root(n, total, p));
    return only(n.cast(rooted, n.dtype(x)));
  }
  TRY(const ValueId average, pool(n, powers, s, "average", true));
  double taps = 1;
  for (const int64_t size : s.kernel) taps *= static_cast<double>(size);
  TRY(const ValueId sum, n.map1(average, [&](Expr e) { return e * n.number(e.dtype(), taps); }));
  TRY(const ValueId y, root(n, sum, p));
  return only(n.cast(y, n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"AveragePool", 1, 1, 1, average_pool},
    {"Col2Im", 18, 3, 3, col2im},
    {"GlobalAveragePool", 1, 1, 1, global_average_pool},
    {"GlobalLpPool", 1, 1, 1, global_lp_pool},
    {"GlobalMaxPool", 1, 1, 1, global_max_pool},
    {"LpPool", 1, 1, 1, lp_pool},
    {"MaxPool", 1, 1, 1, max_pool},
    {"MaxUnpool", 9, 2, 3, max_unpool},
};

}  // namespace

std::span<const OpRow> window_rows() {
  return kRows;
}

}  // namespace ingot::onnx
