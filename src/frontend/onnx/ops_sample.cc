// frontend/onnx/ops_sample.cc: pictures read at computed places: GridSample, RoiAlign,
// MaxRoiPool, AffineGrid; and out of files.
#include <cmath>
#include <functional>
#include <limits>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/spatial.h"
#include "frontend/onnx/taps.h"

namespace ingot::onnx {
namespace {

Expr sum(Expr a, Expr b) {
  return a + b;
}
Expr larger(Expr a, Expr b) {
  return max(a, b);
}

// ---- GridSample ----

/// Coordinate `axis` of the grid [N, out.., D], where -1..1 is the picture, in elements.
Result<ValueId> grid_coordinate(OpContext& n, ValueId grid, const Grid& g, size_t axis,
                                bool round) {
  const int64_t last = n.rank(grid) - 1;
  const auto from_end = static_cast<int64_t>(g.sizes.size() - 1 - axis);  // x comes first
  TRY(const ValueId column, n.slice_axis(grid, last, n.integer(from_end), n.integer(1)));
  TRY(const ValueId flat, n.reshape(column, Exprs(n.dims(grid).begin(), n.dims(grid).end() - 1)));
  return n.map(g.compute, {flat}, [&](std::span<const Expr> p) {
    const auto real = [&](double value) { return n.pool().real(value, g.compute); };
    const Expr size = ingot::cast(g.sizes[axis], g.compute);
    const Expr at = ingot::cast(p[0], g.compute);
    const Expr half = real(0.5), one = real(1);
    Expr v = g.align_corners ? (at + one) * half * (size - one) : ((at + one) * size - one) * half;
    if (round) v = unary(ExprKind::round, v);
    const Expr lo = g.align_corners ? real(0) : -half;
    const Expr hi = g.align_corners ? size - one : size - half;
    // Between four neighbours it is them that are kept inside, as in PyTorch.
    if (g.padding == Padding::border && !g.cubic) return min(max(v, real(0)), size - one);
    if (g.padding == Padding::reflection) {
      return select(logical_or(less(v, lo), less(hi, v)), reflected(v, lo, hi), v);
    }
    return v;
  });
}

Result<ValueIds> grid_sample(OpContext& n) {
  TRY_STATUS(n.expect_floats(1, 2));
  const ValueId x = n.in(0);
  const ValueId grid = n.in(1);
  constexpr std::string_view kModes[] = {"linear", "bilinear", "cubic", "bicubic", "nearest"};
  constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const size_t padding, n.attr_choice("padding_mode", kPaddings, 0));
  const bool cubic = mode == 2 || mode == 3, nearest = mode == 4;
  Grid g;
  g.cubic = cubic;
  g.padding = static_cast<Padding>(padding);
  TRY(g.align_corners, n.attr_flag("align_corners", false));
  g.compute = n.dtype(x) == DType::f64 ? DType::f64 : DType::f32;
  const int64_t rank = n.rank(x);
  if (rank < 3 || n.rank(grid) != rank || !n.dims(grid).back().is_int(rank - 2)) {
    return invalid_model("expected X [N, C, D..] and a grid [N, out.., number of D]");
  }
  if (rank > (cubic ? 4 : 5)) return unsupported("so many spatial dims: ", rank - 2);
  g.sizes.assign(n.dims(x).begin() + 2, n.dims(x).end());
  for (size_t k = 0; k < g.sizes.size(); ++k) {
    TRY(const ValueId place, grid_coordinate(n, grid, g, k, nearest));
    g.places.push_back(place);
  }
  TRY(const std::vector<Tap> taps, grid_taps(n, g, nearest));
  TRY(const ValueId rows, rows_of_channels(n, x));
  TRY(const ValueId read, weigh(n, rows, taps, sum));
  TRY(const ValueId y, channels_first(n, read));
  if (is_int(n.dtype(x))) {
    return only(n.map(n.dtype(x), {y}, [](std::span<const Expr> p) { return p[0]; }));
  }
  return only(n.cast(y, n.dtype(x)));
}

// ---- RoiAlign ----

/// Sampled coordinates along one axis, for all regions, output bins and samples of a bin.
struct Samples {
  ValueId at;     // [R, bins, samples]
  ValueId count;  // f32 [R, 1, 1]: samples of the region's bins
  Expr most;      // number of samples, at most
};

struct RoiOptions {
  int64_t ratio = 0;  // samples of a bin; 0: as many as it has elements
  double scale = 1;
  bool half_pixel = false;
};

Result<Samples> sample_axis(OpContext& n, ValueId rois, int64_t column, int64_t bins,
                            const RoiOptions& o) {
  ValueIds ends;
  for (const int64_t k : {column, column + 2}) {
    TRY(const ValueId end, n.slice_axis(rois, 1, n.integer(k), n.integer(1)));
    TRY(const ValueId placed, n.reshape(end, {n.dim(rois, 0), n.integer(1), n.integer(1)}));
    TRY(const ValueId scaled, n.map(DType::f32, {placed}, [&](std::span<const Expr> p) {
      const auto real = [&](double value) { return n.pool().real(value, DType::f32); };
      return ingot::cast(p[0], DType::f32) * real(o.scale) - real(o.half_pixel ? 0.5 : 0);
    }));
    ends.push_back(scaled);
  }
  TRY(const ValueId bin, n.map2(ends[0], ends[1], [&](Expr begin, Expr end) {
    const auto real = [&](double value) { return n.pool().real(value, DType::f32); };
    // A region without an extent is one element wide.
    const Expr extent = o.half_pixel ? end - begin : max(end - begin, real(1));
    return extent / real(static_cast<double>(bins));
  }));
  Samples s;
  if (o.ratio > 0) {
    s.most = n.integer(o.ratio);
    TRY(s.count, n.fill(DType::f32, static_cast<double>(o.ratio),
                        {n.integer(1), n.integer(1), n.integer(1)}));
  } else {
    TRY(s.count, n.map1(bin, [](Expr e) {
      return max(unary(ExprKind::ceil, e), e.pool().real(0, e.dtype()));
    }));
    TRY(const ValueId largest, n.reduce(ReduceKind::max, s.count, {0, 1, 2}, false));
    TRY(const ValueId whole, n.map(DType::i64, {largest}, [&](std::span<const Expr> p) {
      return max(ingot::cast(p[0], DType::i64), n.integer(0));  // no regions: the least number
    }));
    TRY(const Exprs most, n.contents_of(whole, "rois"));
    s.most = most[0].as_int() ? most[0] : max(most[0], n.integer(0));
  }
  TRY(const ValueId i, n.iota({n.integer(bins), n.integer(1)}, 0));
  TRY(const ValueId j, n.iota({s.most}, 0));
  TRY(s.at, n.map(DType::f32, {ends[0], bin, i, j, s.count}, [&](std::span<const Expr> p) {
    const auto wide = [](Expr e) { return ingot::cast(e, DType::f32); };
    const Expr half = n.pool().real(0.5, DType::f32);
    return p[0] + wide(p[2]) * p[1] + (wide(p[3]) + half) * p[1] / p[4];
  }));
  return s;
}

/// A part of a coordinate's linear interpolation: the element before (0) or after (1), and weight.
struct Half {
  ValueId index;
  ValueId weight;
};

Result<Half> half_of(OpContext& n, const Samples& s, Expr size, int64_t which) {
  const auto real = [&](double value) { return n.pool().real(value, DType::f32); };
  const auto low = [&](Expr v) { return min(ingot::cast(max(v, real(0)), DType::i64), size - 1); };
  Half h;
  TRY(h.index, n.map(DType::i64, {s.at}, [&](std::span<const Expr> p) {
    return max(min(low(p[0]) + which, size - 1), n.integer(0));
  }));
  TRY(const ValueId j, n.iota({s.most}, 0));
  TRY(h.weight, n.map(DType::f32, {s.at, j, s.count}, [&](std::span<const Expr> p) {
    const Expr extent = ingot::cast(size, DType::f32);
    const Expr at = min(max(p[0], real(0)), extent - real(1));
    const Expr fraction = at - ingot::cast(low(p[0]), DType::f32);
    const Expr weight = which == 0 ? real(1) - fraction : fraction;
    const Expr outside = logical_or(less(p[0], real(-1)), less(extent, p[0]));
    const Expr beyond = less_equal(p[2], ingot::cast(p[1], DType::f32));
    return select(logical_or(outside, beyond), real(0), weight);
  }));
  return h;
}

/// A list [R, bins, samples] of the first or second axis in the space [R, h, w, sy, sx].
Result<ValueId> in_space(OpContext& n, ValueId x, bool second) {
  const Exprs d = n.dims(x);
  const Expr one = n.integer(1);
  return n.reshape(x,
                   second ? Exprs{d[0], one, d[1], one, d[2]} : Exprs{d[0], d[1], one, d[2], one});
}

Result<ValueIds> roi_align(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  const ValueId x = n.in(0);
  const ValueId rois = n.in(1);
  if (n.rank(x) != 4 || n.rank(rois) != 2 || !n.dim(rois, 1).is_int(4) || n.rank(n.in(2)) != 1) {
    return invalid_model("expected X of rank 4, rois [R, 4] and batch indices [R]");
  }
  constexpr std::string_view kModes[] = {"avg", "max"};
  constexpr std::string_view kTransforms[] = {"output_half_pixel", "half_pixel"};
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const size_t transform,
      n.attr_choice("coordinate_transformation_mode", kTransforms, n.opset() >= 16 ? 1 : 0));
  TRY(const int64_t height, n.attr_int("output_height", 1));
  TRY(const int64_t width, n.attr_int("output_width", 1));
  RoiOptions o;
  TRY(o.ratio, n.attr_int("sampling_ratio", 0));
  TRY(o.scale, n.attr_real("spatial_scale", 1.0));
  o.half_pixel = transform == 1;
  if (height < 1 || width < 1 || height > kMaxDim || width > kMaxDim || o.ratio > kMaxDim) {
    return invalid_model("expected an output of 1 or more, got ", height, " by ", width);
  }
  TRY(const Samples y_samples, sample_axis(n, rois, 1, height, o));
  TRY(const Samples x_samples, sample_axis(n, rois, 0, width, o));
  const Expr h = n.dim(x, 2), w = n.dim(x, 3);
  TRY(const ValueId wide_batch, n.cast(n.in(2), DType::i64));
  const Expr one = n.integer(1);
  TRY(const ValueId batch, n.reshape(wide_batch, {n.dim(rois, 0), one, one, one, one}));
  std::vector<Tap> taps;
  for (const int64_t k : {0, 1, 2, 3}) {
    TRY(Half vertical, half_of(n, y_samples, h, k / 2));
    TRY(Half horizontal, half_of(n, x_samples, w, k % 2));
    TRY(const ValueId row, in_space(n, vertical.index, false));
    TRY(const ValueId column, in_space(n, horizontal.index, true));
    TRY(const ValueId row_weight, in_space(n, vertical.weight, false));
    TRY(const ValueId column_weight, in_space(n, horizontal.weight, true));
    Tap tap;
    TRY(tap.row, n.map(DType::i64, {batch, row, column},
                       [&](std::span<const Expr> p) { return (p[0] * h + p[1]) * w + p[2]; }));
    TRY(tap.weight, n.map2(row_weight, column_weight, [](Expr a, Expr b) { return a * b; }));
    taps.push_back(tap);
  }
  TRY(const ValueId rows, rows_of_channels(n, x));
  TRY(const ValueId read, weigh(n, rows, taps, mode == 0 ? sum : larger));  // [R, h, w, sy, sx, C]
  ValueId y;
  if (mode == 0) {
    TRY(const ValueId total, n.reduce(ReduceKind::sum, read, {3, 4}, false));
    ValueIds xs = {total};
    for (const ValueId count : {y_samples.count, x_samples.count}) {
      Exprs dims = n.dims(count);
      dims.push_back(one);
      TRY(const ValueId spread, n.reshape(count, std::move(dims)));
      xs.push_back(spread);
    }
    TRY(y, n.map(n.dtype(total), xs, [](std::span<const Expr> p) {
      const Expr count = max(p[1] * p[2], p[1].pool().real(1, p[1].dtype()));
      return p[0] / ingot::cast(count, p[0].dtype());
    }));
  } else {
    TRY(y, n.reduce(ReduceKind::max, read, {3, 4}, false));
  }
  TRY(const ValueId first, channels_first(n, y));
  return only(n.cast(first, n.dtype(x)));
}

