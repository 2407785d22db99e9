// ops/reduce.cc: sums, products, extremes, any and all over some axes.
#include "ops/reduce.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

std::vector<bool> Reduce::reduced(int64_t rank) const {
  std::vector<bool> result(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) result[front_axis(axis, result.size())] = true;
  return result;
}

Result<Types> Reduce::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Reduce>(ctx));
  const TensorType& x = ctx.tensor(0);
  if (kind == ReduceKind::any || kind == ReduceKind::all) {
    if (x.dtype != DType::b8) {  // C1
      return invalid_argument("reduce: expected a boolean x for ", name(kind), ", got ", x.dtype);
    }
  } else {
    TRY_STATUS(expect_number(kName, "x", x.dtype));  // C1
  }
  std::vector<bool> seen(x.dims.size(), false);
  for (const int64_t axis : axes) {
    TRY(const int64_t front, expect_axis(kName, axis, x.rank()));  // C2
    if (seen[static_cast<size_t>(front)]) {
      return invalid_argument("reduce: expected distinct axes, got ", axes);
    }
    seen[static_cast<size_t>(front)] = true;
  }
  Exprs dims;
  for (size_t a = 0; a < x.dims.size(); ++a) {
    if (!seen[a]) {
      dims.push_back(x.dims[a]);
    } else if (keepdims) {
      dims.push_back(ctx.pool.integer(1));
    }
  }
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Reduce::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const std::vector<bool> gone = reduced(x.rank());
  Tensor y = ctx.make_output();
  const Scalar nothing = neutral(kind, compute_dtype(x.dtype()));
  for (int64_t k = 0; k < y.size(); ++k) set_element(y, k, nothing);
  for_each_index(x.dims(), [&](int64_t from, std::span<const int64_t> index) {
    int64_t to = 0;
    for (size_t a = 0; a < index.size(); ++a) {
      if (!gone[a]) to = to * x.dims()[a] + index[a];
    }
    set_element(y, to, gather(kind, element_of(y, to), element_of(x, from)));
  });
  return {std::move(y)};
}

Expr Reduce::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const Exprs& dims = k.tensor(0).dims;
  const std::vector<bool> gone = reduced(k.tensor(0).rank());
  Exprs extents;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (gone[a]) extents.push_back(dims[a]);
  }
  return reduce_box(k, kind, extents, [&](std::span<const Expr> inner) {
    Exprs at;
    size_t kept = 0;
    size_t inside = 0;
    for (size_t a = 0; a < dims.size(); ++a) {
      at.push_back(gone[a] ? inner[inside++] : index[kept]);
      if (!gone[a] || keepdims) ++kept;
    }
    return k.load(0, at);
  });
}

Sample<Reduce> Reduce::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(0, 4);
  constexpr std::array kKinds = {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                 ReduceKind::max, ReduceKind::any,     ReduceKind::all};
  Reduce op{.kind = rng.pick(kKinds), .axes = {}, .keepdims = rng.chance(0.5)};
  for (int64_t a = 0; a < rank; ++a) {
    if (rng.chance(0.5)) op.axes.push_back(rng.chance(0.5) ? a : a - rank);
  }
  const bool logical = op.kind == ReduceKind::any || op.kind == ReduceKind::all;
  return {op,
          {TensorType{logical ? DType::b8 : sample_number(rng),
                      constant_dims(pool, sample_dims(rng, rank))}}};
}

const OpDef& define_reduce() {
  return define<Reduce>();
}

}  // namespace ingot::ops
