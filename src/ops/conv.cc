// ops/conv.cc: convolution over channels-last activations, any number of spatial dims, with groups.
#include "ops/conv.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Output channels, checked against groups, panels and input channels. C4, C7.
Result<Expr> output_channels(InferContext& ctx, const Conv& op) {
  const Expr c = ctx.tensor(0).dims.back();
  const Exprs& w = ctx.tensor(1).dims;
  const Expr w_channels = w[w.size() - 2];
  if (op.groups < 1 || op.groups > kMaxDim) {  // C4
    return invalid_argument("conv: expected groups between 1 and ", kMaxDim, ", got ", op.groups);
  }
  if (op.packed) {  // C7
    const auto width = w.back().as_int();
    if (!width || *width < 1 || op.columns < 0 || op.columns > kMaxDim ||
        op.columns % op.groups != 0) {
      return invalid_argument("conv: expected packed w with a constant width above 0 and columns ",
                              "of 0 or more that groups divides, got groups ", op.groups,
                              ", columns ", op.columns, ", w ", to_text(ctx.tensor(1)));
    }
    const int64_t panels = op.groups * op.panels_per_group(*width);
    TRY_STATUS(expect_equal(ctx, Conv::kName, "panels of columns and panels of w",
                            ctx.pool.integer(panels), w[0]));
  }
  const Expr oc = op.packed ? ctx.pool.integer(op.columns) : w.back();
  if (op.groups > 1 && (!c.as_int() || !oc.as_int() || *c.as_int() % op.groups != 0 ||
                        *oc.as_int() % op.groups != 0)) {  // C4
    return invalid_argument("conv: expected groups that divide constant channels, got groups ",
                            op.groups, ", ", to_text(c), " input and ", to_text(oc),
                            " output channels");
  }
  TRY_STATUS(expect_equal(ctx, Conv::kName, "channels of x and groups times channels of w", c,
                          w_channels * op.groups));  // C4
  return oc;
}

}  // namespace

Result<Types> Conv::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Conv>(ctx));
  const TensorType& x = ctx.tensor(0);
  const TensorType& w = ctx.tensor(1);
  TRY_STATUS(expect_number(kName, "x", x.dtype));                    // C1
  TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "w", w.dtype));  // C1
  TRY_STATUS(expect_rank_at_least(kName, "x", x, 2));                // C2
  TRY_STATUS(expect_rank(kName, "w", w, x.rank() + (packed ? 1 : 0)));
  const size_t spatial = x.dims.size() - 2;
  TRY_STATUS(window().check(kName, static_cast<int64_t>(spatial)));  // C3
  TRY(const Expr oc, output_channels(ctx, *this));
  Exprs dims = {x.dims[0]};
  for (size_t s = 0; s < spatial; ++s) {
    const Expr kernel = w.dims[s + (packed ? 1 : 0)];
    if (!kernel.as_int() || *kernel.as_int() < 1) {  // C5
      return invalid_argument("conv: expected constant kernel sizes above 0, got w ", to_text(w));
    }
    TRY(const Expr out, window().count(kName, s, x.dims[s + 1], kernel));  // C5
    dims.push_back(out);
  }
  dims.push_back(oc);
  if (ctx.has(2)) {  // C6
    TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "bias", ctx.tensor(2).dtype));
    TRY_STATUS(expect_rank(kName, "bias", ctx.tensor(2), 1));
    TRY_STATUS(
        expect_equal(ctx, kName, "output channels and size of bias", oc, ctx.tensor(2).dims[0]));
  }
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Conv::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const Tensor& w = ctx.in[1];
  Tensor y = ctx.make_output();
  const size_t spatial = x.dims().size() - 2;
  const size_t first = packed ? 1 : 0;
  const int64_t channels = w.dim(w.rank() - 2);
  const int64_t width = w.dims().back();
  const auto kernel = std::span(w.dims()).subspan(first, spatial);
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    const int64_t f = index.back();
    const int64_t filters = std::max<int64_t>(1, y.dims().back() / groups);
    const int64_t group = f / filters, column = packed ? f % filters : f;
    DotProduct dot(y.dtype());
    for_each_index(kernel, [&](int64_t tap, std::span<const int64_t> t) {
      int64_t pixel = index[0];
      for (size_t s = 0; s < spatial; ++s) {
        const int64_t at = window().position(s, index[s + 1], t[s]);
        if (at < 0 || at >= x.dims()[s + 1]) return;
        pixel = pixel * x.dims()[s + 1] + at;
      }
      if (packed) tap += (group * panels_per_group(width) + column / width) * count_of(kernel);
      for (int64_t c = 0; c < channels; ++c) {
        dot.add(x, pixel * x.dims().back() + group * channels + c, w,
                (tap * channels + c) * width + column % width);
      }
    });
    if (ctx.has(2)) dot.add(ctx.in[2], f);
    dot.store(y, to);
  });
  return {std::move(y)};
}