// ---- AffineGrid ----

/// The places of an output picture [N, C, size..] under theta [N, D, D + 1], as GridSample reads
/// them. Source: ONNX AffineGrid-20.
Result<ValueIds> affine_grid(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId theta = n.in(0);
  TRY(const bool align, n.attr_flag("align_corners", false));
  TRY(const Exprs size, n.contents(1, "size"));
  const auto count = static_cast<int64_t>(size.size()) - 2;
  if (count < 1 || n.rank(theta) != 3 || !n.dim(theta, 1).is_int(count) ||
      !n.dim(theta, 2).is_int(count + 1)) {
    return invalid_model("expected theta [N, D, D + 1] and a size of D + 2 numbers");
  }
  const DType held = n.dtype(theta);
  const DType compute = compute_dtype(held);
  const auto real = [&](double value) { return n.pool().real(value, compute); };
  // Homogeneous coordinates [places, D + 1], x first: from -1 to 1, then 1.
  const Exprs spatial(size.begin() + 2, size.end());
  Exprs column = spatial;
  column.push_back(n.integer(1));
  ValueIds columns;
  for (int64_t k = count - 1; k >= 0; --k) {
    TRY(const ValueId i, n.iota(column, k));
    const Expr length = ingot::cast(spatial[static_cast<size_t>(k)], compute);
    TRY(const ValueId place, n.map(compute, {i}, [&](std::span<const Expr> p) {
      const Expr at = ingot::cast(p[0], compute);
      if (align) return at * real(2) / (length - real(1)) - real(1);
      return (at * real(2) + real(1)) / length - real(1);
    }));
    columns.push_back(place);
  }
  TRY(const ValueId ones, n.fill(compute, 1, column));
  columns.push_back(ones);
  TRY(const ValueId all, n.concat(std::move(columns), count));
  TRY(const ValueId places, n.reshape(all, {n.count(spatial, 0, count), n.integer(count + 1)}));
  TRY(const ValueId wide, n.cast(theta, compute));
  TRY(const ValueId turned, n.transpose(wide, {0, 2, 1}));
  TRY(const ValueId y, n.matmul(places, turned));
  Exprs dims = {n.dim(theta, 0)};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  dims.push_back(n.integer(count));
  TRY(const ValueId grid, n.reshape(y, std::move(dims)));
  return only(n.cast(grid, held));
}

