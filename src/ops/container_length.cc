// ops/container_length.cc: how many items a sequence or optional has.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ContainerLength::infer(InferContext& ctx) const {
  if (ctx.count() != 1 || !ctx.has(0)) return invalid_argument(kName, ": expected one input");
  TRY_STATUS(expect_container(kName, "x", ctx.inputs[0]));  // C1
  return Types{TensorType{DType::i64, {}}};
}

std::vector<Tensor> ContainerLength::reference(const ReferenceContext& ctx) const {
  Tensor n(DType::i64, {});
  n.set_integer(0, static_cast<int64_t>(ctx.in[0].items().size()));
  return {std::move(n)};
}

Sample<ContainerLength> ContainerLength::sample(Random& rng, ExprPool&) {
  const Type sequence = sample_sequence(rng);
  return {{}, {rng.chance(0.5) ? sequence : optional_type(sequence)}};
}

const OpDef& define_container_length() {
  return define<ContainerLength>();
}

}  // namespace ingot::ops
