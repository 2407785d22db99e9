// ops/shape_of.cc: the dims of a tensor as a tensor.
#include "ops/shape_of.h"

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> ShapeOf::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<ShapeOf>(ctx));
  return one_tensor(kName, DType::i64, {ctx.pool.integer(ctx.tensor(0).rank())});
}

std::vector<Tensor> ShapeOf::reference(const ReferenceContext& ctx) const {
  return {Tensor::of_ints(ctx.in[0].dims())};
}

Expr ShapeOf::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  Expr result = k.integer(0);
  const Exprs& dims = k.tensor(0).dims;
  for (size_t a = dims.size(); a-- > 0;) {
    result = select(equal(index[0], k.integer(static_cast<int64_t>(a))), dims[a], result);
  }
  return result;
}

Sample<ShapeOf> ShapeOf::sample(Random& rng, ExprPool& pool) {
  return {{},
          {TensorType{sample_any(rng), constant_dims(pool, sample_dims(rng, rng.range(0, 4)))}}};
}

const OpDef& define_shape_of() {
  return define<ShapeOf>();
}

}  // namespace ingot::ops
