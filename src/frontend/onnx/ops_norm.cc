// frontend/onnx/ops_norm.cc: normalisation: batch, instance, group, layer, RMS, LRN, Lp.
#include "frontend/onnx/norm.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

Expr real(Expr like, double value) {
  return like.pool().real(value, like.dtype());
}

/// Inference: y = x s + t with s = scale / sqrt(var + epsilon), t = bias - mean s, per channel.
Result<ValueIds> batch_norm_inference(OpContext& n, double epsilon) {
  const ValueId x = n.in(0);
  const DType held = n.dtype(x);
  TRY(const ValueId s, n.map(held, {n.in(1), n.in(4)}, [&](std::span<const Expr> p) {
    const Expr scale = cast(p[0], p[1].dtype());
    return scale / sqrt(p[1] + real(p[1], epsilon));
  }));
  TRY(const ValueId t, n.map(held, {n.in(2), n.in(3), s}, [](std::span<const Expr> p) {
    return cast(p[0], p[2].dtype()) - cast(p[1], p[2].dtype()) * p[2];
  }));
  TRY(const ValueId scale, along_channels(n, s, x));
  TRY(const ValueId shift, along_channels(n, t, x));
  return only(affine(n, x, scale, shift, held));
}

/// Training: the batch's own mean and variance, and the running ones moved towards them.
Result<ValueIds> batch_norm_training(OpContext& n, double epsilon, double momentum) {
  const ValueId x = n.in(0);
  std::vector<int64_t> axes;
  for (int64_t a = 0; a < n.rank(x); ++a) {
    if (a != 1) axes.push_back(a);
  }
  TRY(const Moments m, moments(n, x, axes));
  TRY(const ValueId unit, scaled(n, m, epsilon));
  TRY(const ValueId scale, along_channels(n, n.in(1), x));
  TRY(const ValueId bias, along_channels(n, n.in(2), x));
  TRY(const ValueId y, affine(n, unit, scale, bias, n.dtype(x)));
  ValueIds outputs = {y};
  for (const auto& [running, seen] : {std::pair(n.in(3), m.mean), std::pair(n.in(4), m.variance)}) {
    TRY(const ValueId flat, n.reshape(seen, {n.dim(x, 1)}));
    TRY(const ValueId moved, n.map(n.dtype(running), {running, flat}, [&](std::span<const Expr> p) {
      const Expr old = cast(p[0], p[1].dtype());
      return old * real(old, momentum) + p[1] * real(old, 1 - momentum);
    }));
    outputs.push_back(moved);
  }
  return outputs;
}

Result<ValueIds> batch_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 5));
  if (n.rank(n.in(0)) < 2) return invalid_model("expected an input of rank 2 or more");
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  TRY(const double momentum, n.attr_real("momentum", 0.9));
  TRY(const bool training, n.attr_flag("training_mode", false));
  TRY(const bool spatial, n.attr_flag("spatial", true));
  n.has_attr("is_test");
  n.has_attr("consumed_inputs");
  if (!spatial) return unsupported("spatial = 0");
  if (training) return batch_norm_training(n, epsilon, momentum);
  if (n.wants(1)) return unsupported("outputs of training");
  return batch_norm_inference(n, epsilon);
}

Result<ValueIds> instance_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  const ValueId x = n.in(0);
  if (n.rank(x) < 3) return invalid_model("expected an input of rank 3 or more");
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  n.has_attr("consumed_inputs");
  std::vector<int64_t> axes;
  for (int64_t a = 2; a < n.rank(x); ++a) axes.push_back(a);
  TRY(const Moments m, moments(n, x, axes));
  TRY(const ValueId unit, scaled(n, m, epsilon));
  TRY(const ValueId scale, along_channels(n, n.in(1), x));
  TRY(const ValueId bias, along_channels(n, n.in(2), x));
  return only(affine(n, unit, scale, bias, n.dtype(x)));
}

/// x [N, C, ..] seen as [N, groups, C/groups, ..]; scale and bias per group (18) or channel (21).
template <bool kPerGroup>
Result<ValueIds> group_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  const ValueId x = n.in(0);
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  TRY(const int64_t groups, n.attr_int("num_groups"));
  n.has_attr("stash_type");
  if (n.rank(x) < 2) return invalid_model("expected an input of rank 2 or more");
  const auto channels = n.dim(x, 1).as_int();
  if (groups < 1 || (channels && *channels % groups != 0)) {
    return invalid_model("attribute 'num_groups': ", groups, " does not divide the channels");
  }
  const Expr per_group = floordiv(n.dim(x, 1), groups);
  Exprs dims = n.dims(x);
  dims[1] = per_group;
  dims.insert(dims.begin() + 1, n.integer(groups));
  TRY(const ValueId grouped, n.reshape(x, dims));
  std::vector<int64_t> axes;
  for (int64_t a = 2; a < n.rank(grouped); ++a) axes.push_back(a);
  TRY(const Moments m, moments(n, grouped, axes));
  TRY(const ValueId unit, scaled(n, m, epsilon));
  ValueIds factors;
  for (const ValueId given : {n.in(1), n.in(2)}) {
    Exprs shape(static_cast<size_t>(n.rank(grouped) - 1), n.integer(1));
    shape[0] = n.integer(groups);
    if (!kPerGroup) shape[1] = per_group;
    TRY(const ValueId factor, n.reshape(given, std::move(shape)));
    factors.push_back(factor);
  }
  TRY(const ValueId y, affine(n, unit, factors[0], factors[1], n.dtype(x)));
  return only(n.reshape(y, n.dims(x)));
}