// ---- MaxRoiPool ----

/// Which elements of an axis lie in a bin: those in [begin, end), of `size`.
struct Bins {
  ValueId begin;  // i64 [R, bins]
  ValueId end;    // i64 [R, bins]
  Expr size;
};

/// The bins of every region along one axis. Source: R-CNN's ROI pooling as onnxruntime computes it:
/// corners are rounded, both belong to the region, and bins overlap where they do not divide it.
Result<Bins> bins_of(OpContext& n, ValueId rois, int64_t column, int64_t bins, Expr size,
                     double scale) {
  const auto real = [&](double value) { return n.pool().real(value, DType::f32); };
  const auto whole = [](Expr e) { return ingot::cast(e, DType::i64); };
  ValueIds corners;
  for (const int64_t k : {column, column + 2}) {
    TRY(const ValueId corner, n.slice_axis(rois, 1, n.integer(k), n.integer(1)));
    TRY(const ValueId rounded, n.map(DType::f32, {corner}, [&](std::span<const Expr> p) {
      const Expr x = ingot::cast(p[0], DType::f32) * real(scale);
      const Expr length = unary(ExprKind::abs, x);
      const Expr below = unary(ExprKind::floor, length);
      const Expr nearest = select(less(length - below, real(0.5)), below, below + real(1));
      return select(less(x, real(0)), -nearest, nearest);
    }));
    corners.push_back(rounded);
  }
  TRY(const ValueId bin, n.iota({n.integer(bins)}, 0));
  Bins result{.begin = {}, .end = {}, .size = size};
  for (const bool is_end : {false, true}) {
    TRY((is_end ? result.end : result.begin),
        n.map(DType::i64, {corners[0], corners[1], bin}, [&](std::span<const Expr> p) {
          const Expr extent = max(p[1] - p[0] + real(1), real(1));
          const Expr width = extent / real(static_cast<double>(bins));
          const Expr at = ingot::cast(p[2] + (is_end ? 1 : 0), DType::f32) * width;
          const Expr edge = unary(is_end ? ExprKind::ceil : ExprKind::floor, at);
          return whole(min(max(edge + p[0], real(0)), ingot::cast(size, DType::f32)));
        }));
  }
  return result;
}

