// frontend/onnx/interpolate.cc: interpolation of a tensor along one axis after the other.
#include "frontend/onnx/interpolate.h"

#include <numeric>

namespace ingot::onnx::interpolation {
namespace {

// ---- coordinates ----

/// Where the elements of an output axis lie in the input: (a * x + b) / c of integers, or, where a
/// region of interest says, a tensor of numbers.
struct Place {
  Expr a, b, c;
  ValueId position;  // f64 [out]
};

void reduce_to_lowest(Place& p) {
  const auto a = p.a.as_int(), b = p.b.as_int(), c = p.c.as_int();
  if (!a || !b || !c) return;
  const int64_t common = std::gcd(std::gcd(*a, *b), *c);
  if (common <= 1) return;
  ExprPool& pool = p.a.pool();
  p.a = pool.integer(*a / common);
  p.b = pool.integer(*b / common);
  p.c = pool.integer(*c / common);
}

/// The coordinates under a scale that is computed; `scale` then only has its rounded size.
Result<ValueId> measured_place(OpContext& n, const Axis& x, const Options& o) {
  TRY(const ValueId i, n.iota({x.out}, 0));
  return n.map(DType::f64, {i, x.measured}, [&](std::span<const Expr> p) {
    const auto wide = [](Expr e) { return ingot::cast(e, DType::f64); };
    const auto real = [&](double value) { return n.number(DType::f64, value); };
    const Expr at = wide(p[0]), scale = wide(p[1]), in = wide(x.in), half = real(0.5);
    const Expr width = scale * in;
    const Expr centred = (at + half) / scale - half;
    switch (o.transform) {
      case Transform::half_pixel:
      case Transform::tf_crop_and_resize:
        return centred;
      case Transform::pytorch_half_pixel:
        return select(equal(width, real(1)), real(0), centred);
      case Transform::align_corners:
        return select(equal(width, real(1)), real(0), at * (in - real(1)) / (width - real(1)));
      case Transform::asymmetric:
        return at / scale;
      case Transform::half_pixel_symmetric:
        return in * half * (real(1) - wide(x.out) / width) + centred;
      case Transform::tf_half_pixel_for_nn:
        return (at + half) / scale;
    }
    INGOT_UNREACHABLE();
  });
}

/// Source: ONNX Resize-19, coordinate_transformation_mode; tf_half_pixel_for_nn from Resize-11.
Result<Place> place_of(OpContext& n, const Axis& x, const Options& o) {
  const auto [num, den] = x.scale;
  const Expr zero = n.integer(0);
  const Expr one = n.integer(1);
  const Place half_pixel = {den * 2, den - num, num * 2, ValueId()};
  Place p;
  if (x.measured.valid() && o.transform != Transform::tf_crop_and_resize) {
    TRY(p.position, measured_place(n, x, o));
    return p;
  }
  switch (o.transform) {
    case Transform::half_pixel:
      p = half_pixel;
      break;
    case Transform::pytorch_half_pixel:
      p = half_pixel;
      p.b = select(equal(x.width.num, x.width.den), zero, p.b);
      break;
    case Transform::align_corners:
      p = {(x.in - 1) * x.width.den, zero, max(x.width.num - x.width.den, one), ValueId()};
      break;
    case Transform::asymmetric:
      p = {den, zero, num, ValueId()};
      break;
    case Transform::half_pixel_symmetric:
      p = half_pixel;
      // The part of the width that `out` lacks is left out on both sides alike.
      if (!x.width.den.is_int(1)) p.b = den + x.in * num - x.out * den - num;
      break;
    case Transform::tf_half_pixel_for_nn:
      p = {den * 2, den, num * 2, ValueId()};
      break;
    case Transform::tf_crop_and_resize: {
      const int64_t rois = n.dim(o.roi, 0).as_int().value_or(0) / 2;
      ValueIds xs;
      for (const int64_t at : {x.place, x.place + rois}) {
        TRY(const ValueId one_roi, n.slice_axis(o.roi, 0, n.integer(at), one));
        xs.push_back(one_roi);
      }
      TRY(const ValueId i, n.iota({x.out}, 0));
      xs.push_back(i);
      const auto wide = [](Expr e) { return ingot::cast(e, DType::f64); };
      TRY(p.position, n.map(DType::f64, xs, [&](std::span<const Expr> v) {
        const Expr begin = wide(v[0]), length = wide(v[1]) - begin, last = wide(x.in - 1);
        const Expr step = length * last / wide(max(x.out - 1, one));
        const Expr centre = length * last / n.number(DType::f64, 2);
        return begin * last + select(equal(x.out, one), centre, wide(v[2]) * step);
      }));
      return p;
    }
  }
  p.c = max(p.c, one);
  reduce_to_lowest(p);
  return p;
}

/// The input element nearest to each output element, within the input; i64 [out].
Result<ValueId> nearest_index(OpContext& n, const Axis& x, const Place& p, Nearest rule) {
  const auto clamped = [&](Expr e) { return max(min(e, x.in - 1), n.integer(0)); };
  if (p.position.valid()) {
    return n.map(DType::i64, {p.position}, [&](std::span<const Expr> v) {
      const Expr half = n.number(DType::f64, 0.5);
      Expr e;
      switch (rule) {
        case Nearest::floor:
          e = unary(ExprKind::floor, v[0]);
          break;
        case Nearest::ceil:
          e = unary(ExprKind::ceil, v[0]);
          break;
        case Nearest::round_prefer_floor:
          e = unary(ExprKind::ceil, v[0] - half);
          break;
        case Nearest::round_prefer_ceil:
          e = unary(ExprKind::floor, v[0] + half);
          break;
      }
      return clamped(ingot::cast(e, DType::i64));
    });
  }
  TRY(const ValueId i, n.iota({x.out}, 0));
  return n.map(DType::i64, {i}, [&](std::span<const Expr> v) {
    const Expr at = p.a * v[0] + p.b;
    Expr e;
    switch (rule) {
      case Nearest::floor:
        e = floordiv(at, p.c);
        break;
      case Nearest::ceil:
        e = floordiv(at + p.c - 1, p.c);
        break;
      case Nearest::round_prefer_floor:
        e = floordiv(at * 2 + p.c - 1, p.c * 2);
        break;
      case Nearest::round_prefer_ceil:
        e = floordiv(at * 2 + p.c, p.c * 2);
        break;
    }
    return clamped(e);
  });
}

/// The input element at or before each output element, unclamped, and how far it lies behind.
struct Between {
  ValueId before;    // i64 [out]
  ValueId fraction;  // [out], in [0, 1)
};

Result<Between> between(OpContext& n, const Axis& x, const Place& p, DType compute) {
  Between b;
  if (p.position.valid()) {
    TRY(b.before, n.map(DType::i64, {p.position}, [](std::span<const Expr> v) {
      return ingot::cast(unary(ExprKind::floor, v[0]), DType::i64);
    }));
    TRY(b.fraction, n.map(compute, {p.position}, [&](std::span<const Expr> v) {
      return ingot::cast(v[0] - unary(ExprKind::floor, v[0]), compute);
    }));
    return b;
  }
  TRY(const ValueId i, n.iota({x.out}, 0));
  TRY(b.before, n.map(DType::i64, {i},
                      [&](std::span<const Expr> v) { return floordiv(p.a * v[0] + p.b, p.c); }));
  TRY(b.fraction, n.map(compute, {i}, [&](std::span<const Expr> v) {
    const Expr at = p.a * v[0] + p.b;
    return ingot::cast(floormod(at, p.c), compute) / ingot::cast(p.c, compute);
  }));
  return b;
}

/// Where a linear interpolation reads, as f32 from a scale in f32. The fraction of integers would
/// be nearer to the standard's real numbers, but what models were trained and are compared with
/// rounds so, and deep networks make much of it: onnxruntime's UpsampleBilinear. None where
/// integers give the same, or the mode has no such form.
Result<ValueId> rounded_position(OpContext& n, const Axis& x, const Options& o) {
  const auto num = x.scale.num.as_int(), den = x.scale.den.as_int();
  const bool whole = num && den && (*num % *den == 0 || *den % *num == 0);
  const bool halves =
      o.transform == Transform::half_pixel || o.transform == Transform::pytorch_half_pixel;
  if (whole || (!halves && o.transform != Transform::asymmetric)) return ValueId();
  TRY(const ValueId i, n.iota({x.out}, 0));
  return n.map(DType::f32, {i}, [&](std::span<const Expr> p) {
    const auto real = [](Expr e) { return ingot::cast(e, DType::f32); };
    const Expr scale = real(x.scale.num) / real(x.scale.den);
    if (!halves) return real(p[0]) / scale;
    const Expr half = n.number(DType::f32, 0.5);
    const Expr at = (real(p[0]) + half) / scale - half;
    if (o.transform == Transform::half_pixel) return at;
    return select(equal(x.width.num, x.width.den), n.number(DType::f32, 0), at);
  });
}

// ---- interpolation along one axis ----

/// A list placed along `axis` of a tensor of that rank.
Result<ValueId> along(OpContext& n, ValueId list, int64_t axis, int64_t rank) {
  Exprs dims(static_cast<size_t>(rank - axis), n.integer(1));
  dims[0] = n.dim(list, 0);
  return n.reshape(list, std::move(dims));
}

/// The kernel of a mode at distance d from its centre. Source: ONNX Resize-19.
Expr kernel_at(const Options& o, Expr d) {
  const auto real = [&](double value) { return d.pool().real(value, d.dtype()); };
  const Expr r = unary(ExprKind::abs, d);
  if (o.mode == Mode::linear) return max(real(1) - r, real(0));
  const Expr a = real(o.cubic_a);
  const Expr inner = ((a + real(2)) * r - (a + real(3))) * r * r + real(1);
  const Expr outer = ((a * r - real(5) * a) * r + real(8) * a) * r - real(4) * a;
  return select(less_equal(r, real(1)), inner, select(less(r, real(2)), outer, real(0)));
}

/// The scale, or 1 if it is above: what the kernel of an antialiased axis is stretched by.
Result<ValueId> shrinking(OpContext& n, const Axis& x, DType compute) {
  const auto limited = [&](Expr e) { return min(e, n.pool().real(1, compute)); };
  if (x.measured.valid()) {
    return n.map(compute, {x.measured},
                 [&](std::span<const Expr> p) { return limited(ingot::cast(p[0], compute)); });
  }
  return n.map(compute, {}, [&](std::span<const Expr>) {
    return limited(ingot::cast(x.scale.num, compute) / ingot::cast(x.scale.den, compute));
  });
}

/// The first of the taps begin .. 1 - begin that a stretched kernel reaches.
Result<Expr> first_tap(OpContext& n, const Axis& x, ValueId shrink, int64_t reach) {
  if (!x.measured.valid()) {
    return floordiv(x.scale.den * -reach, min(x.scale.num, x.scale.den)) + 1;
  }
  TRY(const ValueId begin, n.map(DType::i64, {shrink}, [&](std::span<const Expr> p) {
    const Expr whole = n.pool().real(static_cast<double>(-reach), p[0].dtype()) / p[0];
    return ingot::cast(unary(ExprKind::floor, whole), DType::i64) + 1;
  }));
  TRY(const Exprs found, n.contents_of(begin, "scales"));
  return min(found[0], n.integer(0));
}

/// A sum over all input elements within reach of the kernel, weights and positions as tables
/// [out, taps]. With antialias the kernel grows as the scale shrinks.
Result<ValueId> weighted(OpContext& n, ValueId v, const Axis& x, const Between& at,
                         const Options& o) {
  const DType compute = n.dtype(v);
  const int64_t reach = o.mode == Mode::linear ? 1 : 2;
  // Taps begin .. 1 - begin around the element before.
  Expr begin = n.integer(1 - reach);
  ValueId shrink;  // the scale, or 1 if it is above
  if (o.antialias) {
    TRY(shrink, shrinking(n, x, compute));
    TRY(begin, first_tap(n, x, shrink, reach));
  }
  const Expr taps = n.integer(2) - begin * 2;
  TRY(const ValueId tap, n.iota({n.integer(1), taps}, 1));
  TRY(const ValueId before, n.reshape(at.before, {x.out, n.integer(1)}));
  TRY(const ValueId fraction, n.reshape(at.fraction, {x.out, n.integer(1)}));
  TRY(const ValueId index, n.map(DType::i64, {before, tap}, [&](std::span<const Expr> p) {
    return max(min(p[0] + begin + p[1], x.in - 1), n.integer(0));
  }));
  ValueIds xs = {before, tap, fraction};
  if (shrink.valid()) xs.push_back(shrink);
  TRY(ValueId weight, n.map(compute, xs, [&](std::span<const Expr> p) {
    Expr d = ingot::cast(begin + p[1], compute) - p[2];
    if (p.size() > 3) d = d * p[3];
    const Expr w = kernel_at(o, d);
    if (!o.exclude_outside) return w;
    const Expr j = p[0] + begin + p[1];
    const Expr inside = logical_and(less_equal(n.integer(0), j), less(j, x.in));
    return select(inside, w, n.number(compute, 0));
  }));
  if (o.antialias || o.exclude_outside) {
    TRY(const ValueId sum, n.reduce(ReduceKind::sum, weight, {1}, true));
    TRY(weight, n.map2(weight, sum, [&](Expr w, Expr s) {
      return w / select(equal(s, n.number(compute, 0)), n.number(compute, 1), s);
    }));
  }
  TRY(const ValueId read, n.gather(v, index, x.axis));
  Exprs dims(static_cast<size_t>(n.rank(v) - x.axis + 1), n.integer(1));
  dims[0] = x.out;
  dims[1] = taps;
  TRY(const ValueId factor, n.reshape(weight, std::move(dims)));
  TRY(const ValueId product, n.map2(read, factor, [](Expr e, Expr w) { return e * w; }));
  return n.reduce(ReduceKind::sum, product, {x.axis + 1}, false);
}

/// Between two neighbours, weighted by how near they are.
Result<ValueId> linear(OpContext& n, ValueId v, const Axis& x, const Between& at) {
  ValueIds xs;
  for (const int64_t tap : {0, 1}) {
    TRY(const ValueId index,
        n.map1(at.before, [&](Expr e) { return max(min(e + tap, x.in - 1), n.integer(0)); }));
    TRY(const ValueId read, n.gather(v, index, x.axis));
    xs.push_back(read);
  }
  TRY(const ValueId fraction, along(n, at.fraction, x.axis, n.rank(v)));
  xs.push_back(fraction);
  return n.map(n.dtype(v), xs, [](std::span<const Expr> p) {
    return p[0] * (p[0].pool().real(1, p[2].dtype()) - p[2]) + p[1] * p[2];
  });
}

Result<ValueId> resize_axis(OpContext& n, ValueId v, const Axis& x, const Options& o) {
  TRY(Place p, place_of(n, x, o));
  const bool plain = o.mode == Mode::linear && !o.antialias && !o.exclude_outside;
  if (plain && !p.position.valid() && n.dtype(v) == DType::f32) {
    TRY(p.position, rounded_position(n, x, o));
  }
  ValueId y;
  if (o.mode == Mode::nearest) {
    const auto scale_num = x.scale.num.as_int(), scale_den = x.scale.den.as_int();
    const bool shrinks = scale_num && scale_den && *scale_num < *scale_den;
    const Nearest rule = o.ceil_when_shrinking && shrinks ? Nearest::ceil : o.nearest;
    TRY(const ValueId index, nearest_index(n, x, p, rule));
    TRY(y, n.gather(v, index, x.axis));
  } else {
    TRY(const Between at, between(n, x, p, n.dtype(v)));
    TRY(y, plain ? linear(n, v, x, at) : weighted(n, v, x, at, o));
  }
  if (o.transform != Transform::tf_crop_and_resize) return y;
  // Outside of the picture lies the extrapolation value.
  TRY(const ValueId position, along(n, p.position, x.axis, n.rank(y)));
  return n.map(n.dtype(y), {y, position}, [&](std::span<const Expr> e) {
    const Expr zero = n.number(DType::f64, 0);
    const Expr outside =
        logical_or(less(e[1], zero), less(ingot::cast(x.in - 1, DType::f64), e[1]));
    return select(outside, n.number(e[0].dtype(), o.extrapolation), e[0]);
  });
}

}  // namespace

Result<ValueId> interpolate(OpContext& n, ValueId x, const std::vector<Axis>& axes,
                            const Options& o) {
  const DType held = n.dtype(x);
  const DType compute = held == DType::f64 ? DType::f64 : DType::f32;
  const bool moves = o.mode == Mode::nearest && !o.roi.valid();
  ValueId y = x;
  if (!moves) {
    TRY(y, n.cast(x, compute));
  }
  for (const Axis& axis : axes) {
    TRY(y, resize_axis(n, y, axis, o));
  }
  if (n.dtype(y) == held) return y;
  return n.map(held, {y}, [&](std::span<const Expr> p) {
    return is_float(held) ? p[0] : unary(ExprKind::round, p[0]);
  });
}

}  // namespace ingot::onnx::interpolation
