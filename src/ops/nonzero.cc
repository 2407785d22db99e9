// ops/nonzero.cc: the indices of the elements that are not zero.
#include "ops/nonzero.h"

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> NonZero::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<NonZero>(ctx));
  const TensorType& x = ctx.tensor(0);
  if (x.dtype != DType::b8) TRY_STATUS(expect_number(kName, "x", x.dtype));  // C1
  const Expr found = ctx.pool.fresh_symbol("nonzero", true);
  const Range most = range_of(element_count(ctx.pool, x.dims));
  ctx.pool.symbol_info(found.symbol()).range = {0,
                                                std::min(std::max<int64_t>(most.hi, 0), kMaxDim)};
  return one_tensor(kName, DType::i64, {ctx.pool.integer(x.rank()), found});
}

std::vector<Tensor> NonZero::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  std::vector<std::vector<int64_t>> found;
  for_each_index(x.dims(), [&](int64_t from, std::span<const int64_t> index) {
    const bool zero = x.holds_reals() ? x.real(from) == 0 : x.integer(from) == 0;
    if (!zero) found.emplace_back(index.begin(), index.end());
  });
  const auto count = static_cast<int64_t>(found.size());
  Tensor y(DType::i64, {x.rank(), count});
  for (int64_t a = 0; a < x.rank(); ++a) {
    for (int64_t j = 0; j < count; ++j) {
      y.set_integer(a * count + j, found[static_cast<size_t>(j)][static_cast<size_t>(a)]);
    }
  }
  return {std::move(y)};
}

Sample<NonZero> NonZero::sample(Random& rng, ExprPool& pool) {
  return {{},
          {TensorType{sample_any(rng), constant_dims(pool, sample_dims(rng, rng.range(0, 4)))}},
          {{0, {-1, 1}}}};
}

const OpDef& define_nonzero() {
  return define<NonZero>();
}

}  // namespace ingot::ops
