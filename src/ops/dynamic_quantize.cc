// ops/dynamic_quantize.cc: a tensor as 8-bit integers with a scale of its own.
#include "ops/dynamic_quantize.h"

#include <algorithm>
#include <cmath>

#include "ir/graph.h"
#include "ops/checks.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> DynamicQuantize::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<DynamicQuantize>(ctx));
  const TensorType& x = ctx.tensor(0);
  if (x.dtype != DType::f32) {  // C1
    return invalid_argument("dynamic_quantize: expected x of f32, got ", x.dtype);
  }
  return Types{TensorType{DType::u8, x.dims}, TensorType{DType::f32, {}},
               TensorType{DType::u8, {}}};
}

std::vector<Tensor> DynamicQuantize::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  float high = 0, low = 0;
  bool is_nan = false;
  for (int64_t k = 0; k < x.size(); ++k) {
    const auto value = static_cast<float>(x.real(k));
    is_nan = is_nan || std::isnan(value);
    high = std::max(high, value);
    low = std::min(low, value);
  }
  if (is_nan) high = low = std::nanf("");
  const auto saturated = [](float value) -> int64_t {
    return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, 0.0f, 255.0f));
  };
  const float scale = (high - low) / 255;
  const int64_t zero = saturated(std::nearbyint((0 - low) / scale));
  Tensor y = ctx.make_output(0);
  for (int64_t k = 0; k < x.size(); ++k) {
    const float step = static_cast<float>(x.real(k)) / scale;
    y.set_integer(k, saturated(std::nearbyint(step) + static_cast<float>(zero)));
  }
  Tensor scale_out = ctx.make_output(1);
  // As a result it is a number like others; what it is used for here is not.
  scale_out.set_real(0, (static_cast<double>(high) - static_cast<double>(low)) / 255);
  Tensor zero_out = ctx.make_output(2);
  zero_out.set_integer(0, zero);
  return {std::move(y), std::move(scale_out), std::move(zero_out)};
}

std::vector<ValueId> DynamicQuantize::expand(Expansion& g, std::span<const ValueId> in) const {
  ExprPool& pool = g.graph().pool();
  const auto real = [&](double value) { return pool.real(value, DType::f32); };
  const auto param = [&](uint32_t k, DType dtype) { return pool.param(k, dtype); };
  std::vector<int64_t> axes;
  for (int64_t a = 0; a < g.graph().tensor(in[0]).rank(); ++a) axes.push_back(a);
  const ValueId high = g.add(Reduce{ReduceKind::max, axes, false}, {in[0]});
  const ValueId low = g.add(Reduce{ReduceKind::min, axes, false}, {in[0]});
  const Expr a = param(0, DType::f32), b = param(1, DType::f32);
  const ValueId scale =
      g.add(Pointwise{(max(a, real(0)) - min(b, real(0))) / real(255), DType::f32}, {high, low});
  const Expr at = (real(0) - min(a, real(0))) / b;
  const ValueId zero = g.add(Pointwise{unary(ExprKind::round, at), DType::u8}, {low, scale});
  const Expr step = unary(ExprKind::round, a / b) + cast(param(2, DType::u8), DType::f32);
  const ValueId y = g.add(Pointwise{step, DType::u8}, {in[0], scale, zero});
  return {y, scale, zero};
}

Sample<DynamicQuantize> DynamicQuantize::sample(Random& rng, ExprPool& pool) {
  std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  return {{}, {TensorType{DType::f32, constant_dims(pool, dims)}}};
}

const OpDef& define_dynamic_quantize() {
  return define<DynamicQuantize>();
}

}  // namespace ingot::ops
