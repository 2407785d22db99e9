// ops/transpose.cc: the dims of a tensor in another order.
#include "ops/transpose.h"

#include <numeric>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Transpose::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Transpose>(ctx));
  const TensorType& x = ctx.tensor(0);
  std::vector<bool> seen(x.dims.size(), false);
  Exprs dims;
  for (const int64_t axis : order) {
    if (axis < 0 || axis >= x.rank() || seen[static_cast<size_t>(axis)]) break;
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(x.dims[static_cast<size_t>(axis)]);
  }
  if (dims.size() != x.dims.size() || order.size() != dims.size()) {  // C1
    return invalid_argument("transpose: expected an order of the dims 0 to ", x.rank() - 1,
                            ", got ", order);
  }
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Transpose::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  std::vector<int64_t> from(order.size());
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    for (size_t a = 0; a < order.size(); ++a) from[static_cast<size_t>(order[a])] = index[a];
    y.copy_element(to, x, position_of(x.dims(), from));
  });
  return {std::move(y)};
}

Expr Transpose::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  Exprs from(order.size());
  for (size_t a = 0; a < order.size(); ++a) from[static_cast<size_t>(order[a])] = index[a];
  return k.load(0, from);
}

Sample<Transpose> Transpose::sample(Random& rng, ExprPool& pool) {
  Transpose op;
  op.order.resize(static_cast<size_t>(rng.range(0, 4)));
  std::iota(op.order.begin(), op.order.end(), 0);
  for (size_t a = op.order.size(); a > 1; --a) {
    std::swap(op.order[a - 1],
              op.order[static_cast<size_t>(rng.range(0, static_cast<int64_t>(a) - 1))]);
  }
  const auto rank = static_cast<int64_t>(op.order.size());
  return {std::move(op),
          {TensorType{sample_any(rng), constant_dims(pool, sample_dims(rng, rank))}}};
}

const OpDef& define_transpose() {
  return define<Transpose>();
}

}  // namespace ingot::ops
