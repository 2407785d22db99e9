// ops/slice.cc: a box of a tensor, with steps.
#include "ops/slice.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Slice::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Slice>(ctx));
  const TensorType& x = ctx.tensor(0);
  const size_t rank = x.dims.size();
  if (starts.size() != rank || sizes.size() != rank || steps.size() != rank) {  // C1
    return invalid_argument("slice: expected ", rank, " starts, sizes and steps, got ",
                            starts.size(), ", ", sizes.size(), " and ", steps.size());
  }
  TRY_STATUS(expect_dim_exprs(kName, "starts", starts));
  TRY(Types types, one_tensor(kName, x.dtype, sizes));  // C2
  for (size_t a = 0; a < rank; ++a) {
    if (steps[a] == 0 || steps[a] < -kMaxDim || steps[a] > kMaxDim) {  // C2
      return invalid_argument("slice: expected steps between ", -kMaxDim, " and ", kMaxDim,
                              ", not 0, got ", steps);
    }
    const auto start = starts[a].as_int();
    const auto size = sizes[a].as_int();
    const auto dim = x.dims[a].as_int();
    if (!start || (size && *size == 0)) continue;
    const bool begins_inside = *start >= 0 && (!dim || *start < *dim);
    const bool ends_known = size && begins_inside && (dim || steps[a] < 0);
    const int64_t last = ends_known ? *start + (*size - 1) * steps[a] : 0;
    if (size && (!begins_inside || last < 0 || (dim && last >= *dim))) {  // C3
      return invalid_argument("slice: expected elements within axis ", a, " of ",
                              to_text(x.dims[a]), ", got start ", *start, ", size ", *size,
                              ", step ", steps[a]);
    }
  }
  return types;
}

std::vector<Tensor> Slice::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  std::vector<int64_t> first;
  for (const Expr start : starts) first.push_back(ctx.dim(start));
  std::vector<int64_t> from(first.size());
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    for (size_t a = 0; a < from.size(); ++a) from[a] = first[a] + index[a] * steps[a];
    y.copy_element(to, x, position_of(x.dims(), from));
  });
  return {std::move(y)};
}

Expr Slice::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  Exprs from;
  for (size_t a = 0; a < index.size(); ++a) from.push_back(starts[a] + index[a] * steps[a]);
  return k.load(0, from);
}

Sample<Slice> Slice::sample(Random& rng, ExprPool& pool) {
  const auto dims = sample_dims(rng, rng.range(0, 4), 9);
  const Exprs from = some_symbolic(rng, pool, dims);
  Slice op;
  for (size_t a = 0; a < dims.size(); ++a) {
    const int64_t dim = dims[a];
    const int64_t start = dim == 0 ? 0 : rng.range(0, dim - 1);
    const int64_t step = rng.range(1, 3);
    const bool backwards = rng.chance(0.3) && dim > 0;
    const int64_t reach = dim == 0 ? 0 : (backwards ? start : dim - 1 - start) / step + 1;
    op.starts.push_back(pool.integer(start));
    op.sizes.push_back(from[a] - (dim - rng.range(0, reach)));
    op.steps.push_back(backwards ? -step : step);
  }
  return {std::move(op), {TensorType{sample_any(rng), from}}};
}

const OpDef& define_slice() {
  return define<Slice>();
}

}  // namespace ingot::ops
