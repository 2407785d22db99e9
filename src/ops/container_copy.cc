// ops/container_copy.cc: the same container under another name.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/maps.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ContainerCopy::infer(InferContext& ctx) const {
  if (ctx.count() != 1 || !ctx.has(0)) return invalid_argument(kName, ": expected one input");
  const Type& x = ctx.inputs[0];
  if (!x.is_container() || x.is_nothing()) {  // C1
    return invalid_argument(kName, ": x: expected a container, got ", x);
  }
  return Types{x};
}

std::vector<Tensor> ContainerCopy::reference(const ReferenceContext& ctx) const {
  return {ctx.in[0]};
}

Sample<ContainerCopy> ContainerCopy::sample(Random& rng, ExprPool&) {
  const Type element = rng.chance(0.4) ? sample_map(rng) : sample_sequence(rng);
  if (rng.chance(0.3)) return {{}, {element}};
  const bool is_map = element.container.kind == ContainerType::Kind::map;
  return {{}, {is_map ? sequence_type(element) : optional_type(element)}};
}

const OpDef& define_container_copy() {
  return define<ContainerCopy>();
}

}  // namespace ingot::ops
