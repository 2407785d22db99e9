// ops/scatter.cc: a copy of a tensor with some of its rows replaced or combined.
#include "ops/scatter.h"

#include "ops/checks.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> ScatterRows::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<ScatterRows>(ctx));
  const TensorType& x = ctx.tensor(0);
  const TensorType& positions = ctx.tensor(1);
  const TensorType& updates = ctx.tensor(2);
  TRY_STATUS(expect_rank_at_least(kName, "x", x, 1));  // C1
  if (combine) TRY_STATUS(expect_number(kName, "x", x.dtype));
  if (bits(x.dtype) < (combine && is_float(x.dtype) ? 16 : 8)) {
    return invalid_argument(
        "scatter: expected x of whole bytes, and to combine floats of 16 bits "
        "or more, got ",
        x.dtype);
  }
  if (positions.dtype != DType::i64 || positions.rank() != 1) {  // C2
    return invalid_argument("scatter: expected positions i64[M], got ", to_text(positions));
  }
  TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "updates", updates.dtype));  // C3
  TRY_STATUS(expect_rank(kName, "updates", updates, x.rank()));
  for (size_t a = 0; a < x.dims.size(); ++a) {
    TRY_STATUS(expect_equal(ctx, kName, a == 0 ? "positions and updates" : "rows of x and updates",
                            a == 0 ? positions.dims[0] : x.dims[a], updates.dims[a]));
  }
  if (kind == ReduceKind::any || kind == ReduceKind::all) {  // C4
    return invalid_argument("scatter: expected kind sum, product, min or max, got ", name(kind));
  }
  return one_tensor(kName, x.dtype, x.dims);
}

std::vector<Tensor> ScatterRows::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.in[0];
  const Tensor& positions = ctx.in[1];
  const Tensor& updates = ctx.in[2];
  const int64_t rows = y.dim(0);
  const int64_t row = rows == 0 ? 0 : y.size() / rows;
  for (int64_t i = 0; i < positions.size(); ++i) {
    const int64_t at = positions.integer(i);
    if (at < 0 || at >= rows) continue;
    for (int64_t k = 0; k < row; ++k) {
      const int64_t to = at * row + k;
      if (combine) {
        const Scalar update = element_of(updates, i * row + k);
        set_element(y, to, gather(kind, element_of(y, to), update));
      } else {
        y.copy_element(to, updates, i * row + k);
      }
    }
  }
  return {std::move(y)};
}

Sample<ScatterRows> ScatterRows::sample(Random& rng, ExprPool& pool) {
  constexpr ReduceKind kKinds[] = {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                   ReduceKind::max};
  ScatterRows op{.combine = rng.chance(0.6), .kind = kKinds[rng.range(0, 3)]};
  std::vector<int64_t> dims = sample_dims(rng, rng.range(1, 3));
  DType dtype = sample_number(rng);
  if (bits(dtype) < 16) dtype = DType::f32;
  const auto rows = static_cast<double>(dims[0]);
  const Exprs x = constant_dims(pool, dims);
  dims[0] = rng.range(0, 5);
  return {op,
          {TensorType{dtype, x}, TensorType{DType::i64, {pool.integer(dims[0])}},
           TensorType{dtype, constant_dims(pool, dims)}},
          {{1, {-1, rows}}}};
}

const OpDef& define_scatter() {
  return define<ScatterRows>();
}

}  // namespace ingot::ops
