// codegen/region.cc: follows `lower` through a region.
#include "codegen/region.h"

#include "base/check.h"
#include "base/text.h"

namespace ingot {
namespace {

DType plane_dtype(const StateType& state, StatePlane plane) {
  switch (plane) {
    case StatePlane::data:
      return state.dtype;
    case StatePlane::table:
      return DType::i32;
    case StatePlane::lengths:
      return DType::i64;
  }
  return state.dtype;
}

Expr plane_elements(ExprPool& pool, const StateType& state, StatePlane plane) {
  const Expr token = element_count(pool, state.token);
  switch (plane) {
    case StatePlane::data:
      return state.layout == StateLayout::paged
                 ? state.capacity * pool.integer(state.block_size) * token
                 : state.batch * state.capacity * token;
    case StatePlane::table:
      return state.batch * state.max_blocks;
    case StatePlane::lengths:
      return state.batch;
  }
  return token;
}

/// The one element of a constant of size 1, in its compute dtype.
Expr literal(ExprPool& pool, const ConstantData& data) {
  auto tensor = Tensor::from_bytes(data.dtype, data.dims, data.bytes);
  CHECK(tensor && tensor->size() == 1, "a constant inside a region has one element");
  const DType dtype = compute_dtype(data.dtype);
  return is_float(dtype) ? pool.real(tensor->real(0), dtype)
                         : pool.integer(tensor->integer(0), dtype);
}

}  // namespace

/// Gives one node of a region the elements of its inputs.
class NodeLowering final : public Lowering {
 public:
  NodeLowering(Region& region, const Node& node) : region_(region), node_(node) {}

  ExprPool& pool() override { return region_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t input) const override {
    return input < node_.inputs.size() && node_.inputs[input].valid();
  }
  const Type& input_type(size_t input) const override {
    return region_.body().type(node_.inputs[input]);
  }
  const Type& output_type(size_t output) const override {
    return region_.body().type(node_.outputs[output]);
  }
  Expr load(size_t input, std::span<const Expr> index) override {
    return region_.element(node_.inputs[input], index);
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    return region_.element_if(condition, node_.inputs[input], index, otherwise);
  }
  Expr load_plane(size_t input, StatePlane plane, Expr offset) override {
    // A state that was updated in this region is the same memory as the one that came in.
    ValueId value = node_.inputs[input];
    while (region_.body().value(value).producer.valid()) {
      value = region_.body().node(region_.body().value(value).producer).inputs[0];
    }
    const StateType& state = region_.body().type(value).state;
    const uint32_t buffer = region_.input_buffer(region_.body().value(value).port, plane);
    const DType storage = plane_dtype(state, plane);
    const Expr loaded =
        region_.predicate_ ? pool().load(buffer, storage, offset, region_.predicate_, zero(storage))
                           : pool().load(buffer, storage, offset);
    return cast(loaded, plane == StatePlane::data ? compute_dtype(storage) : DType::i64);
  }

