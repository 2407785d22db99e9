// ops/broadcast_to.cc: repeats a tensor to larger dims.
#include "ops/broadcast_to.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> BroadcastTo::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<BroadcastTo>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY(Types types, one_tensor(kName, x.dtype, dims));  // C1
  if (dims.size() < x.dims.size()) {                   // C1
    return invalid_argument("broadcast_to: expected at least ", x.rank(), " dims, got ", dims);
  }
  for (size_t a = 0; a < x.dims.size(); ++a) {  // C2
    const Expr to = dims[dims.size() - x.dims.size() + a];
    if (x.dims[a].is_int(1)) continue;
    TRY_STATUS(expect_equal(ctx, kName, "dims of x and y", x.dims[a], to));
  }
  return types;
}

std::vector<Tensor> BroadcastTo::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    y.copy_element(to, x, broadcast_position(x.dims(), index));
  });
  return {std::move(y)};
}

Expr BroadcastTo::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  return k.load(0, broadcast_index(k.pool(), k.tensor(0).dims, index));
}

Sample<BroadcastTo> BroadcastTo::sample(Random& rng, ExprPool& pool) {
  const auto dims = sample_dims(rng, rng.range(0, 4));
  std::vector<int64_t> x(dims.begin() + rng.range(0, static_cast<int64_t>(dims.size())),
                         dims.end());
  for (int64_t& dim : x) {
    if (rng.chance(0.4)) dim = 1;
  }
  const Exprs from = some_symbolic(rng, pool, x);
  Exprs to = constant_dims(pool, dims);
  for (size_t a = 0; a < from.size(); ++a) {
    if (x[a] != 1) to[to.size() - from.size() + a] = from[a];
  }
  return {{.dims = std::move(to)}, {TensorType{sample_any(rng), from}}};
}

const OpDef& define_broadcast_to() {
  return define<BroadcastTo>();
}

}  // namespace ingot::ops
