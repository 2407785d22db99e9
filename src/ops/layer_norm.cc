// ops/layer_norm.cc: normalisation to mean 0 and variance 1 over the last dims.
#include "ops/layer_norm.h"

#include <cmath>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> LayerNorm::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<LayerNorm>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY_STATUS(expect_float(kName, "x", x.dtype));                 // C1
  TRY(const int64_t first, expect_axis(kName, axis, x.rank()));  // C2
  if (!std::isfinite(epsilon) || epsilon < 0) {                  // C4
    return invalid_argument("layer_norm: expected a finite epsilon of 0 or more, got ", epsilon);
  }
  for (size_t input = 1; input < 3; ++input) {
    if (!ctx.has(input)) continue;
    const std::string_view port = kInputs[input].name;
    const TensorType& p = ctx.tensor(input);
    TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, port, p.dtype));  // C1
    TRY_STATUS(expect_rank(kName, port, p, x.rank() - first));          // C3
    for (size_t a = 0; a < p.dims.size(); ++a) {
      TRY_STATUS(expect_equal(ctx, kName, concat("normalised dims of x and dims of ", port),
                              x.dims[static_cast<size_t>(first) + a], p.dims[a]));  // C3
    }
  }
  return one_tensor(kName, x.dtype, x.dims);
}

std::vector<Tensor> LayerNorm::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  const auto first = front_axis(axis, x.dims().size());
  const int64_t length = count_of(std::span(x.dims()).subspan(first));
  const auto count = static_cast<double>(length);
  for (int64_t row = 0; row < x.size(); row += length) {
    double mean = 0;
    for (int64_t k = 0; k < length; ++k) mean += x.real(row + k) / count;
    double variance = 0;
    for (int64_t k = 0; k < length; ++k) variance += std::pow(x.real(row + k) - mean, 2) / count;
    for (int64_t k = 0; k < length; ++k) {
      double value = (x.real(row + k) - mean) / std::sqrt(variance + epsilon);
      if (ctx.has(1)) value *= ctx.in[1].real(k);
      if (ctx.has(2)) value += ctx.in[2].real(k);
      y.set_real(row + k, value);
    }
  }
  return {std::move(y)};
}

Expr LayerNorm::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  const DType compute = compute_dtype(x.dtype);
  const size_t first = front_axis(axis, index.size());
  const auto normalised = std::span<const Expr>(x.dims).subspan(first);
  const auto mean_of = [&](const std::function<Expr(Expr)>& of) {
    const Expr sum = reduce_box(k, ReduceKind::sum, normalised, [&](std::span<const Expr> inner) {
      Exprs at(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(first));
      at.insert(at.end(), inner.begin(), inner.end());
      return of(k.load(0, at));
    });
    return sum / cast(element_count(k.pool(), normalised), compute);
  };
  const Expr mean = mean_of([](Expr v) { return v; });
  const Expr variance = mean_of([&](Expr v) { return (v - mean) * (v - mean); });
  Expr y = (k.load(0, index) - mean) / sqrt(variance + k.constant(compute, epsilon));
  if (k.has(1)) y = y * k.load(1, index.subspan(first));
  if (k.has(2)) y = y + k.load(2, index.subspan(first));
  return y;
}

Sample<LayerNorm> LayerNorm::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 4);
  const LayerNorm op{.axis = rng.range(-rank, rank - 1), .epsilon = 1e-3};
  const DType dtype = sample_float(rng);
  const Exprs dims = constant_dims(pool, sample_dims(rng, rank));
  const TensorType row{
      dtype,
      {dims.begin() + static_cast<std::ptrdiff_t>(front_axis(op.axis, dims.size())), dims.end()}};
  Sample<LayerNorm> sample{op, {TensorType{dtype, dims}}};
  if (rng.chance(0.7)) {
    sample.inputs.push_back(rng.chance(0.7) ? Type(row) : Type(ContainerType{}));
    if (!sample.inputs.back().is_tensor() || rng.chance(0.6)) sample.inputs.push_back(row);
  }
  return sample;
}

const OpDef& define_layer_norm() {
  return define<LayerNorm>();
}

}  // namespace ingot::ops
