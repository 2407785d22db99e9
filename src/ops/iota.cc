// ops/iota.cc: the index along an axis.
#include "ops/iota.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Iota::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Iota>(ctx));
  TRY_STATUS(expect_number(kName, "y", dtype));                             // C3
  TRY_STATUS(expect_axis(kName, axis, static_cast<int64_t>(dims.size())));  // C2
  return one_tensor(kName, dtype, dims);                                    // C1
}

std::vector<Tensor> Iota::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  const size_t a = front_axis(axis, dims.size());
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    if (y.holds_reals()) {
      y.set_real(to, static_cast<double>(index[a]));
    } else {
      y.set_integer(to, index[a]);
    }
  });
  return {std::move(y)};
}

Expr Iota::lower(Lowering&, size_t, std::span<const Expr> index) const {
  return cast(index[front_axis(axis, index.size())], compute_dtype(dtype));
}

Sample<Iota> Iota::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 3);
  return {{.dims = constant_dims(pool, sample_dims(rng, rank)),
           .axis = rng.range(-rank, rank - 1),
           .dtype = sample_number(rng)},
          {}};
}

const OpDef& define_iota() {
  return define<Iota>();
}

}  // namespace ingot::ops
