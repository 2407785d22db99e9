// ops/map_get.cc: what a map has for some keys.
#include "ops/checks.h"
#include "ops/maps.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> MapGet::infer(InferContext& ctx) const {
  if (ctx.count() != 3 || !ctx.has(0) || !ctx.has(1) || !ctx.has(2)) {
    return invalid_argument(kName, ": expected 3 inputs, got ", ctx.count());
  }
  TRY_STATUS(expect_map(kName, "m", ctx.inputs[0]));  // C1
  const ContainerType& m = ctx.inputs[0].container;
  const Type& keys = ctx.inputs[1];
  if (!keys.is_tensor() || keys.tensor.dtype != m.key) {  // C2
    return invalid_argument(kName, ": keys: expected ", m.key, ", got ", keys);
  }
  const Type wanted = TensorType{m.element->tensor.dtype, {}};
  if (ctx.inputs[2] != wanted) {  // C3
    return invalid_argument(kName, ": otherwise: expected ", wanted, ", got ", ctx.inputs[2]);
  }
  return Types{TensorType{wanted.tensor.dtype, keys.tensor.dims}};
}

std::vector<Tensor> MapGet::reference(const ReferenceContext& ctx) const {
  const Tensor &keys = ctx.in[0].items()[0], &values = ctx.in[0].items()[1];
  const Tensor &asked = ctx.in[1], &otherwise = ctx.in[2];
  Tensor y(otherwise.dtype(), asked.dims());
  for (int64_t k = 0; k < y.size(); ++k) {
    y.copy_element(k, otherwise, 0);
    for (int64_t j = 0; j < keys.size(); ++j) {
      if (keys.integer(j) == asked.integer(k)) y.copy_element(k, values, j);
    }
  }
  return {std::move(y)};
}

Sample<MapGet> MapGet::sample(Random& rng, ExprPool& pool) {
  const Type map = sample_map(rng);
  const Exprs dims = constant_dims(pool, sample_dims(rng, rng.range(0, 3)));
  return {{},
          {map, TensorType{map.container.key, dims},
           TensorType{map.container.element->tensor.dtype, {}}}};
}

const OpDef& define_map_get() {
  return define<MapGet>();
}

}  // namespace ingot::ops
