// ops/container_of.cc: makes a sequence or optional; what the operators of containers share.
#include "ops/checks.h"
#include "ops/containers.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Status expect_container(std::string_view op, std::string_view port, const Type& type) {
  const bool known =
      type.is_container() && !type.is_nothing() && type.container.kind != ContainerType::Kind::map;
  if (known) return ok();
  return invalid_argument(op, ": ", port, ": expected a sequence or optional, got ", type);
}

Status expect_sequence(std::string_view op, std::string_view port, const Type& type) {
  const bool known = type.is_container() && !type.is_nothing() &&
                     type.container.kind == ContainerType::Kind::sequence &&
                     type.container.element->is_tensor();
  if (known) return ok();
  return invalid_argument(op, ": ", port, ": expected a sequence of tensors, got ", type);
}

Status expect_position(std::string_view op, const InferContext& ctx, size_t slot, bool wanted) {
  if (ctx.count() != slot + (wanted ? 1 : 0) || (wanted && !ctx.has(slot))) {
    return invalid_argument(op, ": expected ", slot + (wanted ? 1 : 0), " inputs, got ",
                            ctx.count());
  }
  if (!wanted) return ok();
  const Type& type = ctx.inputs[slot];
  if (type == Type(TensorType{DType::i64, {}})) return ok();
  return invalid_argument(op, ": position: expected i64[], got ", type);
}

Exprs fresh_dims(ExprPool& pool, std::string_view name, int64_t rank) {
  Exprs dims;
  for (int64_t a = 0; a < rank; ++a) {
    dims.push_back(pool.fresh_symbol(std::string(name), true));
    pool.symbol_info(dims.back().symbol()).range = {0, kMaxDim};
  }
  return dims;
}

std::optional<int64_t> find_position(int64_t position, int64_t count, int64_t end) {
  if (position < 0) position += count;
  return position >= 0 && position < end ? std::optional(position) : std::nullopt;
}

Type sample_sequence(Random& rng) {
  constexpr DType kDTypes[] = {DType::f32, DType::i64, DType::str};
  return sequence_type(TensorType{kDTypes[rng.range(0, 2)], {}});
}

Result<Types> ContainerOf::infer(InferContext& ctx) const {
  if (count != static_cast<int64_t>(ctx.count()) || (optional && count > 1)) {  // C1, C2
    return invalid_argument(kName, ": expected ", optional ? "at most one input, " : "", count,
                            " inputs, got ", ctx.count());
  }
  if (nested && !optional) return invalid_argument(kName, ": a sequence of sequences");  // C2
  const Type tensor = TensorType{dtype, {}};
  const Type item = nested ? sequence_type(tensor) : tensor;
  for (size_t k = 0; k < ctx.count(); ++k) {  // C1
    const Type& type = ctx.inputs[k];
    const bool fits =
        ctx.has(k) && (nested ? type == item : type.is_tensor() && type.tensor.dtype == dtype);
    if (!fits) {
      return invalid_argument(kName, ": item ", k, ": expected ",
                              nested ? to_text(item) : concat("a tensor of ", dtype), ", got ",
                              type);
    }
  }
  return Types{optional ? optional_type(item) : sequence_type(item)};
}

std::vector<Tensor> ContainerOf::reference(const ReferenceContext& ctx) const {
  return {Tensor::container({ctx.in.begin(), ctx.in.end()})};
}

Sample<ContainerOf> ContainerOf::sample(Random& rng, ExprPool& pool) {
  Sample<ContainerOf> sample;
  sample.op.optional = rng.chance(0.5);
  sample.op.nested = sample.op.optional && rng.chance(0.5);
  sample.op.count = rng.range(0, sample.op.optional ? 1 : 4);
  sample.op.dtype = sample_sequence(rng).container.element->tensor.dtype;
  for (int64_t k = 0; k < sample.op.count; ++k) {
    const TensorType item{sample.op.dtype, constant_dims(pool, sample_dims(rng, rng.range(0, 3)))};
    sample.inputs.push_back(sample.op.nested ? sequence_type(item) : Type(item));
  }
  return sample;
}

const OpDef& define_container_of() {
  return define<ContainerOf>();
}

}  // namespace ingot::ops
