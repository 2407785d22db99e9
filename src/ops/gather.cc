// ops/gather.cc: slices of a tensor chosen by an index tensor.
#include "ops/gather.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Gather::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Gather>(ctx));
  const TensorType& x = ctx.tensor(0);
  const TensorType& indices = ctx.tensor(1);
  if (indices.dtype != DType::i64 && indices.dtype != DType::i32) {  // C1
    return invalid_argument("gather: expected indices of type i32 or i64, got ", indices.dtype);
  }
  TRY(const int64_t along, expect_axis(kName, axis, x.rank()));  // C2
  Exprs dims(x.dims.begin(), x.dims.begin() + along);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + along + 1, x.dims.end());
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Gather::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const Tensor& indices = ctx.in[1];
  Tensor y = ctx.make_output();
  const AxisSplit s = split_at(x.dims(), axis);
  if (s.length == 0) return {std::move(y)};
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t j = 0; j < indices.size(); ++j) {
      int64_t at = indices.integer(j);
      if (at < 0) at += s.length;
      at = std::clamp<int64_t>(at, 0, s.length - 1);
      for (int64_t i = 0; i < s.inner; ++i) {
        y.copy_element((o * indices.size() + j) * s.inner + i, x, s.at(o, at, i));
      }
    }
  }
  return {std::move(y)};
}

Expr Gather::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  const size_t a = front_axis(axis, x.dims.size());
  const size_t index_rank = k.tensor(1).dims.size();
  const Expr length = x.dims[a];
  const Expr zero = k.integer(0);
  const Expr named = cast(k.load(1, index.subspan(a, index_rank)), DType::i64);
  const Expr wrapped = select(less(named, zero), named + length, named);
  Exprs at(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(a));
  at.push_back(max(min(wrapped, length - 1), zero));
  at.insert(at.end(), index.begin() + static_cast<std::ptrdiff_t>(a + index_rank), index.end());
  if (range_of(length).lo > 0) return k.load(0, at);
  return k.load_if(less(zero, length), 0, at, k.constant(compute_dtype(x.dtype), 0));
}

Sample<Gather> Gather::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 3);
  const auto dims = sample_dims(rng, rank);
  Sample<Gather> sample{{.axis = rng.range(-rank, rank - 1)}, {}};
  sample.inputs = {TensorType{sample_any(rng), constant_dims(pool, dims)},
                   TensorType{rng.chance(0.5) ? DType::i64 : DType::i32,
                              constant_dims(pool, sample_dims(rng, rng.range(0, 2)))}};
  const auto length = static_cast<double>(dims[front_axis(sample.op.axis, dims.size())]);
  sample.value_ranges[1] = {-length, length - 1};
  return sample;
}

const OpDef& define_gather() {
  return define<Gather>();
}

}  // namespace ingot::ops
