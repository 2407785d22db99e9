// ops/concat.cc: tensors one after the other along an axis.
#include "ops/concat.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Concat::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Concat>(ctx));
  if (ctx.count() == 0) return invalid_argument("concat: expected an input, got none");  // C1
  const TensorType& first = ctx.tensor(0);
  TRY_STATUS(expect_rank_at_least(kName, "x", first, 1));
  TRY(const int64_t along, expect_axis(kName, axis, first.rank()));  // C2
  const auto a = static_cast<size_t>(along);
  Exprs dims = first.dims;
  for (size_t k = 1; k < ctx.count(); ++k) {
    const TensorType& x = ctx.tensor(k);
    TRY_STATUS(expect_same_dtype(kName, "input 0", first.dtype, concat("input ", k), x.dtype));
    TRY_STATUS(expect_rank(kName, concat("input ", k), x, first.rank()));
    for (size_t b = 0; b < dims.size(); ++b) {
      if (b == a) {
        dims[b] = dims[b] + x.dims[b];
      } else {  // C3
        TRY_STATUS(expect_equal(ctx, kName, concat("dims ", b, " of inputs 0 and ", k),
                                first.dims[b], x.dims[b]));
      }
    }
  }
  return one_tensor(kName, first.dtype, std::move(dims));
}

std::vector<Tensor> Concat::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  const AxisSplit to = split_at(y.dims(), axis);
  int64_t offset = 0;
  for (const Tensor& x : ctx.in) {
    const AxisSplit from = split_at(x.dims(), axis);
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t k = 0; k < from.length; ++k) {
        for (int64_t i = 0; i < from.inner; ++i) {
          y.copy_element(to.at(o, offset + k, i), x, from.at(o, k, i));
        }
      }
    }
    offset += from.length;
  }
  return {std::move(y)};
}

Expr Concat::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const size_t a = front_axis(axis, index.size());
  Expr result = k.constant(compute_dtype(k.tensor(0).dtype), 0);
  Expr offset = k.integer(0);
  for (size_t input = 0; input < k.input_count(); ++input) {
    Exprs at(index.begin(), index.end());
    at[a] = index[a] - offset;
    const Expr end = offset + k.tensor(input).dims[a];
    result = k.load_if(within(index[a], offset, end), input, at, result);
    offset = end;
  }
  return result;
}

Sample<Concat> Concat::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 4);
  auto dims = sample_dims(rng, rank);
  Sample<Concat> sample{{.axis = rng.range(-rank, rank - 1)}, {}};
  const DType dtype = sample_any(rng);
  for (int64_t k = rng.range(1, 4); k > 0; --k) {
    dims[front_axis(sample.op.axis, dims.size())] = rng.range(0, 4);
    sample.inputs.push_back(TensorType{dtype, constant_dims(pool, dims)});
  }
  return sample;
}

const OpDef& define_concat() {
  return define<Concat>();
}

}  // namespace ingot::ops