 private:
  Expr zero(DType dtype) {
    return is_float(dtype) ? pool().real(0, dtype) : pool().integer(0, dtype);
  }
  Region& region_;
  const Node& node_;
};

Region::Region(const Graph& body) : body_(body) {
  const auto add = [&](std::string name, DType dtype, Expr elements, bool written) {
    buffers_.push_back({std::move(name), buffer_dtype(dtype), written, elements});
    return static_cast<uint32_t>(buffers_.size() - 1);
  };
  for (const GraphInput& input : body.inputs()) {
    const Type& type = body.type(input.value);
    if (type.is_tensor()) {
      input_buffers_.push_back(
          add(input.name, type.tensor.dtype, element_count(pool(), type.tensor.dims), false));
      continue;
    }
    const StateType& state = type.state;
    const auto plane = [&](std::string_view suffix, StatePlane which) {
      return add(concat(input.name, suffix), plane_dtype(state, which),
                 plane_elements(pool(), state, which), false);
    };
    input_buffers_.push_back(plane("", StatePlane::data));
    if (state.layout == StateLayout::paged) plane("_table", StatePlane::table);
    plane("_lengths", StatePlane::lengths);
  }
  for (const GraphOutput& output : body.outputs()) {
    const Type& type = body.type(output.value);
    if (type.is_tensor()) {
      output_buffers_.push_back(
          add(output.name, type.tensor.dtype, element_count(pool(), type.tensor.dims), true));
      continue;
    }
    // A state goes on in the memory it came in.
    ValueId value = output.value;
    while (body.value(value).producer.valid()) {
      value = body.node(body.value(value).producer).inputs[0];
    }
    const uint32_t buffer = input_buffers_[body.value(value).port];
    buffers_[buffer].written = true;
    output_buffers_.push_back(buffer);
  }
}

uint32_t Region::input_buffer(size_t input, StatePlane plane) const {
  const uint32_t first = input_buffers_[input];
  if (plane == StatePlane::data) return first;
  if (plane == StatePlane::table) return first + 1;
  const Type& type = body_.type(body_.inputs()[input].value);
  return first + (type.state.layout == StateLayout::paged ? 2 : 1);
}

Expr Region::offset(const TensorType& type, std::span<const Expr> index, ExprPool& pool) {
  CHECK(index.size() == type.dims.size(), "an index has one expression per dim");
  // Horner's form: the simplifier cancels it against the divisions of a reshape.
  Expr sum = pool.integer(0);
  for (size_t axis = 0; axis < index.size(); ++axis) sum = sum * type.dims[axis] + index[axis];
  return sum;
}

Expr Region::load_input(size_t input, std::span<const Expr> index) {
  const TensorType& type = body_.tensor(body_.inputs()[input].value);
  const Expr at = offset(type, index, pool());
  const DType dtype = buffer_dtype(type.dtype);
  if (!predicate_) return cast(pool().load(input_buffer(input), dtype, at), compute_dtype(dtype));
  const Expr zero = is_float(dtype) ? pool().real(0, dtype) : pool().integer(0, dtype);
  return cast(pool().load(input_buffer(input), dtype, at, predicate_, zero), compute_dtype(dtype));
}

Expr Region::element(ValueId value, std::span<const Expr> index) {
  const Value& info = body_.value(value);
  if (const auto found = bound_.find(value); found != bound_.end()) return found->second(index);
  if (!info.producer.valid()) return load_input(info.port, index);

  std::vector<uint32_t> key = {value.value, predicate_ ? predicate_.id() : ExprPool::kNone};
  for (const Expr& i : index) key.push_back(i.id());
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;

  const Node& node = body_.node(info.producer);
  Expr result;
  if (const ConstantData* data = body_.constant(value)) {
    result = literal(pool(), *data);
  } else {
    NodeLowering lowering(*this, node);
    result = node.op.def().lower(node.op.data(), lowering, info.port, index);
  }
  memo_.emplace(std::move(key), result);
  return result;
}

Expr Region::element_if(Expr condition, ValueId value, std::span<const Expr> index,
                        Expr otherwise) {
  if (condition.is_int(1)) return element(value, index);
  if (condition.is_int(0)) return otherwise;
  const Expr outer = predicate_;
  predicate_ = outer ? logical_and(outer, condition) : condition;
  const Expr inside = element(value, index);
  predicate_ = outer;
  return select(condition, inside, otherwise);
}

Expr Region::stored(size_t number, std::span<const Expr> index) {
  const ValueId value = body_.outputs()[number].value;
  return cast(element(value, index), buffer_dtype(body_.tensor(value).dtype));
}

Scatter Region::scatter(NodeId node, std::span<const Expr> index) {
  const Node& at = body_.node(node);
  NodeLowering lowering(*this, at);
  return at.op.def().lower_scatter(at.op.data(), lowering, index);
}

}  // namespace ingot
