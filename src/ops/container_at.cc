// ops/container_at.cc: one item of a sequence or optional.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ContainerAt::infer(InferContext& ctx) const {
  constexpr int64_t kMostDims = 64;
  if (ctx.count() < 1 || !ctx.has(0)) return invalid_argument(kName, ": expected a container");
  TRY_STATUS(expect_container(kName, "x", ctx.inputs[0]));  // C1
  TRY_STATUS(expect_position(kName, ctx, 1, true));         // C2
  if (rank < 0 || rank > kMostDims) {                       // C3
    return invalid_argument(kName, ": expected a rank in 0..", kMostDims, ", got ", rank);
  }
  const Type& item = *ctx.inputs[0].container.element;
  if (!item.is_tensor()) return Types{item};
  return Types{TensorType{item.tensor.dtype, fresh_dims(ctx.pool, "item_dim", rank)}};
}

std::vector<Tensor> ContainerAt::reference(const ReferenceContext& ctx) const {
  const std::vector<Tensor>& items = ctx.in[0].items();
  const auto count = static_cast<int64_t>(items.size());
  const auto position = find_position(ctx.in[1].integer(0), count, count);
  if (!position) {
    return ctx.fail(invalid_argument("position ", ctx.in[1].integer(0), " of ", count, " items"));
  }
  const Tensor& item = items[static_cast<size_t>(*position)];
  if (!item.is_container() && item.rank() != rank) {
    return ctx.fail(invalid_argument("expected an item of rank ", rank, ", got ", item.rank()));
  }
  return {item};
}

Sample<ContainerAt> ContainerAt::sample(Random& rng, ExprPool&) {
  const Type sequence = sample_sequence(rng);
  // Sampled containers have three items of rank 2, or the one of an optional.
  const bool is_optional = rng.chance(0.3);
  return {{is_optional ? 0 : 2},
          {is_optional ? optional_type(sequence) : sequence, TensorType{DType::i64, {}}},
          {{1, {is_optional ? -1.0 : -3.0, is_optional ? 0.0 : 2.0}}}};
}

const OpDef& define_container_at() {
  return define<ContainerAt>();
}

}  // namespace ingot::ops
