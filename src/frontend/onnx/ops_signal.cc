// frontend/onnx/ops_signal.cc: Fourier transforms as products with tables of angles, mel filters.
#include <functional>
#include <numbers>

#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// The two parts of complex numbers, each [.., n]; no imaginary part: real numbers.
struct Complex {
  ValueId re;
  ValueId im;
};

/// x [.., n, 1 or 2] taken apart.
Result<Complex> parts_of(OpContext& n, ValueId x) {
  const int64_t last = n.rank(x) - 1;
  const auto count = n.dim(x, last).as_int();
  if (!count || *count < 1 || *count > 2) {
    return invalid_model("expected real or complex numbers: a last dim of 1 or 2");
  }
  Complex c;
  for (int64_t k = 0; k < *count; ++k) {
    TRY(const ValueId column, n.slice_axis(x, last, n.integer(k), n.integer(1)));
    TRY(const ValueId flat, n.reshape(column, Exprs(n.dims(x).begin(), n.dims(x).end() - 1)));
    (k == 0 ? c.re : c.im) = flat;
  }
  return c;
}

/// [n, k] = cos or sin of 2 pi n k / length. The product is reduced while it is whole, so that long
/// transforms keep their precision.
Result<ValueId> table(OpContext& n, DType dtype, Expr rows, Expr columns, Expr length,
                      ExprKind kind) {
  TRY(const ValueId i, n.iota({rows, n.integer(1)}, 0));
  TRY(const ValueId k, n.iota({columns}, 0));
  return n.map(dtype, {i, k}, [&](std::span<const Expr> p) {
    const auto wide = [](Expr e) { return ingot::cast(e, DType::f64); };
    const Expr turn = n.pool().real(2 * std::numbers::pi, DType::f64);
    const Expr angle = turn * wide(floormod(p[0] * p[1], length)) / wide(length);
    return ingot::cast(unary(kind, angle), dtype);
  });
}

struct Transform {
  Expr length;   // of the transform
  Expr columns;  // numbers of it that are wanted
  bool inverse = false;
};

Result<Complex> transformed(OpContext& n, const Complex& x, const Transform& t);

/// Applies `fn` to the parts that there are.
Result<Complex> each_part(const Complex& x, const std::function<Result<ValueId>(ValueId)>& fn) {
  Complex y;
  TRY(y.re, fn(x.re));
  if (x.im.valid()) {
    TRY(y.im, fn(x.im));
  }
  return y;
}

/// [.., a, b] as [.., b, a].
Result<ValueId> turned(OpContext& n, ValueId x) {
  std::vector<int64_t> order = Builder::all_axes(n.rank(x));
  std::swap(order[order.size() - 2], order.back());
  return n.transpose(x, order);
}

/// A transform of a * b numbers as b of a numbers and a of b numbers: with number b i + j, and
/// a l + k of the result, sums over i, then turns by j k, then sums over j. Shorter sums round
/// less, and take less time. Source: Cooley and Tukey, 1965.
Result<Complex> transformed_in_two(OpContext& n, const Complex& x, const Transform& t, int64_t a,
                                   int64_t b) {
  const DType dtype = n.dtype(x.re);
  Exprs apart = n.dims(x.re);
  const Exprs front(apart.begin(), apart.end() - 1);
  apart.back() = n.integer(a);
  apart.push_back(n.integer(b));
  TRY(const Complex columns, each_part(x, [&](ValueId part) -> Result<ValueId> {
        TRY(const ValueId matrix, n.reshape(part, apart));
        return turned(n, matrix);
      }));
  TRY(Complex y, transformed(n, columns, {n.integer(a), n.integer(a), t.inverse}));
  const auto factor = [&](ExprKind kind) {
    return table(n, dtype, n.integer(b), n.integer(a), n.integer(a * b), kind);
  };
  TRY(const ValueId cosine, factor(ExprKind::cos));
  TRY(const ValueId sine, factor(ExprKind::sin));
  const double sign = t.inverse ? 1 : -1;
  const ValueIds xs = {y.re, y.im, cosine, sine};
  TRY(y.re, n.map(dtype, xs, [&](std::span<const Expr> p) {
    return p[0] * p[2] - p[1] * p[3] * n.number(dtype, sign);
  }));
  TRY(y.im, n.map(dtype, xs, [&](std::span<const Expr> p) {
    return p[1] * p[2] + p[0] * p[3] * n.number(dtype, sign);
  }));
  TRY(y, each_part(y, [&](ValueId part) { return turned(n, part); }));
  TRY(y, transformed(n, y, {n.integer(b), n.integer(b), t.inverse}));
  return each_part(y, [&](ValueId part) -> Result<ValueId> {
    TRY(ValueId whole, turned(n, part));
    Exprs dims = front;
    dims.push_back(t.length);
    TRY(whole, n.reshape(whole, dims));
    return n.slice_axis(whole, std::ssize(front), n.integer(0), t.columns);
  });
}

