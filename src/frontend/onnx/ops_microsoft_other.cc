// frontend/onnx/ops_microsoft_other.cc: onnxruntime's own operators that no fusion makes.
#include <limits>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/positions.h"

namespace ingot::onnx {
namespace {

/// A dim of 1 in front of an axis.
Result<ValueIds> expand_dims(OpContext& n) {
  const int64_t rank = n.rank(n.in(0)) + 1;
  TRY(const int64_t axis, n.number_at(1, "axis"));
  if (axis < -rank || axis >= rank) {
    return invalid_model("input 'axis': expected an axis in [", -rank, ", ", rank, "), got ", axis);
  }
  Exprs dims = n.dims(n.in(0));
  dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), n.integer(1));
  return only(n.reshape(n.in(0), std::move(dims)));
}

/// Numbers may be lists of one, and steps are 1 unless they are given.
Result<ValueIds> range(OpContext& n) {
  ValueIds inputs = n.inputs();
  inputs.resize(3);
  for (ValueId& x : inputs) {
    if (!x.valid()) {
      TRY(x, n.scalar(n.dtype(inputs[0]), 1));
    }
    TRY(x, n.reshape(x, {}));
  }
  return build_as(n, "Range", 11, std::move(inputs));
}

/// Numbers of padding may be a table of one row, and the value a list of one.
Result<ValueIds> pad(OpContext& n) {
  ValueIds inputs = n.inputs();
  if (n.rank(inputs[1]) == 2) {
    TRY(inputs[1], n.reshape(inputs[1], {n.dim(inputs[1], 1)}));
  }
  if (n.has(2)) {
    TRY(inputs[2], n.reshape(inputs[2], {}));
  }
  return build_as(n, "Pad", 11, std::move(inputs));
}

/// Distances of each row of a [M, K] from each of b [N, K].
Result<ValueIds> distances(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  static constexpr std::string_view kMetrics[] = {"sqeuclidean", "euclidean"};
  TRY(const std::string metric, n.attr_text("metric", "sqeuclidean"));
  if (metric != kMetrics[0] && metric != kMetrics[1])
    return unsupported("this measure of distance");
  const ValueId a = n.in(0), b = n.in(1);
  if (n.rank(a) != 2 || n.rank(b) != 2) return invalid_model("expected matrices");
  TRY(const ValueId rows, n.reshape(a, {n.dim(a, 0), n.integer(1), n.dim(a, 1)}));
  TRY(const ValueId squares, n.map2(rows, b, [](Expr x, Expr y) { return (x - y) * (x - y); }));
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, squares, {2}, false));
  if (metric == kMetrics[0]) return ValueIds{sum};
  return only(n.map1(sum, [](Expr e) { return sqrt(e); }));
}

/// All slices of `size` elements along a dim, `step` apart, as one more dim at the end.
Result<ValueIds> unfold(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("dim", n.rank(x), -1));
  TRY(const int64_t size, n.attr_int("size"));
  TRY(const int64_t step, n.attr_int("step", 1));
  if (size < 1 || step < 1 || size > kMaxDim || step > kMaxDim) {
    return invalid_model("expected a size and a step of 1 or more");
  }
  const Expr count = floordiv(n.dim(x, axis) - size, step) + 1;
  TRY(const ValueId slice, n.iota({count, n.integer(1)}, 0));
  TRY(const ValueId inner, n.iota({n.integer(size)}, 0));
  TRY(const ValueId at, n.map2(slice, inner, [&](Expr s, Expr k) { return s * step + k; }));
  TRY(const ValueId y, n.gather(x, at, axis));
  std::vector<int64_t> order;
  for (int64_t a = 0; a < n.rank(y); ++a) {
    if (a != axis + 1) order.push_back(a);
  }
  order.push_back(axis + 1);
  return only(n.transpose(y, std::move(order)));
}