Expr Conv::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  const Exprs& w = k.tensor(1).dims;
  const size_t spatial = x.dims.size() - 2;
  const Expr f = index.back();
  const Expr channels = w[w.size() - 2];
  const auto kernel = std::span(w).subspan(packed ? 1 : 0, spatial);
  Exprs extents(kernel.begin(), kernel.end());
  extents.push_back(channels);
  const int64_t filters = (packed ? columns : w.back().as_int().value_or(0)) / groups;
  const Expr group = groups == 1 ? k.integer(0) : floordiv(f, std::max<int64_t>(1, filters));
  const Expr column = groups == 1 ? f : f - group * filters;
  const Expr first_channel = group * channels;
  const Expr sum = reduce_box(k, ReduceKind::sum, extents, [&](std::span<const Expr> tap) {
    Expr inside = k.pool().boolean(true);
    Exprs at = {index[0]};
    for (size_t s = 0; s < spatial; ++s) {
      at.push_back(window().position(s, index[s + 1], tap[s]));
      inside = logical_and(inside, within(at.back(), k.integer(0), x.dims[s + 1]));
    }
    at.push_back(first_channel + tap.back());
    Exprs at_w(tap.begin(), tap.end());
    at_w.push_back(packed ? floormod(column, w.back()) : f);
    if (packed) {
      const int64_t panels = panels_per_group(*w.back().as_int());
      at_w.insert(at_w.begin(), group * panels + floordiv(column, w.back()));
    }
    return k.load_if(inside, 0, at, k.constant(compute_dtype(x.dtype), 0)) * k.load(1, at_w);
  });
  return k.has(2) ? sum + k.load(2, std::array{f}) : sum;
}

Sample<Conv> Conv::sample(Random& rng, ExprPool& pool) {
  const int64_t spatial = rng.range(0, 2);
  const bool depthwise = rng.chance(0.2);
  const int64_t size = rng.range(0, 5);  // one of channels and filters is large at times
  Conv op;
  op.groups = depthwise ? rng.range(2, 20) : rng.chance(0.3) ? rng.range(1, 3) : 1;
  op.packed = !depthwise && rng.chance(0.5);
  const int64_t channels = depthwise ? 1 : size == 0 ? rng.range(4, 20) : rng.range(0, 3);
  const int64_t filters = depthwise ? 1 : size == 1 ? rng.range(16, 36) : rng.range(1, 5);
  std::vector<int64_t> x = {rng.range(0, 2)};
  std::vector<int64_t> w;
  for (int64_t s = 0; s < spatial; ++s) {
    op.strides.push_back(rng.range(1, 3));
    op.dilations.push_back(rng.range(1, 2));
    op.pads_begin.push_back(rng.range(0, 2));
    op.pads_end.push_back(rng.range(0, 2));
    w.push_back(rng.range(1, 3));
    const int64_t least =
        (w.back() - 1) * op.dilations.back() + 1 - op.pads_begin.back() - op.pads_end.back();
    x.push_back(std::max<int64_t>(0, least) + rng.range(0, 4));
  }
  if (rng.chance(0.2)) {  // a matrix product
    for (size_t s = 1; s < x.size(); ++s) x[s] = std::max<int64_t>(x[s], 1);
    op.strides.assign(op.strides.size(), 1);
    op.pads_begin.assign(op.strides.size(), 0);
    op.pads_end.assign(op.strides.size(), 0);
    w.assign(w.size(), 1);
  }
  x.push_back(op.groups * channels);
  w.push_back(channels);
  if (op.packed) {
    const int64_t width = rng.chance(0.3) ? 4 : (filters + 15) / 16 * 16;  // that of panels
    op.columns = op.groups * filters;
    w.insert(w.begin(), op.groups * ((filters + width - 1) / width));
    w.push_back(width);
  } else {
    w.push_back(op.groups * filters);
  }
  const DType dtype = rng.chance(0.5) ? DType::f32 : sample_number(rng);
  Sample<Conv> sample{
      std::move(op),
      {TensorType{dtype, constant_dims(pool, x)}, TensorType{dtype, constant_dims(pool, w)}}};
  if (rng.chance(0.6)) {
    const int64_t columns = sample.op.groups * filters;
    sample.inputs.push_back(TensorType{dtype, constant_dims(pool, {columns})});
  }
  return sample;
}

const OpDef& define_conv() {
  return define<Conv>();
}

}  // namespace ingot::ops
