// ops/sequence_concat.cc: all items of a sequence as one tensor.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/indexing.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> SequenceConcat::infer(InferContext& ctx) const {
  constexpr int64_t kMostDims = 63;
  if (ctx.count() != 1 || !ctx.has(0)) return invalid_argument(kName, ": expected one input");
  TRY_STATUS(expect_sequence(kName, "s", ctx.inputs[0]));  // C1
  if (rank < (new_axis ? 0 : 1) || rank > kMostDims) {     // C2
    return invalid_argument(kName, ": expected a rank in ", new_axis ? 0 : 1, "..", kMostDims,
                            ", got ", rank);
  }
  const int64_t result_rank = rank + (new_axis ? 1 : 0);
  TRY(const int64_t along, expect_axis(kName, axis, result_rank));  // C3
  (void)along;
  return Types{TensorType{ctx.inputs[0].container.element->tensor.dtype,
                          fresh_dims(ctx.pool, "joined_dim", result_rank)}};
}

std::vector<Tensor> SequenceConcat::reference(const ReferenceContext& ctx) const {
  const std::vector<Tensor>& items = ctx.in[0].items();
  if (items.empty()) return ctx.fail(invalid_argument("the sequence is empty"));
  const size_t along = front_axis(axis, static_cast<size_t>(rank + (new_axis ? 1 : 0)));
  std::vector<Tensor> parts;
  int64_t length = 0;
  for (const Tensor& item : items) {
    std::vector<int64_t> dims = item.dims();
    if (item.rank() != rank) {
      return ctx.fail(invalid_argument("expected items of rank ", rank, ", got ", item.rank()));
    }
    if (new_axis) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(along), 1);
    parts.push_back(item.reshaped(std::move(dims)));
    length += parts.back().dims()[along];
    std::vector<int64_t> others = parts.back().dims();
    others[along] = parts[0].dims()[along];
    if (others != parts[0].dims()) {
      return ctx.fail(invalid_argument("expected items of one shape but for the axis, got ",
                                       items[0].dims(), " and ", item.dims()));
    }
  }
  std::vector<int64_t> dims = parts[0].dims();
  dims[along] = length;
  Tensor y(parts[0].dtype(), std::move(dims));
  const AxisSplit whole = split_at(y.dims(), axis);
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    const AxisSplit s = split_at(part.dims(), axis);
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t k = 0; k < s.length * s.inner; ++k) {
        y.copy_element(whole.at(o, begin, 0) + k, part, s.at(o, 0, 0) + k);
      }
    }
    begin += s.length;
  }
  return {std::move(y)};
}

Sample<SequenceConcat> SequenceConcat::sample(Random& rng, ExprPool&) {
  // Sampled sequences have three items of [2, 3].
  const bool new_axis = rng.chance(0.5);
  const int64_t most = new_axis ? 3 : 2;
  return {{.axis = rng.range(-most, most - 1), .new_axis = new_axis, .rank = 2},
          {sample_sequence(rng)}};
}

const OpDef& define_sequence_concat() {
  return define<SequenceConcat>();
}

}  // namespace ingot::ops