/// One step of Gauss and Jordan on m [B, k, 2k]: column c becomes a unit vector, the largest
/// element from row c on its pivot.
Result<ValueId> cleared_column(OpContext& n, ValueId m, int64_t c, int64_t size) {
  const DType dtype = n.dtype(m);
  const Expr batch = n.dim(m, 0), one = n.integer(1);
  TRY(const ValueId i, n.iota({n.integer(size), one}, 0));
  TRY(const ValueId column, n.slice_axis(m, 2, n.integer(c), one));
  TRY(const ValueId size_of, n.map(dtype, {column, i}, [&](std::span<const Expr> p) {
    return select(less(p[1], n.integer(c)), n.number(dtype, -1), unary(ExprKind::abs, p[0]));
  }));
  TRY(const ValueId largest,
      n.add("arg_reduce", {{"axis", int64_t{1}}, {"keepdims", true}, {"max", true}}, {size_of}));
  TRY(const ValueId rows, n.reshape(m, {batch * size, n.integer(2 * size)}));
  TRY(const ValueId b, n.iota({batch, one}, 0));
  TRY(const ValueId flat, n.reshape(largest, {batch, one}));
  TRY(const ValueId at, n.map2(b, flat, [&](Expr k, Expr p) { return k * size + p; }));
  TRY(const ValueId chosen, n.gather(rows, at, 0));  // [B, 1, 2k]
  TRY(const ValueId first, n.slice_axis(m, 1, n.integer(c), one));
  TRY(const ValueId swapped,
      n.map(dtype, {m, chosen, first, i, largest}, [&](std::span<const Expr> p) {
        return select(equal(p[3], n.integer(c)), p[1], select(equal(p[3], p[4]), p[2], p[0]));
      }));
  TRY(const ValueId pivot, n.slice_axis(chosen, 2, n.integer(c), one));
  TRY(const ValueId factors, n.slice_axis(swapped, 2, n.integer(c), one));
  return n.map(dtype, {swapped, chosen, pivot, factors, i}, [&](std::span<const Expr> p) {
    const Expr unit = p[1] / p[2];
    return select(equal(p[4], n.integer(c)), unit, p[0] - p[3] * unit);
  });
}

Result<ValueIds> inverse(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank < 2) return invalid_model("expected matrices, got rank ", rank);
  const auto size = n.dim(x, rank - 1).as_int();
  constexpr int64_t kLargest = 32;  // a few nodes for each column
  if (!size || *size < 1 || !n.dim(x, rank - 2).is_int(*size) || *size > kLargest) {
    return unsupported("inverses but of square matrices of a known size up to ", kLargest);
  }
  const Exprs dims = n.dims(x);
  const Expr batch = n.count(dims, 0, rank - 2), k = n.integer(*size);
  const DType compute = compute_dtype(n.dtype(x));
  TRY(const ValueId wide, n.cast(x, compute));
  TRY(const ValueId flat, n.reshape(wide, {batch, k, k}));
  TRY(const ValueId i, n.iota({batch, k, k}, 1));
  TRY(const ValueId j, n.iota({k}, 0));
  TRY(const ValueId unit, n.map(compute, {i, j}, [&](std::span<const Expr> p) {
    return select(equal(p[0], p[1]), n.number(compute, 1), n.number(compute, 0));
  }));
  TRY(ValueId m, n.concat({flat, unit}, 2));
  for (int64_t c = 0; c < *size; ++c) {
    TRY(m, cleared_column(n, m, c, *size));
  }
  TRY(const ValueId right, n.slice_axis(m, 2, k, k));
  TRY(const ValueId y, n.cast(right, n.dtype(x)));
  return only(n.reshape(y, dims));
}

/// One coordinate of CropAndResize along a dim of `size`: of `count` samples between the first and
/// last of a box, which lie in [0, 1].
Result<ValueId> crop_places(OpContext& n, ValueId boxes, int64_t first, Expr size, int64_t count) {
  TRY(const ValueId from, n.slice_axis(boxes, 1, n.integer(first), n.integer(1)));
  TRY(const ValueId to, n.slice_axis(boxes, 1, n.integer(first + 2), n.integer(1)));
  TRY(const ValueId step, n.iota({n.integer(count)}, 0));
  return n.map(DType::f32, {from, to, step}, [&](std::span<const Expr> p) {
    const auto real = [&](double value) { return n.number(DType::f32, value); };
    const Expr reach = ingot::cast(size - 1, DType::f32);
    if (count == 1) return real(0.5) * (p[0] + p[1]) * reach;
    const Expr scale = (p[1] - p[0]) * reach / real(static_cast<double>(count - 1));
    return p[0] * reach + ingot::cast(p[2], DType::f32) * scale;
  });
}

