// frontend/onnx/ops_sequence.cc: sequences and optionals.
#include "base/text.h"
#include "frontend/onnx/ops.h"
#include "ops/containers.h"

namespace ingot::onnx {
namespace {

/// A position as the core operators take it; `fallback` where the node has none.
Result<ValueId> position_of(OpContext& n, size_t k, int64_t fallback) {
  if (!n.has(k)) return n.reshape(n.ints({&fallback, 1}), {});
  if (!is_int(n.dtype(n.in(k)))) {
    return invalid_model("input ", k, ": expected an integer, got ", n.dtype(n.in(k)));
  }
  TRY(const ValueId wide, n.cast(n.in(k), DType::i64));
  return n.reshape(wide, {});
}

/// Item number `position` of a sequence that was made of tensors right before, or nothing.
ValueId known_item(OpContext& n, ValueId sequence, ValueId position) {
  const auto* made = n.graph().producer_as<ops::ContainerOf>(sequence);
  const ConstantData* number = n.graph().constant(position);
  if (made == nullptr || number == nullptr) return ValueId();
  const auto at = ops::find_position(load_as_int(number->dtype, number->bytes.data(), 0),
                                     made->count, made->count);
  if (!at) return ValueId();
  return n.graph().node(n.graph().value(sequence).producer).inputs[static_cast<size_t>(*at)];
}

Result<ValueId> item_at(OpContext& n, ValueId container, ValueId position) {
  if (const ValueId known = known_item(n, container, position); known.valid()) return known;
  const ContainerType& type = n.graph().type(container).container;
  int64_t rank = n.element_rank(container);
  if (!type.element->is_tensor()) {
    TRY(const ValueId sequence, n.add("container_at", {}, {container, position}));
    n.set_element_rank(sequence, rank);
    return sequence;
  }
  // An optional that never holds something is asked in a branch that is not taken.
  if (rank == kNoItems) rank = 0;
  if (rank == kUnknownRank) {
    return unsupported("an item of a sequence or optional whose rank is not known or differs");
  }
  return n.add("container_at", {{"rank", rank}}, {container, position});
}

Result<ValueId> container_of(OpContext& n, ValueIds items, DType dtype, bool optional) {
  const bool nested = !items.empty() && n.graph().type(items[0]).is_container();
  int64_t rank = kNoItems;
  for (const ValueId item : items) {
    rank = joined_rank(rank, nested ? n.element_rank(item) : n.rank(item));
  }
  const auto count = static_cast<int64_t>(items.size());
  TRY(const ValueId y,
      n.add("container_of",
            {{"count", count}, {"nested", nested}, {"optional", optional}, {"dtype", dtype}},
            std::move(items)));
  n.set_element_rank(y, rank);
  return y;
}

Status expect_sequence(const OpContext& n, size_t k) {
  const Type& type = n.graph().type(n.in(k));
  if (type.is_container() && type.container.kind == ContainerType::Kind::sequence) return ok();
  return invalid_model("input ", k, ": expected a sequence, got ", type);
}

Status expect_tensor(const OpContext& n, size_t k) {
  if (n.graph().type(n.in(k)).is_tensor()) return ok();
  return invalid_model("input ", k, ": expected a tensor, got ", n.graph().type(n.in(k)));
}

Result<ValueIds> sequence_construct(OpContext& n) {
  for (size_t k = 0; k < n.input_count(); ++k) TRY_STATUS(expect_tensor(n, k));
  return only(container_of(n, n.all_inputs(), n.dtype(n.in(0)), false));
}

Result<ValueIds> sequence_empty(OpContext& n) {
  TRY(const DType dtype, n.attr_dtype("dtype", DType::f32));
  return only(container_of(n, {}, dtype, false));
}

Result<ValueIds> sequence_at(OpContext& n) {
  TRY_STATUS(expect_sequence(n, 0));
  TRY(const ValueId position, position_of(n, 1, 0));
  return only(item_at(n, n.in(0), position));
}

Result<ValueIds> sequence_insert(OpContext& n) {
  TRY_STATUS(expect_sequence(n, 0));
  TRY_STATUS(expect_tensor(n, 1));
  ValueIds inputs = {n.in(0), n.in(1)};
  if (n.has(2)) {
    TRY(inputs.emplace_back(), position_of(n, 2, 0));
  }
  TRY(const ValueId y, n.add("sequence_insert", {{"has_position", n.has(2)}}, std::move(inputs)));
  n.set_element_rank(y, joined_rank(n.element_rank(n.in(0)), n.rank(n.in(1))));
  return ValueIds{y};
}

Result<ValueIds> sequence_erase(OpContext& n) {
  TRY_STATUS(expect_sequence(n, 0));
  ValueIds inputs = {n.in(0)};
  if (n.has(1)) {
    TRY(inputs.emplace_back(), position_of(n, 1, 0));
  }
  TRY(const ValueId y, n.add("sequence_erase", {{"has_position", n.has(1)}}, std::move(inputs)));
  n.set_element_rank(y, n.element_rank(n.in(0)));
  return ValueIds{y};
}

Result<ValueIds> sequence_length(OpContext& n) {
  TRY_STATUS(expect_sequence(n, 0));
  return only(n.add("container_length", {}, {n.in(0)}));
}

Result<ValueIds> split_to_sequence(OpContext& n) {
  TRY_STATUS(expect_tensor(n, 0));
  const int64_t rank = n.rank(n.in(0));
  TRY(const int64_t axis, n.attr_axis("axis", rank, 0));
  TRY(const bool keepdims, n.attr_flag("keepdims", true));
  ValueIds inputs = {n.in(0)};
  if (n.has(1)) {
    if (!is_int(n.dtype(n.in(1)))) {
      return invalid_model("input 1: expected integers, got ", n.dtype(n.in(1)));
    }
    TRY(inputs.emplace_back(), n.cast(n.in(1), DType::i64));
  }
  TRY(const ValueId y,
      n.add("sequence_split", {{"axis", axis}, {"keepdims", keepdims}, {"has_sizes", n.has(1)}},
            std::move(inputs)));
  n.set_element_rank(y, keepdims || n.has(1) ? rank : rank - 1);
  return ValueIds{y};
}

Result<ValueIds> concat_from_sequence(OpContext& n) {
  TRY_STATUS(expect_sequence(n, 0));
  const int64_t rank = n.element_rank(n.in(0));
  if (rank < 0) return unsupported("a sequence whose items' rank is not known or differs");
  TRY(const bool new_axis, n.attr_flag("new_axis", false));
  TRY(const int64_t axis, n.attr_axis("axis", rank + (new_axis ? 1 : 0), {}));
  const auto* made = n.graph().producer_as<ops::ContainerOf>(n.in(0));
  if (made == nullptr) {
    return only(n.add("sequence_concat", {{"axis", axis}, {"new_axis", new_axis}, {"rank", rank}},
                      {n.in(0)}));
  }
  ValueIds parts = n.graph().node(n.graph().value(n.in(0)).producer).inputs;
  for (ValueId& part : parts) {
    if (!new_axis) break;
    Exprs dims = n.dims(part);
    dims.insert(dims.begin() + axis, n.integer(1));
    TRY(part, n.reshape(part, std::move(dims)));
  }
  return only(n.concat(std::move(parts), axis));
}

/// The element that an attribute of a type describes.
struct Element {
  DType dtype;
  bool nested;
};
Result<Element> element_of(const TypeProto& type) {
  if (type.kind == TypeProto::Kind::sequence) {
    TRY(const TypeProto inner, read_type(type.element));
    TRY(Element element, element_of(inner));
    if (element.nested) return unsupported("sequences of sequences");
    element.nested = true;
    return element;
  }
  const auto dtype = dtype_from_onnx(type.elem_type);
  if (type.kind != TypeProto::Kind::tensor || !dtype) {
    return unsupported("optionals of other things than tensors and sequences of tensors");
  }
  return Element{*dtype, false};
}

Result<ValueIds> optional(OpContext& n) {
  if (n.has(0)) {
    const Type& type = n.graph().type(n.in(0));
    if (n.has_attr("type") && type.is_container() &&
        type.container.kind != ContainerType::Kind::sequence) {
      return invalid_model("input 0: expected a tensor or sequence, got ", type);
    }
    const Type& tensor = type.is_container() ? *type.container.element : type;
    if (!tensor.is_tensor()) return unsupported("an optional of ", type);
    return only(container_of(n, {n.in(0)}, tensor.tensor.dtype, true));
  }
  TRY(const TypeProto type, n.attr_type("type"));
  TRY(const Element element, element_of(type));
  TRY(const ValueId y, n.add("container_of",
                             {{"count", int64_t{0}},
                              {"nested", element.nested},
                              {"optional", true},
                              {"dtype", element.dtype}},
                             {}));
  n.set_element_rank(y, kNoItems);
  return ValueIds{y};
}

bool is_optional(const OpContext& n, size_t k) {
  const Type& type = n.graph().type(n.in(k));
  return type.is_container() && type.container.kind == ContainerType::Kind::optional;
}

Result<ValueIds> optional_has_element(OpContext& n) {
  if (!n.has(0)) return only(n.scalar(DType::b8, 0));
  if (!is_optional(n, 0)) return only(n.scalar(DType::b8, 1));
  TRY(const ValueId count, n.add("container_length", {}, {n.in(0)}));
  return only(n.cast(count, DType::b8));
}

Result<ValueIds> optional_get_element(OpContext& n) {
  if (!is_optional(n, 0)) return ValueIds{n.in(0)};
  TRY(const ValueId first, position_of(n, 1, 0));
  return only(item_at(n, n.in(0), first));
}

constexpr OpRow kRows[] = {
    {"ConcatFromSequence", 11, 1, 1, concat_from_sequence, true},
    {"Optional", 15, 0, 1, optional, true},
    {"OptionalGetElement", 15, 1, 1, optional_get_element, true},
    {"OptionalHasElement", 15, 0, 1, optional_has_element, true},
    {"SequenceAt", 11, 2, 2, sequence_at, true},
    {"SequenceConstruct", 11, 1, kVariadic, sequence_construct, true},
    {"SequenceEmpty", 11, 0, 0, sequence_empty, true},
    {"SequenceErase", 11, 1, 2, sequence_erase, true},
    {"SequenceInsert", 11, 2, 3, sequence_insert, true},
    {"SequenceLength", 11, 1, 1, sequence_length, true},
    {"SplitToSequence", 11, 1, 2, split_to_sequence, true},
};

}  // namespace

std::span<const OpRow> sequence_rows() {
  return kRows;
}

}  // namespace ingot::onnx