/// The largest elements of `x` along `axis`, which the bins [R, bins] placed at `dims` cut out.
Result<ValueId> largest_in(OpContext& n, ValueId x, int64_t axis, const Bins& bins,
                           const Exprs& dims) {
  TRY(const ValueId begin, n.reshape(bins.begin, dims));
  TRY(const ValueId end, n.reshape(bins.end, dims));
  Exprs column(static_cast<size_t>(n.rank(x)), n.integer(1));
  column[static_cast<size_t>(axis)] = bins.size;
  TRY(const ValueId place, n.iota(column, axis));
  TRY(const ValueId cut, n.map(n.dtype(x), {x, begin, end, place}, [&](std::span<const Expr> p) {
    const Expr least = n.pool().real(-std::numeric_limits<double>::infinity(), p[0].dtype());
    return select(logical_and(less_equal(p[1], p[3]), less(p[3], p[2])), p[0], least);
  }));
  return n.reduce(ReduceKind::max, cut, {axis}, false);
}

Result<ValueIds> max_roi_pool(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  const ValueId x = n.in(0);
  const ValueId rois = n.in(1);
  if (n.rank(x) != 4 || n.rank(rois) != 2 || !n.dim(rois, 1).is_int(5)) {
    return invalid_model("expected X of rank 4 and rois [R, 5]");
  }
  TRY(const std::vector<int64_t> pooled, n.attr_ints("pooled_shape"));
  TRY(const double scale, n.attr_real("spatial_scale", 1.0));
  const auto is_size = [](int64_t size) { return size >= 1 && size <= kMaxDim; };
  if (pooled.size() != 2 || !is_size(pooled[0]) || !is_size(pooled[1])) {
    return invalid_model("attribute 'pooled_shape': expected two numbers of 1 or more, got ",
                         pooled);
  }
  const Expr one = n.integer(1), regions = n.dim(rois, 0), channels = n.dim(x, 1);
  const Expr h = n.dim(x, 2), w = n.dim(x, 3);
  const Expr height = n.integer(pooled[0]), width = n.integer(pooled[1]);
  TRY(const Bins rows, bins_of(n, rois, 2, pooled[0], h, scale));
  TRY(const Bins columns, bins_of(n, rois, 1, pooled[1], w, scale));
  TRY(const ValueId first, n.slice_axis(rois, 1, n.integer(0), one));
  TRY(const ValueId numbers, n.reshape(first, {regions}));
  TRY(const ValueId picture, n.cast(numbers, DType::i64));
  TRY(const ValueId chosen, n.gather(x, picture, 0));
  // One axis after the other: a bin is a rectangle.
  TRY(const ValueId spread, n.reshape(chosen, {regions, channels, h, one, w}));
  TRY(const ValueId narrow, largest_in(n, spread, 4, columns, {regions, one, one, width, one}));
  TRY(const ValueId tall, n.reshape(narrow, {regions, channels, one, h, width}));
  TRY(const ValueId read, largest_in(n, tall, 3, rows, {regions, one, height, one, one}));
  ValueIds operands = {read};
  for (const ValueId edge : {rows.begin, rows.end}) {
    TRY(const ValueId placed, n.reshape(edge, {regions, one, height, one}));
    operands.push_back(placed);
  }
  for (const ValueId edge : {columns.begin, columns.end}) {
    TRY(const ValueId placed, n.reshape(edge, {regions, one, one, width}));
    operands.push_back(placed);
  }
  return only(n.map(n.dtype(x), operands, [&](std::span<const Expr> p) {
    const Expr empty = logical_or(less_equal(p[2], p[1]), less_equal(p[4], p[3]));
    return select(empty, n.pool().real(0, p[0].dtype()), p[0]);
  }));
}

/// Source: ONNX ImageDecoder-20.
Result<ValueIds> image_decoder(OpContext& n) {
  static constexpr std::string_view kFormats[] = {"RGB", "BGR", "Grayscale"};  // picture::Pixels
  const ValueId x = n.in(0);
  if (n.rank(x) != 1 || n.dtype(x) != DType::u8) {
    return invalid_model("input 'encoded_stream': expected u8 of rank 1, got ",
                         to_text(n.graph().type(x)));
  }
  TRY(const size_t pixels, n.attr_choice("pixel_format", kFormats, 0));
  return only(n.add("decode_picture", {{"pixels", static_cast<int64_t>(pixels)}}, {x}));
}

constexpr OpRow kRows[] = {
    {"AffineGrid", 20, 2, 2, affine_grid},     {"GridSample", 16, 2, 2, grid_sample},
    {"ImageDecoder", 20, 1, 1, image_decoder}, {"MaxRoiPool", 1, 2, 2, max_roi_pool},
    {"RoiAlign", 10, 3, 3, roi_align},
};

}  // namespace

std::span<const OpRow> sample_rows() {
  return kRows;
}

}  // namespace ingot::onnx