/// The largest divisor that is not above the root.
int64_t divisor_of(int64_t number) {
  int64_t best = 1;
  for (int64_t d = 2; d * d <= number; ++d) {
    if (number % d == 0) best = d;
  }
  return best;
}

/// Sums of x[.., n] times e^(-+ 2 pi i n k / length).
Result<Complex> transformed(OpContext& n, const Complex& x, const Transform& t) {
  // Below, moving the numbers between the two takes longer than the sums that they save: measured
  // with 400 and 512 numbers.
  constexpr int64_t kLeastParted = 1024;
  const auto length = t.length.as_int();
  if (length && *length >= kLeastParted && n.dims(x.re).back() == t.length) {
    const int64_t a = divisor_of(*length);
    if (a > 2) return transformed_in_two(n, x, t, a, *length / a);
  }
  const Expr rows = n.dims(x.re).back();
  const DType dtype = n.dtype(x.re);
  TRY(const ValueId cosines, table(n, dtype, rows, t.columns, t.length, ExprKind::cos));
  TRY(const ValueId sines, table(n, dtype, rows, t.columns, t.length, ExprKind::sin));
  const double sign = t.inverse ? 1 : -1;
  Complex y;
  TRY(y.re, n.matmul(x.re, cosines));
  TRY(y.im, n.matmul(x.re, sines));
  const auto real = [&](double value) { return n.pool().real(value, dtype); };
  if (!x.im.valid()) {
    TRY(y.im, n.map1(y.im, [&](Expr e) { return e * real(sign); }));
    return y;
  }
  TRY(const ValueId im_cos, n.matmul(x.im, cosines));
  TRY(const ValueId im_sin, n.matmul(x.im, sines));
  TRY(const ValueId re_sin, n.cast(y.im, dtype));
  TRY(y.re, n.map2(y.re, im_sin, [&](Expr a, Expr b) { return a - b * real(sign); }));
  TRY(y.im, n.map2(im_cos, re_sin, [&](Expr a, Expr b) { return a + b * real(sign); }));
  return y;
}

/// [.., k] side by side as [.., k, 2].
Result<ValueId> joined(OpContext& n, const Complex& c) {
  ValueIds columns;
  for (const ValueId part : {c.re, c.im}) {
    Exprs dims = n.dims(part);
    dims.push_back(n.integer(1));
    TRY(const ValueId column, n.reshape(part, std::move(dims)));
    columns.push_back(column);
  }
  const int64_t axis = n.rank(columns[0]) - 1;
  return n.concat(std::move(columns), axis);
}

/// The first `length` elements along the last axis, with zeros behind where there are fewer.
Result<ValueId> of_length(OpContext& n, ValueId x, Expr length) {
  const int64_t last = n.rank(x) - 1;
  const Expr held = n.dim(x, last);
  if (held == length) return x;
  TRY(const ValueId cut, n.slice_axis(x, last, n.integer(0), min(held, length)));
  Exprs none(n.dims(cut).size(), n.integer(0));
  Exprs after = none;
  after.back() = max(length - held, n.integer(0));
  TRY(const ValueId padded, n.pad(cut, none, after, "constant", ValueId()));
  Exprs dims = n.dims(padded);
  dims.back() = length;
  return n.reshape(padded, std::move(dims));
}

/// The real signal whose one-sided spectrum is x [.., k]: what is missing mirrors what is there.
Result<ValueId> real_signal(OpContext& n, Complex x, Expr length) {
  const DType dtype = n.dtype(x.re);
  const Expr bins = floordiv(length, 2) + 1;
  TRY(x.re, of_length(n, x.re, bins));
  TRY(x.im, of_length(n, x.im, bins));
  TRY(const ValueId k, n.iota({bins}, 0));
  const auto real = [&](double value) { return n.pool().real(value, dtype); };
  for (ValueId* part : {&x.re, &x.im}) {
    TRY(*part, n.map(dtype, {*part, k}, [&](std::span<const Expr> p) {
      const Expr alone = logical_or(equal(p[1], n.integer(0)), equal(p[1] * 2, length));
      return p[0] * select(alone, real(1), real(2));
    }));
  }
  TRY(const Complex y, transformed(n, x, {length, length, true}));
  return n.map1(y.re, [&](Expr e) { return e / ingot::cast(length, dtype); });
}

