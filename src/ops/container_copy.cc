// ops/container_copy.cc: the same container under another name.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ContainerCopy::infer(InferContext& ctx) const {
  if (ctx.count() != 1 || !ctx.has(0)) return invalid_argument(kName, ": expected one input");
  TRY_STATUS(expect_container(kName, "x", ctx.inputs[0]));  // C1
  return Types{ctx.inputs[0]};
}

std::vector<Tensor> ContainerCopy::reference(const ReferenceContext& ctx) const {
  return {ctx.in[0]};
}

Sample<ContainerCopy> ContainerCopy::sample(Random& rng, ExprPool&) {
  const Type sequence = sample_sequence(rng);
  return {{}, {rng.chance(0.5) ? sequence : optional_type(sequence)}};
}

const OpDef& define_container_copy() {
  return define<ContainerCopy>();
}

}  // namespace ingot::ops
