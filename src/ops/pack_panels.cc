// ops/pack_panels.cc: the columns of a matrix in panels, as the matmul template reads them.
#include "ops/pack_panels.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> PackPanels::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<PackPanels>(ctx));
  const TensorType& b = ctx.tensor(0);
  TRY_STATUS(expect_number(kName, "b", b.dtype));      // C1
  TRY_STATUS(expect_rank_at_least(kName, "b", b, 2));  // C1
  if (width < 1 || width > 4096) {                     // C2
    return invalid_argument("pack_panels: expected a width between 1 and 4096, got ", width);
  }
  Exprs dims(b.dims.begin(), b.dims.end() - 2);
  dims.push_back(ceildiv(b.dims.back(), width));
  dims.push_back(b.dims[b.dims.size() - 2]);
  dims.push_back(ctx.pool.integer(width));
  return one_tensor(kName, b.dtype, std::move(dims));
}

std::vector<Tensor> PackPanels::reference(const ReferenceContext& ctx) const {
  const Tensor& b = ctx.in[0];
  Tensor y = ctx.make_output();
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    std::vector<int64_t> from(index.begin(), index.end() - 3);
    const auto last = index.last(3);
    const int64_t column = last[0] * width + last[2];
    if (column >= b.dims().back()) return;
    from.insert(from.end(), {last[1], column});
    y.copy_element(to, b, position_of(b.dims(), from));
  });
  return {std::move(y)};
}

Expr PackPanels::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& b = k.tensor(0);
  Exprs from(index.begin(), index.end() - 3);
  const auto last = index.last(3);
  const Expr column = last[0] * width + last[2];
  from.insert(from.end(), {last[1], column});
  return k.load_if(within(column, k.integer(0), b.dims.back()), 0, from,
                   k.constant(compute_dtype(b.dtype), 0));
}

Sample<PackPanels> PackPanels::sample(Random& rng, ExprPool& pool) {
  return {
      {.width = rng.range(1, 5)},
      {TensorType{sample_number(rng), constant_dims(pool, sample_dims(rng, rng.range(2, 4), 7))}}};
}

const OpDef& define_pack_panels() {
  return define<PackPanels>();
}

}  // namespace ingot::ops
