// ops/map_values.cc: all values of a map.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/maps.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> MapValues::infer(InferContext& ctx) const {
  if (ctx.count() != 1 || !ctx.has(0)) {
    return invalid_argument(kName, ": expected 1 input, got ", ctx.count());
  }
  TRY_STATUS(expect_map(kName, "m", ctx.inputs[0]));  // C1
  return Types{TensorType{ctx.inputs[0].container.element->tensor.dtype,
                          fresh_dims(ctx.pool, "map_size", 1)}};
}

std::vector<Tensor> MapValues::reference(const ReferenceContext& ctx) const {
  const Tensor &keys = ctx.in[0].items()[0], &values = ctx.in[0].items()[1];
  const std::vector<int64_t> places = places_in_order(keys);
  Tensor y(values.dtype(), {std::ssize(places)});
  for (int64_t k = 0; k < y.size(); ++k) {
    y.copy_element(k, values, places[static_cast<size_t>(k)]);
  }
  return {std::move(y)};
}

Sample<MapValues> MapValues::sample(Random& rng, ExprPool&) {
  return {{}, {sample_map(rng)}};
}

const OpDef& define_map_values() {
  return define<MapValues>();
}

}  // namespace ingot::ops