/// Source: ONNX DFT-20. The axis is an attribute in version 17.
Result<ValueIds> dft(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank < 2) return invalid_model("expected an input of rank 2 or more, got ", rank);
  int64_t axis = 1;
  if (n.opset() >= 20) {
    axis = -2;
    if (n.has(2)) {
      TRY(axis, n.number_at(2, "axis"));
    }
    if (axis < -rank || axis >= rank) return invalid_model("input 'axis': got ", axis);
    if (axis < 0) axis += rank;
  } else {
    TRY(axis, n.attr_axis("axis", rank, 1));
  }
  if (axis == rank - 1) return invalid_model("the last dim holds the parts of numbers");
  TRY(const bool inverse, n.attr_flag("inverse", false));
  TRY(const bool onesided, n.attr_flag("onesided", false));
  const DType held = n.dtype(x);
  TRY(ValueId moved, n.cast(x, compute_dtype(held)));
  std::vector<int64_t> order;
  for (int64_t a = 0; a < rank; ++a) {
    if (a != axis && a != rank - 1) order.push_back(a);
  }
  order.insert(order.end(), {axis, rank - 1});
  std::vector<int64_t> back(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  }
  TRY(moved, n.transpose(moved, order));
  TRY(Complex c, parts_of(n, moved));
  Expr length = n.dims(c.re).back();
  if (inverse && onesided) length = (length - 1) * 2;
  if (n.has(1)) {
    TRY(length, n.content(1, "dft_length"));
  }
  ValueId y;
  if (inverse && onesided) {
    if (!c.im.valid()) {
      TRY(c.im, n.map1(c.re, [](Expr e) { return e.pool().real(0, e.dtype()); }));
    }
    TRY(y, real_signal(n, c, length));
    Exprs dims = n.dims(y);
    dims.push_back(n.integer(1));
    TRY(y, n.reshape(y, std::move(dims)));
  } else {
    TRY(c.re, of_length(n, c.re, length));
    if (c.im.valid()) {
      TRY(c.im, of_length(n, c.im, length));
    }
    const Expr columns = onesided ? floordiv(length, 2) + 1 : length;
    TRY(Complex t, transformed(n, c, {length, columns, inverse}));
    if (inverse) {
      for (ValueId* part : {&t.re, &t.im}) {
        TRY(*part, n.map1(*part, [&](Expr e) { return e / ingot::cast(length, e.dtype()); }));
      }
    }
    TRY(y, joined(n, t));
  }
  TRY(y, n.transpose(y, back));
  return only(n.cast(y, held));
}

/// Transforms of overlapping frames [B, T, 1 or 2] -> [B, frames, bins, 2]. Source: ONNX STFT-17.
Result<ValueIds> stft(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  if (n.rank(x) != 3) return invalid_model("expected a signal of rank 3, got ", n.rank(x));
  TRY(const bool onesided, n.attr_flag("onesided", true));
  TRY(const Expr step, n.content(1, "frame_step"));
  Expr length = n.has(2) ? n.dim(n.in(2), 0) : n.dim(x, 1);
  if (n.has(3)) {
    TRY(length, n.content(3, "frame_length"));
  }
  const DType held = n.dtype(x);
  const DType compute = compute_dtype(held);
  const Expr frames =
      max(floordiv(n.dim(x, 1) - length, max(step, n.integer(1))) + 1, n.integer(0));
  TRY(const ValueId wide, n.cast(x, compute));
  TRY(Complex c, parts_of(n, wide));
  TRY(const ValueId frame, n.iota({frames, n.integer(1)}, 0));
  TRY(const ValueId sample, n.iota({length}, 0));
  TRY(const ValueId at, n.map2(frame, sample, [&](Expr f, Expr s) { return f * step + s; }));
  for (ValueId* part : {&c.re, &c.im}) {
    if (!part->valid()) continue;
    TRY(*part, n.gather(*part, at, 1));
    if (n.has(2)) {
      TRY(const ValueId window, n.cast(n.in(2), compute));
      TRY(*part, n.map2(*part, window, [](Expr e, Expr w) { return e * w; }));
    }
  }
  const Expr columns = onesided ? floordiv(length, 2) + 1 : length;
  TRY(const Complex t, transformed(n, c, {length, columns, false}));
  TRY(const ValueId y, joined(n, t));
  return only(n.cast(y, held));
}