/// Where samples of CropAndResize lie: boxes, and coordinates that broadcast to [R, 1, h, w].
struct Crops {
  ValueId picture;  // i64 [R, 1, 1, 1]
  ValueId y, x;     // [R, 1, h, 1], [R, 1, 1, w]
};

/// Elements of the pictures [N, C, H, W] at coordinates rounded by a function.
Result<ValueId> crop_corner(OpContext& n, const Crops& c, ExprKind round_y, ExprKind round_x,
                            double shift) {
  const ValueId pictures = n.in(0);
  const Expr channels = n.dim(pictures, 1), height = n.dim(pictures, 2), width = n.dim(pictures, 3);
  TRY(const ValueId channel, n.iota({channels, n.integer(1), n.integer(1)}, 0));
  TRY(const ValueId at,
      n.map(DType::i64, {c.picture, channel, c.y, c.x}, [&](std::span<const Expr> p) {
        const auto place = [&](Expr e, ExprKind round, Expr size) {
          const Expr whole = unary(round, e + n.number(DType::f32, shift));
          return max(min(ingot::cast(whole, DType::i64), size - 1), n.integer(0));
        };
        return ((p[0] * channels + p[1]) * height + place(p[2], round_y, height)) * width +
               place(p[3], round_x, width);
      }));
  return take_flat(n, pictures, at);
}

/// Source: TensorFlow's crop_and_resize, corners aligned.
Result<ValueIds> crop_and_resize(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  static constexpr std::string_view kModes[] = {"bilinear", "nearest"};
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const double outside, n.attr_real("extrapolation_value", 0.0));
  TRY(const std::vector<int64_t> crop, n.numbers(3, "crop_size"));
  const ValueId pictures = n.in(0), boxes = n.in(1);
  if (n.rank(pictures) != 4 || n.rank(boxes) != 2 || crop.size() != 2 || crop[0] < 1 ||
      crop[1] < 1) {
    return invalid_model("expected pictures of rank 4, boxes of rank 2 and a size of two numbers");
  }
  const Expr count = n.dim(boxes, 0), one = n.integer(1);
  const Expr height = n.dim(pictures, 2), width = n.dim(pictures, 3);
  Crops c;
  TRY(c.picture, n.cast(n.in(2), DType::i64));
  TRY(c.picture,
      n.map1(c.picture, [&](Expr e) { return max(min(e, n.dim(pictures, 0) - 1), n.integer(0)); }));
  TRY(c.picture, n.reshape(c.picture, {count, one, one, one}));
  TRY(c.y, crop_places(n, boxes, 0, height, crop[0]));
  TRY(c.y, n.reshape(c.y, {count, one, n.integer(crop[0]), one}));
  TRY(c.x, crop_places(n, boxes, 1, width, crop[1]));
  TRY(c.x, n.reshape(c.x, {count, one, one, n.integer(crop[1])}));
  ValueIds corners;
  if (mode == 1) {
    TRY(const ValueId nearest, crop_corner(n, c, ExprKind::floor, ExprKind::floor, 0.5));
    corners = {nearest};
  } else {
    for (const ExprKind y : {ExprKind::floor, ExprKind::ceil}) {
      for (const ExprKind x : {ExprKind::floor, ExprKind::ceil}) {
        TRY(const ValueId corner, crop_corner(n, c, y, x, 0));
        corners.push_back(corner);
      }
    }
  }
  ValueIds xs = {c.y, c.x};
  xs.insert(xs.end(), corners.begin(), corners.end());
  return only(n.map(n.dtype(pictures), xs, [&](std::span<const Expr> p) {
    const auto inside = [&](Expr e, Expr size) {
      return logical_and(less_equal(n.number(DType::f32, 0), e),
                         less_equal(e, ingot::cast(size - 1, DType::f32)));
    };
    Expr y = p[2];
    if (mode == 0) {
      const Expr fy = p[0] - unary(ExprKind::floor, p[0]), fx = p[1] - unary(ExprKind::floor, p[1]);
      const Expr top = p[2] + (p[3] - p[2]) * fx, bottom = p[4] + (p[5] - p[4]) * fx;
      y = top + (bottom - top) * fy;
    }
    return select(logical_and(inside(p[0], height), inside(p[1], width)), y,
                  n.number(y.dtype(), outside));
  }));
}

