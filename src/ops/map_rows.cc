// ops/map_rows.cc: makes maps; what the operators of maps share.
#include <map>

#include "ops/checks.h"
#include "ops/maps.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

bool is_key(DType dtype) {
  return dtype == DType::i64 || dtype == DType::str;
}

}  // namespace

Type map_type(DType key, DType value) {
  ContainerType type;
  type.kind = ContainerType::Kind::map;
  type.key = key;
  type.element = std::make_shared<const Type>(TensorType{value, {}});
  return type;
}

Status expect_map(std::string_view op, std::string_view port, const Type& type) {
  const bool fits = type.is_container() && type.container.kind == ContainerType::Kind::map &&
                    type.container.element != nullptr && type.container.element->is_tensor() &&
                    is_key(type.container.key);
  if (fits) return ok();
  return invalid_argument(op, ": ", port, ": expected a map from i64 or strings, got ", type);
}

std::vector<int64_t> places_in_order(const Tensor& keys) {
  std::vector<int64_t> places;
  const auto collect = [&](auto place_of, auto key) {
    for (int64_t k = 0; k < keys.size(); ++k) place_of[key(k)] = k;
    for (const auto& [unused, place] : place_of) places.push_back(place);
  };
  if (keys.dtype() == DType::str) {
    collect(std::map<std::string, int64_t>(), [&](int64_t k) { return keys.string(k); });
  } else {
    collect(std::map<int64_t, int64_t>(), [&](int64_t k) { return keys.integer(k); });
  }
  return places;
}

Type sample_map(Random& rng) {
  constexpr DType kValues[] = {DType::f32, DType::i64, DType::str};
  return map_type(rng.chance(0.5) ? DType::i64 : DType::str, rng.pick(kValues));
}

Result<Types> MapRows::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<MapRows>(ctx));
  const TensorType &keys = ctx.tensor(0), &x = ctx.tensor(1);
  if (!is_key(keys.dtype) || keys.rank() != 1) {  // C1
    return invalid_argument(kName, ": keys: expected i64[c] or str[c], got ", to_text(keys));
  }
  if (x.rank() != 2)
    return invalid_argument(kName, ": x: expected [n, c], got ", to_text(x));         // C2
  TRY_STATUS(expect_equal(ctx, kName, "keys and columns", keys.dims[0], x.dims[1]));  // C2
  return Types{sequence_type(map_type(keys.dtype, x.dtype))};
}

std::vector<Tensor> MapRows::reference(const ReferenceContext& ctx) const {
  const Tensor &keys = ctx.in[0], &x = ctx.in[1];
  std::vector<Tensor> maps;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    Tensor row(x.dtype(), {x.dim(1)});
    for (int64_t j = 0; j < x.dim(1); ++j) row.copy_element(j, x, i * x.dim(1) + j);
    maps.push_back(Tensor::container({keys, std::move(row)}));
  }
  return {Tensor::container(std::move(maps))};
}

Sample<MapRows> MapRows::sample(Random& rng, ExprPool& pool) {
  const ContainerType type = sample_map(rng).container;
  const Exprs dims = constant_dims(pool, sample_dims(rng, 2));
  return {{}, {TensorType{type.key, {dims[1]}}, TensorType{type.element->tensor.dtype, dims}}};
}

const OpDef& define_map_rows() {
  return define<MapRows>();
}

}  // namespace ingot::ops