/// Triangular filters, evenly spaced in mel. Source: ONNX MelWeightMatrix-17.
Result<ValueIds> mel_weights(OpContext& n) {
  TRY(const DType held, n.attr_dtype("output_datatype", DType::f32));
  TRY(const Expr bins, n.content(0, "num_mel_bins"));
  TRY(const Expr length, n.content(1, "dft_length"));
  const Expr rows = floordiv(length, 2) + 1;
  ValueIds numbers;
  for (const size_t k : {2, 3, 4}) {
    TRY(const ValueId wide, n.cast(n.in(k), DType::f64));
    TRY(const ValueId one, n.reshape(wide, {}));
    numbers.push_back(one);
  }
  const auto real = [&](double value) { return n.pool().real(value, DType::f64); };
  // Edges of the filters in bins of the spectrum.
  TRY(const ValueId edge, n.iota({bins + 2}, 0));
  TRY(const ValueId edges,
      n.map(DType::i64, {edge, numbers[0], numbers[1], numbers[2]}, [&](std::span<const Expr> p) {
        const auto mel = [&](Expr hertz) {
          return real(2595 / std::numbers::ln10) * log(real(1) + hertz / real(700));
        };
        const auto wide = [](Expr e) { return ingot::cast(e, DType::f64); };
        const Expr low = mel(p[2]), high = mel(p[3]);
        const Expr at = wide(p[0]) * ((high - low) / wide(bins + 2)) + low;
        const Expr hertz = real(700) * (exp(at * real(std::numbers::ln10 / 2595)) - real(1));
        return ingot::cast(unary(ExprKind::floor, wide(length + 1) * hertz / p[1]), DType::i64);
      }));
  ValueIds xs;
  for (const int64_t k : {0, 1, 2}) {
    TRY(const ValueId side, n.slice_axis(edges, 0, n.integer(k), bins));
    xs.push_back(side);
  }
  TRY(const ValueId row, n.iota({rows, n.integer(1)}, 0));
  xs.push_back(row);
  return only(n.map(held, xs, [&](std::span<const Expr> p) {
    const DType compute = is_float(held) ? compute_dtype(held) : DType::f32;
    const auto ratio = [&](Expr a, Expr b) {
      return ingot::cast(ingot::cast(a, DType::f64) / ingot::cast(b, DType::f64), compute);
    };
    const Expr low = p[0], centre = p[1], high = p[2], j = p[3];
    const Expr zero = n.pool().real(0, compute), one = n.pool().real(1, compute);
    const Expr rising = select(equal(low, centre), select(equal(j, centre), one, zero),
                               ratio(j - low, max(centre - low, n.integer(1))));
    const Expr falling = ratio(high - j, max(high - centre, n.integer(1)));
    const Expr on_left = logical_and(less_equal(low, j), less_equal(j, centre));
    const Expr on_right = logical_and(less_equal(centre, j), less(j, high));
    return select(on_right, falling, select(on_left, rising, zero));
  }));
}

// -- onnxruntime's own transforms of real signals, over the last dim --

Status expect_one_sided(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const bool one_sided, n.attr_flag("onesided", true));
  TRY(const bool normalized, n.attr_flag("normalized", false));
  TRY(const int64_t dims, n.attr_int("signal_ndim", 1));
  if (!one_sided || normalized || dims != 1) {
    return unsupported("transforms but one-sided ones of one dim, without a factor");
  }
  return ok();
}

Result<ValueIds> rfft(OpContext& n) {
  TRY_STATUS(expect_one_sided(n));
  const ValueId x = n.in(0);
  if (n.rank(x) < 1) return invalid_model("expected a signal, got a scalar");
  const Expr length = n.dim(x, n.rank(x) - 1);
  TRY(const ValueId rows, n.reshape(x, {n.count(n.dims(x), 0, n.rank(x) - 1), length}));
  TRY(const Complex y, transformed(n, {rows, {}}, {length, floordiv(length, 2) + 1}));
  TRY(const ValueId pairs, joined(n, y));
  Exprs dims(n.dims(x).begin(), n.dims(x).end() - 1);
  dims.insert(dims.end(), {n.dim(pairs, 1), n.integer(2)});
  return only(n.reshape(pairs, std::move(dims)));
}

/// As many numbers as an even signal of that spectrum has.
Result<ValueIds> irfft(OpContext& n) {
  TRY_STATUS(expect_one_sided(n));
  const ValueId x = n.in(0);
  if (n.rank(x) < 2) return invalid_model("expected a spectrum, got rank ", n.rank(x));
  Exprs dims(n.dims(x).begin(), n.dims(x).end() - 1);
  const Expr bins = dims.back();
  TRY(const ValueId rows,
      n.reshape(x, {n.count(dims, 0, n.rank(x) - 2), bins, n.dim(x, n.rank(x) - 1)}));
  TRY(const Complex parts, parts_of(n, rows));
  if (!parts.im.valid()) return invalid_model("expected complex numbers: a last dim of 2");
  TRY(const ValueId y, real_signal(n, parts, (bins - 1) * 2));
  dims.back() = (bins - 1) * 2;
  return only(n.reshape(y, std::move(dims)));
}

constexpr OpRow kRows[] = {
    {"DFT", 17, 1, 3, dft},
    {"MelWeightMatrix", 17, 5, 5, mel_weights},
    {"STFT", 17, 2, 4, stft},
    {"com.microsoft.Irfft", 1, 1, 1, irfft},
    {"com.microsoft.Rfft", 1, 1, 1, rfft},
};

}  // namespace

std::span<const OpRow> signal_rows() {
  return kRows;
}

}  // namespace ingot::onnx