/// Scores [B, V] that are -infinity for tokens which would end a run of `ngram_size` tokens that
/// ids [B, S] have had already.
Result<ValueIds> no_repeated_run(OpContext& n) {
  TRY_STATUS(n.expect_floats(1, 2));
  TRY(const int64_t size, n.attr_int("ngram_size"));
  const ValueId scores = n.in(1);
  TRY(const ValueId ids, wide_indices(n, n.in(0)));
  if (n.rank(ids) != 2 || n.rank(scores) != 2) return invalid_model("expected matrices");
  constexpr int64_t kLongest = 64;  // a few nodes for each token of a run
  if (size < 1 || size > kLongest) return unsupported("runs but of 1 to ", kLongest, " tokens");
  const Expr batch = n.dim(ids, 0), length = n.dim(ids, 1), words = n.dim(scores, 1);
  // Runs begin at each place from which `size` tokens are left; the last size - 1 tokens are what
  // their beginnings are compared with.
  const Expr runs = max(length - (size - 1), n.integer(0));
  TRY(const ValueId i, n.iota({batch, n.integer(1)}, 0));
  TRY(const ValueId j, n.iota({runs}, 0));
  TRY(const ValueId flat, n.reshape(ids, {batch * length}));
  const auto token = [&](int64_t step) -> Result<ValueId> {  // of each run
    TRY(const ValueId at, n.map2(i, j, [&](Expr b, Expr k) { return b * length + k + step; }));
    return n.gather(flat, at, 0);
  };
  TRY(const ValueId last, token(size - 1));
  ValueIds xs = {last, i};
  for (int64_t step = 0; step + 1 < size; ++step) {
    TRY(const ValueId had, token(step));
    TRY(const ValueId at, n.map1(i, [&](Expr b) {
      return max(b * length + length - (size - 1) + step, n.integer(0));
    }));
    TRY(const ValueId now, n.gather(flat, at, 0));
    TRY(const ValueId same,
        n.map(DType::b8, {had, now}, [](std::span<const Expr> p) { return equal(p[0], p[1]); }));
    xs.push_back(same);
  }
  TRY(const ValueId at, n.map(DType::i64, xs, [&](std::span<const Expr> p) {
    Expr repeats = logical_and(less_equal(n.integer(0), p[0]), less(p[0], words));
    for (const Expr same : p.subspan(2)) repeats = logical_and(repeats, same);
    return select(repeats, p[1] * words + p[0], n.integer(-1));
  }));
  TRY(const ValueId list, n.reshape(scores, {batch * words}));
  TRY(const ValueId none,
      n.fill(n.dtype(scores), -std::numeric_limits<double>::infinity(), {batch, runs}));
  TRY(const ValueId y, scatter_rows(n, list, at, none, {}));
  return only(n.reshape(y, {batch, words}));
}

constexpr OpRow kRows[] = {
    {"com.microsoft.CDist", 1, 2, 2, distances},
    {"com.microsoft.CropAndResize", 1, 4, 4, crop_and_resize},
    {"com.microsoft.ExpandDims", 1, 2, 2, expand_dims},
    {"com.microsoft.GatherND", 1, 2, 2, [](OpContext& n) { return build_as(n, "GatherND", 11); }},
    {"com.microsoft.GridSample", 1, 2, 2,
     [](OpContext& n) { return build_as(n, "GridSample", 16); }},
    {"com.microsoft.Inverse", 1, 1, 1, inverse},
    {"com.microsoft.NGramRepeatBlock", 1, 2, 2, no_repeated_run},
    {"com.microsoft.Pad", 1, 2, 3, pad},
    {"com.microsoft.Range", 1, 2, 3, range},
    {"com.microsoft.Trilu", 1, 1, 2, [](OpContext& n) { return build_as(n, "Trilu", 14); }},
    {"com.microsoft.UnfoldTensor", 1, 1, 1, unfold},
};

}  // namespace

std::span<const OpRow> microsoft_other_rows() {
  return kRows;
}

}  // namespace ingot::onnx
