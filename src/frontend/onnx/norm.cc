// frontend/onnx/norm.cc: moments and what is made of them.
#include "frontend/onnx/norm.h"

namespace ingot::onnx {
namespace {

Expr real(Expr like, double value) {
  return like.pool().real(value, like.dtype());
}

std::vector<int64_t> axes_from(OpContext& n, ValueId x, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t a = axis; a < n.rank(x); ++a) axes.push_back(a);
  return axes;
}

/// A scale or bias as the layer_norm op wants it: exactly the normalised dims.
Result<ValueId> normalised_dims(OpContext& n, ValueId factor, ValueId x, int64_t axis) {
  if (!factor.valid()) return factor;
  return n.broadcast(factor, Exprs(n.dims(x).begin() + axis, n.dims(x).end()));
}

/// The axis counted from the front.
int64_t front_axis(OpContext& n, ValueId x, int64_t axis) {
  return axis < 0 ? axis + n.rank(x) : axis;
}

}  // namespace

Result<ValueId> along_channels(OpContext& n, ValueId c, ValueId x) {
  if (n.rank(c) != 1) return invalid_model("expected one number per channel, got rank ", n.rank(c));
  Exprs dims(static_cast<size_t>(n.rank(x) - 1), n.integer(1));
  dims[0] = n.dim(c, 0);
  return n.reshape(c, std::move(dims));
}

Result<Moments> moments(OpContext& n, ValueId x, const std::vector<int64_t>& axes) {
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  Moments m;
  TRY(m.mean, n.mean(wide, axes, true));
  TRY(m.centred, n.map2(wide, m.mean, [](Expr e, Expr u) { return e - u; }));
  TRY(const ValueId square, n.map1(m.centred, [](Expr e) { return e * e; }));
  TRY(m.variance, n.mean(square, axes, true));
  return m;
}

Result<ValueId> scaled(OpContext& n, const Moments& m, double epsilon) {
  return n.map2(m.centred, m.variance,
                [&](Expr d, Expr v) { return d / sqrt(v + real(v, epsilon)); });
}

Result<ValueId> affine(OpContext& n, ValueId x, ValueId scale, ValueId bias, DType held) {
  ValueIds xs = {x, scale};
  if (bias.valid()) xs.push_back(bias);
  return n.map(held, xs, [](std::span<const Expr> p) {
    const Expr y = p[0] * cast(p[1], p[0].dtype());
    return p.size() > 2 ? y + cast(p[2], p[0].dtype()) : y;
  });
}

Result<ValueIds> layer_normalized(OpContext& n, ValueId x, const Norm& norm) {
  const int64_t axis = front_axis(n, x, norm.axis);
  TRY(const ValueId scale, normalised_dims(n, norm.scale, x, axis));
  TRY(const ValueId bias, normalised_dims(n, norm.bias, x, axis));
  ValueIds inputs = {x, scale};
  if (bias.valid()) inputs.push_back(bias);
  TRY(const ValueId y,
      n.add("layer_norm", {{"axis", axis}, {"epsilon", norm.epsilon}}, std::move(inputs)));
  if (!n.wants(1) && !n.wants(2)) return ValueIds{y};
  TRY(const Moments m, moments(n, x, axes_from(n, x, axis)));
  TRY(const ValueId inverse,
      n.map1(m.variance, [&](Expr v) { return real(v, 1) / sqrt(v + real(v, norm.epsilon)); }));
  return ValueIds{y, m.mean, inverse};
}

Result<ValueIds> rms_normalized(OpContext& n, ValueId x, const Norm& norm) {
  const int64_t axis = front_axis(n, x, norm.axis);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId square, n.map1(wide, [](Expr e) { return e * e; }));
  TRY(const ValueId mean, n.mean(square, axes_from(n, x, axis), true));
  TRY(const ValueId unit,
      n.map2(wide, mean, [&](Expr e, Expr v) { return e / sqrt(v + real(v, norm.epsilon)); }));
  TRY(const ValueId y, affine(n, unit, norm.scale, norm.bias, n.dtype(x)));
  if (!n.wants(1)) return ValueIds{y};
  TRY(const ValueId inverse,
      n.map1(mean, [&](Expr v) { return real(v, 1) / sqrt(v + real(v, norm.epsilon)); }));
  return ValueIds{y, inverse};
}

}  // namespace ingot::onnx
