// frontend/onnx/taps.cc: rows and weights of interpolation.
#include "frontend/onnx/taps.h"

#include "frontend/onnx/spatial.h"

namespace ingot::onnx {

Result<ValueId> rows_of_channels(OpContext& n, ValueId x) {
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId last, channels_last(n, wide));
  const Exprs dims = n.dims(last);
  return n.reshape(last, {n.count(dims, 0, n.rank(last) - 1), dims.back()});
}

Result<ValueId> weigh(OpContext& n, ValueId rows, const std::vector<Tap>& taps,
                      const std::function<Expr(Expr, Expr)>& combine) {
  ValueIds xs;
  for (const Tap& tap : taps) {
    TRY(const ValueId read, n.gather(rows, tap.row, 0));
    Exprs dims = n.dims(tap.weight);
    dims.push_back(n.integer(1));
    TRY(const ValueId column, n.reshape(tap.weight, std::move(dims)));
    xs.insert(xs.end(), {read, column});
  }
  return n.map(n.dtype(rows), xs, [&](std::span<const Expr> p) {
    Expr total = p[0] * p[1];
    for (size_t k = 2; k < p.size(); k += 2) total = combine(total, p[k] * p[k + 1]);
    return total;
  });
}

Expr reflected(Expr v, Expr lo, Expr hi) {
  const auto real = [&](double value) { return v.pool().real(value, v.dtype()); };
  const Expr span = max(hi - lo, real(1e-30));
  const Expr period = span * real(2);
  const Expr along = floormod(v - lo, period);
  return lo + min(along, period - along);
}

namespace {

/// Weight of the tap `offset` behind the element before a coordinate. Source: ONNX GridSample-22.
Expr tap_weight(Expr fraction, int64_t offset, bool cubic) {
  const auto real = [&](double value) { return fraction.pool().real(value, fraction.dtype()); };
  if (!cubic) return offset == 0 ? real(1) - fraction : fraction;
  constexpr double kA = -0.75;
  const Expr r = unary(ExprKind::abs, real(static_cast<double>(offset)) - fraction);
  if (offset == 0 || offset == 1) {
    return ((real(kA + 2) * r) - real(kA + 3)) * r * r + real(1);
  }
  return ((real(kA) * r - real(5 * kA)) * r + real(8 * kA)) * r - real(4 * kA);
}

}  // namespace

Result<Tap> grid_tap(OpContext& n, const Grid& g, const std::vector<int64_t>& offsets,
                     bool nearest) {
  ValueIds xs = g.places;
  TRY(const ValueId batch, n.iota(n.dims(g.places[0]), 0));
  xs.push_back(batch);
  const auto element = [&](std::span<const Expr> p, size_t k) {
    return unary(ExprKind::floor, p[k]) + n.pool().real(static_cast<double>(offsets[k]), g.compute);
  };
  Tap tap;
  TRY(tap.row, n.map(DType::i64, xs, [&](std::span<const Expr> p) {
    Expr row = p.back();
    for (size_t k = 0; k < g.sizes.size(); ++k) {
      Expr at = element(p, k);
      const Expr size = ingot::cast(g.sizes[k], g.compute);
      const Expr half = n.pool().real(0.5, g.compute), one = n.pool().real(1, g.compute);
      if (g.padding == Padding::reflection) {
        const Expr lo = g.align_corners ? n.pool().real(0, g.compute) : -half;
        const Expr hi = g.align_corners ? size - one : size - half;
        at = select(logical_or(less(at, lo), less(hi, at)), reflected(at, lo, hi), at);
      }
      const Expr index = ingot::cast(at, DType::i64);
      row = row * g.sizes[k] + max(min(index, g.sizes[k] - 1), n.integer(0));
    }
    return row;
  }));
  TRY(tap.weight, n.map(g.compute, xs, [&](std::span<const Expr> p) {
    Expr weight = n.pool().real(1, g.compute);
    Expr inside = n.pool().boolean(true);
    for (size_t k = 0; k < g.sizes.size(); ++k) {
      if (!nearest)
        weight = weight * tap_weight(p[k] - unary(ExprKind::floor, p[k]), offsets[k], g.cubic);
      const Expr at = element(p, k);
      inside = logical_and(inside, logical_and(less_equal(n.pool().real(0, g.compute), at),
                                               less(at, ingot::cast(g.sizes[k], g.compute))));
    }
    if (g.padding != Padding::zeros) return weight;
    return select(inside, weight, n.pool().real(0, g.compute));
  }));
  return tap;
}

Result<std::vector<Tap>> grid_taps(OpContext& n, const Grid& g, bool nearest) {
  const int64_t first = g.cubic ? -1 : 0, last = nearest ? 0 : g.cubic ? 2 : 1;
  std::vector<Tap> taps;
  std::vector<int64_t> offsets(g.sizes.size(), first);
  for (bool more = true; more;) {
    TRY(const Tap tap, grid_tap(n, g, offsets, nearest));
    taps.push_back(tap);
    more = false;
    for (size_t k = offsets.size(); k-- > 0 && !more;) {
      more = offsets[k] < last;
      offsets[k] = more ? offsets[k] + 1 : first;
    }
  }
  return taps;
}

}  // namespace ingot::onnx
