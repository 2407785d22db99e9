// ops/sequence_insert.cc: a sequence with one more item.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> SequenceInsert::infer(InferContext& ctx) const {
  TRY_STATUS(expect_position(kName, ctx, 2, has_position));  // C2
  if (!ctx.has(0) || !ctx.has(1)) return invalid_argument(kName, ": an input is missing");
  TRY_STATUS(expect_sequence(kName, "s", ctx.inputs[0]));  // C1
  const DType dtype = ctx.inputs[0].container.element->tensor.dtype;
  const Type& x = ctx.inputs[1];
  if (!x.is_tensor() || x.tensor.dtype != dtype) {  // C1
    return invalid_argument(kName, ": x: expected a tensor of ", dtype, ", got ", x);
  }
  return Types{ctx.inputs[0]};
}

std::vector<Tensor> SequenceInsert::reference(const ReferenceContext& ctx) const {
  std::vector<Tensor> items = ctx.in[0].items();
  const auto count = static_cast<int64_t>(items.size());
  const auto at = has_position ? find_position(ctx.in[2].integer(0), count, count + 1) : count;
  if (!at) {
    return ctx.fail(invalid_argument("position ", ctx.in[2].integer(0), " of ", count, " items"));
  }
  items.insert(items.begin() + *at, ctx.in[1]);
  return {Tensor::container(std::move(items))};
}

Sample<SequenceInsert> SequenceInsert::sample(Random& rng, ExprPool& pool) {
  const Type sequence = sample_sequence(rng);
  const TensorType item{sequence.container.element->tensor.dtype,
                        constant_dims(pool, sample_dims(rng, rng.range(0, 3)))};
  Sample<SequenceInsert> sample{{rng.chance(0.6)}, {sequence, item}};
  if (sample.op.has_position) sample.inputs.push_back(TensorType{DType::i64, {}});
  sample.value_ranges[2] = {-3, 3};
  return sample;
}

const OpDef& define_sequence_insert() {
  return define<SequenceInsert>();
}

}  // namespace ingot::ops