Result<ValueIds> layer_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), -1));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  n.has_attr("stash_type");
  return layer_normalized(n, n.in(0),
                          {.scale = n.in(1), .bias = n.in(2), .axis = axis, .epsilon = epsilon});
}

Result<ValueIds> rms_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), -1));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  n.has_attr("stash_type");
  return rms_normalized(n, n.in(0), {.scale = n.in(1), .axis = axis, .epsilon = epsilon});
}

Result<ValueIds> mean_variance_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  TRY(std::vector<int64_t> axes, n.attr_ints("axes"));
  if (!n.has_attr("axes")) axes = {0, 2, 3};
  TRY(axes, front_axes(std::move(axes), n.rank(x)));
  TRY(const Moments m, moments(n, x, axes));
  // Source: the function body of ONNX MeanVarianceNormalization-13, which adds 1e-9 to the root.
  TRY(const ValueId y,
      n.map2(m.centred, m.variance, [](Expr d, Expr v) { return d / (sqrt(v) + real(v, 1e-9)); }));
  return only(n.cast(y, n.dtype(x)));
}

Result<ValueIds> lp_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(x), -1));
  TRY(const int64_t p, n.attr_int("p", 2));
  if (p != 1 && p != 2) return invalid_model("attribute 'p': expected 1 or 2, got ", p);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId powers,
      n.map1(wide, [&](Expr e) { return p == 1 ? unary(ExprKind::abs, e) : e * e; }));
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, powers, {axis}, true));
  TRY(const ValueId y, n.map2(wide, sum, [&](Expr e, Expr s) {
    const Expr norm = p == 1 ? s : sqrt(s);
    // A slice of zeros stays zeros. Source: ONNX LpNormalization-22.
    return select(equal(norm, real(norm, 0)), real(e, 0), e / norm);
  }));
  return only(n.cast(y, n.dtype(x)));
}

/// y = x / (bias + alpha / size * sum of squares of the neighbouring channels)^beta.
Result<ValueIds> local_response_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  TRY(const double alpha, n.attr_real("alpha", 1e-4));
  TRY(const double beta, n.attr_real("beta", 0.75));
  TRY(const double bias, n.attr_real("bias", 1.0));
  TRY(const int64_t size, n.attr_int("size"));
  if (n.rank(x) < 2) return invalid_model("expected an input of rank 2 or more");
  if (size < 1 || size > kMaxDim) return invalid_model("attribute 'size': got ", size);
  TRY(const ValueId wide, n.cast(x, compute_dtype(n.dtype(x))));
  TRY(const ValueId square, n.map1(wide, [](Expr e) { return e * e; }));
  // [N, C, the rest] is what pool takes for [N, one spatial dim, channels].
  TRY(const ValueId flat,
      n.reshape(square, {n.dim(x, 0), n.dim(x, 1), n.count(n.dims(x), 2, n.rank(x))}));
  const std::vector<int64_t> ones = {1};
  TRY(const ValueId mean, n.add("pool",
                                {{"kind", std::string("average")},
                                 {"kernel", std::vector<int64_t>{size}},
                                 {"strides", ones},
                                 {"dilations", ones},
                                 {"pads_begin", std::vector<int64_t>{(size - 1) / 2}},
                                 {"pads_end", std::vector<int64_t>{size / 2}},
                                 {"count_include_pad", true}},
                                {flat}));
  TRY(const ValueId back, n.reshape(mean, n.dims(x)));
  TRY(const ValueId y, n.map2(wide, back, [&](Expr e, Expr m) {
    return e / pow(real(m, bias) + real(m, alpha) * m, real(m, beta));
  }));
  return only(n.cast(y, n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"BatchNormalization", 1, 5, 5, batch_norm},
    {"GroupNormalization", 18, 3, 3, group_norm<true>},
    {"GroupNormalization", 21, 3, 3, group_norm<false>},
    {"InstanceNormalization", 1, 3, 3, instance_norm},
    {"LRN", 1, 1, 1, local_response_norm},
    {"LayerNormalization", 1, 2, 3, layer_norm},  // onnxruntime writes it below its opset, 17
    {"LpNormalization", 1, 1, 1, lp_norm},
    {"MeanVarianceNormalization", 9, 1, 1, mean_variance_norm},
    {"RMSNormalization", 23, 2, 2, rms_norm},
    {"SimplifiedLayerNormalization", 1, 2, 2, rms_norm},  // onnxruntime's, in the default domain
};

}  // namespace

std::span<const OpRow> norm_rows() {
  return kRows;
}

}  // namespace ingot::onnx
