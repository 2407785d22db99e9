// ops/softmax.cc: softmax along one axis, or its logarithm.
#include "ops/softmax.h"

#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Softmax::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Softmax>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY_STATUS(expect_float(kName, "x", x.dtype));   // C1
  TRY_STATUS(expect_axis(kName, axis, x.rank()));  // C2
  return one_tensor(kName, x.dtype, x.dims);
}

std::vector<Tensor> Softmax::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  const AxisSplit s = split_at(x.dims(), axis);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      double max = -std::numeric_limits<double>::infinity();
      for (int64_t k = 0; k < s.length; ++k) {
        max = max_or_nan(max, x.real(s.at(o, k, i)));
      }
      double sum = 0;
      for (int64_t k = 0; k < s.length; ++k) sum += std::exp(x.real(s.at(o, k, i)) - max);
      for (int64_t k = 0; k < s.length; ++k) {
        const double shifted = x.real(s.at(o, k, i)) - max;
        y.set_real(s.at(o, k, i), log ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
  }
  return {std::move(y)};
}

Expr Softmax::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const size_t a = front_axis(axis, index.size());
  const auto element = [&](Expr j) {
    Exprs at(index.begin(), index.end());
    at[a] = j;
    return k.load(0, at);
  };
  const Expr length = k.tensor(0).dims[a];
  const Expr m = k.reduce(ReduceKind::max, length, element);
  const Expr sum = k.reduce(ReduceKind::sum, length, [&](Expr j) { return exp(element(j) - m); });
  const Expr shifted = element(index[a]) - m;
  return log ? shifted - ingot::log(sum) : exp(shifted) / sum;
}

Sample<Softmax> Softmax::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 4);
  return {{.axis = rng.range(-rank, rank - 1), .log = rng.chance(0.3)},
          {TensorType{sample_float(rng), constant_dims(pool, sample_dims(rng, rank))}}};
}

const OpDef& define_softmax() {
  return define<Softmax>();
}

}  // namespace ingot::ops
