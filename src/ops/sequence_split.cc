// ops/sequence_split.cc: the pieces of a tensor.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Elements of x from `begin` on along the axis.
Tensor piece_of(const Tensor& x, int64_t axis, int64_t begin, int64_t size) {
  const AxisSplit s = split_at(x.dims(), axis);
  std::vector<int64_t> dims = x.dims();
  dims[front_axis(axis, dims.size())] = size;
  Tensor piece(x.dtype(), std::move(dims));
  int64_t next = 0;
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < size * s.inner; ++k) {
      piece.copy_element(next++, x, s.at(o, begin, 0) + k);
    }
  }
  return piece;
}

}  // namespace

Result<Types> SequenceSplit::infer(InferContext& ctx) const {
  if (ctx.count() != (has_sizes ? 2u : 1u) || !ctx.has(0) || (has_sizes && !ctx.has(1))) {
    return invalid_argument(kName, ": expected ", has_sizes ? 2 : 1, " inputs, got ", ctx.count());
  }
  const Type& x = ctx.inputs[0];
  if (!x.is_tensor()) return invalid_argument(kName, ": x: expected a tensor, got ", x);
  TRY(const int64_t along, expect_axis(kName, axis, x.tensor.rank()));  // C1
  (void)along;
  if (has_sizes) {  // C2
    const Type& size = ctx.inputs[1];
    if (!size.is_tensor() || size.tensor.dtype != DType::i64 || size.tensor.rank() > 1) {
      return invalid_argument(kName, ": size: expected i64[] or i64[n], got ", size);
    }
  }
  return Types{sequence_type(x)};
}

std::vector<Tensor> SequenceSplit::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const size_t along = front_axis(axis, x.dims().size());
  const int64_t length = x.dims()[along];
  std::vector<int64_t> sizes;
  if (has_sizes && ctx.in[1].rank() == 1) {
    int64_t sum = 0;
    for (int64_t k = 0; k < ctx.in[1].size(); ++k) {
      sizes.push_back(ctx.in[1].integer(k));
      if (sizes.back() < 0 || sizes.back() > length - sum) sum = length + 1;
      if (sum <= length) sum += sizes.back();
    }
    if (sum != length) {
      return ctx.fail(invalid_argument("expected sizes that add up to ", length, ", got ", sizes));
    }
  } else {
    const int64_t chunk = has_sizes ? ctx.in[1].integer(0) : 1;
    if (chunk < 1) return ctx.fail(invalid_argument("expected a size above 0, got ", chunk));
    for (int64_t at = 0; at < length; at += std::min(chunk, length - at)) {
      sizes.push_back(std::min(chunk, length - at));
    }
  }
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    pieces.push_back(piece_of(x, axis, begin, size));
    begin += size;
    if (keepdims || has_sizes) continue;
    std::vector<int64_t> dims = pieces.back().dims();
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(along));
    pieces.back() = pieces.back().reshaped(std::move(dims));
  }
  return {Tensor::container(std::move(pieces))};
}

Sample<SequenceSplit> SequenceSplit::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 3);
  Sample<SequenceSplit> sample;
  sample.op = {.axis = rng.range(-rank, rank - 1),
               .keepdims = rng.chance(0.5),
               .has_sizes = rng.chance(0.5)};
  const DType dtype = rng.chance(0.3) ? DType::str : sample_any(rng);
  sample.inputs = {TensorType{bits(dtype) < 8 ? DType::f32 : dtype,
                              constant_dims(pool, sample_dims(rng, rank))}};
  if (sample.op.has_sizes) sample.inputs.push_back(TensorType{DType::i64, {}});
  sample.value_ranges[1] = {1, 4};
  return sample;
}

const OpDef& define_sequence_split() {
  return define<SequenceSplit>();
}

}  // namespace ingot::ops
