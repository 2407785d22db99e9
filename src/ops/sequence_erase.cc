// ops/sequence_erase.cc: a sequence with one item less.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> SequenceErase::infer(InferContext& ctx) const {
  TRY_STATUS(expect_position(kName, ctx, 1, has_position));  // C2
  if (!ctx.has(0)) return invalid_argument(kName, ": expected a sequence");
  TRY_STATUS(expect_sequence(kName, "s", ctx.inputs[0]));  // C1
  return Types{ctx.inputs[0]};
}

std::vector<Tensor> SequenceErase::reference(const ReferenceContext& ctx) const {
  std::vector<Tensor> items = ctx.in[0].items();
  const auto count = static_cast<int64_t>(items.size());
  const int64_t wanted = has_position ? ctx.in[1].integer(0) : -1;
  const auto at = find_position(wanted, count, count);
  if (!at) return ctx.fail(invalid_argument("position ", wanted, " of ", count, " items"));
  items.erase(items.begin() + *at);
  return {Tensor::container(std::move(items))};
}

Sample<SequenceErase> SequenceErase::sample(Random& rng, ExprPool&) {
  Sample<SequenceErase> sample{{rng.chance(0.6)}, {sample_sequence(rng)}};
  if (sample.op.has_position) sample.inputs.push_back(TensorType{DType::i64, {}});
  sample.value_ranges[1] = {-3, 2};
  return sample;
}

const OpDef& define_sequence_erase() {
  return define<SequenceErase>();
}

}  // namespace ingot::ops
