// frontend/onnx/op_context.cc: attributes and known contents of the node being built.
#include "frontend/onnx/op_context.h"

#include <algorithm>

#include "base/text.h"
#include "ops/read_size.h"

namespace ingot::onnx {
namespace {

/// Elements of shape-like inputs that are looked at.
constexpr int64_t kMaxContents = 4096;

Error missing(std::string_view name) {
  return invalid_model("the attribute '", name, "' is missing");
}

}  // namespace

bool is_computed(Expr element) {
  bool found = false;
  for_each(element, [&](Expr e) {
    found = found || (e.kind() == ExprKind::symbol &&
                      std::as_const(e.pool()).symbol_info(e.symbol()).data_dependent);
  });
  return found && range_of(element).lo < 0;
}

int64_t joined_rank(int64_t a, int64_t b) {
  if (a == kNoItems || a == b) return b;
  return b == kNoItems ? a : kUnknownRank;
}

OpContext::OpContext(Graph& graph, std::string provenance, Node node)
    : Builder(graph, std::move(provenance)), node_(std::move(node)) {}

ValueIds OpContext::all_inputs() const {
  ValueIds present;
  for (const ValueId id : node_.inputs) {
    if (id.valid()) present.push_back(id);
  }
  return present;
}

Result<ValueIds> OpContext::seeing(ValueIds inputs, int64_t opset,
                                   Result<ValueIds> (*build)(OpContext&)) {
  std::swap(node_.inputs, inputs);
  std::swap(node_.opset, opset);
  auto built = build(*this);
  node_.inputs = std::move(inputs);
  node_.opset = opset;
  return built;
}

Status OpContext::expect_inputs(std::initializer_list<size_t> needed) const {
  for (const size_t k : needed) {
    if (!has(k)) return invalid_model("input ", k, " is missing");
  }
  return ok();
}

Result<ValueId> OpContext::turn() const {
  if (node_.loops == (node_.turn.valid() ? 1 : 0)) return node_.turn;
  return unsupported("random numbers in a branch or loop inside of a loop");
}

int64_t OpContext::element_rank(ValueId container) const {
  const auto found = node_.element_ranks->find(container);
  return found == node_.element_ranks->end() ? kUnknownRank : found->second;
}

void OpContext::set_element_rank(ValueId container, int64_t rank) {
  (*node_.element_ranks)[container] = rank;
}

Status OpContext::expect_floats(size_t first, size_t end) const {
  for (size_t k = first; k < std::min(end, input_count()); ++k) {
    if (has(k) && !is_float(dtype(in(k)))) {
      return invalid_model("input ", k, ": expected floats, got ", dtype(in(k)));
    }
  }
  return ok();
}

Status OpContext::expect_numbers(size_t first, size_t end) const {
  for (size_t k = first; k < std::min(end, input_count()); ++k) {
    if (!has(k) || is_float(dtype(in(k))) || is_int(dtype(in(k)))) continue;
    return invalid_model("input ", k, ": expected numbers, got ", dtype(in(k)));
  }
  return ok();
}

const AttributeProto* OpContext::find(std::string_view name) {
  asked_.push_back(name);
  for (const AttributeProto* attribute : node_.attributes) {
    if (attribute->name == name) return attribute;
  }
  return nullptr;
}

Result<const AttributeProto*> OpContext::expect(std::string_view name, AttributeType type) {
  const AttributeProto* found = find(name);
  if (found == nullptr) return found;
  // An empty list may have been written without a type.
  if (found->type != type && found->type != AttributeType::undefined) {
    return invalid_model("attribute '", name, "': expected ", to_text(type), ", got ",
                         to_text(found->type));
  }
  return found;
}

bool OpContext::has_attr(std::string_view name) {
  return find(name) != nullptr;
}

Result<int64_t> OpContext::attr_int(std::string_view name, std::optional<int64_t> otherwise) {
  TRY(const AttributeProto* found, expect(name, AttributeType::int_));
  if (found != nullptr) return found->i;
  if (!otherwise) return missing(name);
  return *otherwise;
}

Result<bool> OpContext::attr_flag(std::string_view name, bool otherwise) {
  TRY(const int64_t value, attr_int(name, otherwise ? 1 : 0));
  // What else is meant is taken for true by some operators of onnxruntime, for false by others.
  if (value == 0 || value == 1) return value == 1;
  return invalid_model("attribute '", name, "': expected 0 or 1, got ", value);
}

Result<double> OpContext::attr_real(std::string_view name, std::optional<double> otherwise) {
  TRY(const AttributeProto* found, expect(name, AttributeType::float_));
  if (found != nullptr) return found->f;
  if (!otherwise) return missing(name);
  return *otherwise;
}

Result<std::string> OpContext::attr_text(std::string_view name,
                                         std::optional<std::string> otherwise) {
  TRY(const AttributeProto* found, expect(name, AttributeType::string));
  if (found != nullptr) return std::string(found->s);
  if (!otherwise) return missing(name);
  return *otherwise;
}

Result<size_t> OpContext::attr_choice(std::string_view name,
                                      std::span<const std::string_view> choices, size_t otherwise) {
  TRY(const AttributeProto* found, expect(name, AttributeType::string));
  if (found == nullptr) return otherwise;
  const auto place = std::ranges::find(choices, found->s);
  if (place != choices.end()) return static_cast<size_t>(place - choices.begin());
  return invalid_model("attribute '", name, "': expected one of ", join(choices, ", "), ", got '",
                       to_comment(found->s), "'");
}

Result<std::vector<int64_t>> OpContext::attr_ints(std::string_view name) {
  TRY(const AttributeProto* found, expect(name, AttributeType::ints));
  return found == nullptr ? std::vector<int64_t>() : found->ints;
}

Result<std::vector<double>> OpContext::attr_reals(std::string_view name) {
  TRY(const AttributeProto* found, expect(name, AttributeType::floats));
  return found == nullptr ? std::vector<double>() : found->floats;
}

Result<std::vector<std::string>> OpContext::attr_texts(std::string_view name) {
  TRY(const AttributeProto* found, expect(name, AttributeType::strings));
  if (found == nullptr) return std::vector<std::string>();
  return std::vector<std::string>(found->strings.begin(), found->strings.end());
}

Result<ConstantData> OpContext::attr_tensor(std::string_view name) {
  TRY(const AttributeProto* found, expect(name, AttributeType::tensor));
  if (found == nullptr) return missing(name);
  TRY(const TensorProto tensor, add_note(read_tensor(found->s), "attribute '", name, "'"));
  return add_note(decode_tensor(tensor, node_.source), "attribute '", name, "'");
}

Result<TypeProto> OpContext::attr_type(std::string_view name) {
  TRY(const AttributeProto* found, expect(name, AttributeType::type));
  if (found == nullptr) return missing(name);
  return add_note(read_type(found->s), "attribute '", name, "'");
}

Result<DType> OpContext::attr_dtype(std::string_view name, std::optional<DType> otherwise) {
  if (otherwise && !has_attr(name)) return *otherwise;
  TRY(const int64_t number, attr_int(name));
  const auto dtype = dtype_from_onnx(number);
  if (!dtype) {
    return invalid_model("attribute '", name, "': expected an element type from 1 to 26, got ",
                         number);
  }
  return *dtype;
}

Result<int64_t> OpContext::attr_axis(std::string_view name, int64_t rank,
                                     std::optional<int64_t> otherwise) {
  TRY(const int64_t axis, attr_int(name, otherwise));
  if (axis < -rank || axis >= rank) {
    return invalid_model("attribute '", name, "': expected an axis in [", -rank, ", ", rank,
                         "), got ", axis);
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::string_view> OpContext::unread_attributes() const {
  std::vector<std::string_view> unread;
  for (const AttributeProto* attribute : node_.attributes) {
    if (std::ranges::find(asked_, attribute->name) == asked_.end()) {
      unread.push_back(attribute->name);
    }
  }
  return unread;
}

Result<Exprs> OpContext::contents(size_t k, std::string_view name) {
  if (!has(k)) return invalid_model("the input '", name, "' is missing");
  return contents_of(in(k), name);
}

Result<Exprs> OpContext::contents_of(ValueId value, std::string_view name) {
  const DType held = dtype(value);
  if (!is_int(held) && held != DType::b8) {
    return invalid_model("input '", name, "': expected integers, got ", held);
  }
  if (rank(value) > 1) {
    return invalid_model("input '", name, "': expected a list, got a tensor of rank ", rank(value));
  }
  auto found = node_.contents->find(value, kMaxContents);
  if (!found) {
    TRY(Exprs read, read_contents(value, name));
    return read;
  }
  for (Expr& e : *found) {
    if (e.dtype() != DType::i64) e = ingot::cast(e, DType::i64);
  }
  return std::move(*found);
}

Result<Exprs> OpContext::sizes(size_t k, std::string_view name) {
  TRY(Exprs found, contents(k, name));
  for (Expr& e : found) {
    if (is_computed(e)) e = max(e, integer(0));
  }
  return found;
}

/// Elements that are computed become symbols.
Result<Exprs> OpContext::read_contents(ValueId value, std::string_view name) {
  const auto count = rank(value) == 0 ? 1 : dim(value, 0).as_int();
  if (!count || *count > kMaxContents) {
    return unsupported("its input '", name, "' depends on data, and its length is not known");
  }
  const auto [at, is_new] = node_.read_sizes->try_emplace(value);
  if (!is_new) return at->second;
  Exprs elements;
  for (int64_t k = 0; k < *count; ++k) {
    ValueId element = value;
    if (rank(value) > 0) {
      TRY(element, slice_axis(value, 0, integer(k), integer(1)));
    }
    TRY(element, reshape(element, {}));
    if (const auto known = node_.contents->find(element, 1)) {
      elements.push_back(ingot::cast((*known)[0], DType::i64));
      continue;
    }
    TRY(element, cast(element, DType::i64));
    TRY(const ValueId size, add("read_size", {}, {element}));
    elements.push_back(dim(size, 0) - integer(ops::ReadSize::kOffset));
  }
  at->second = elements;
  return elements;
}

Result<std::vector<int64_t>> OpContext::numbers(size_t k, std::string_view name) {
  TRY(const Exprs exprs, contents(k, name));
  std::vector<int64_t> out;
  for (const Expr e : exprs) {
    const auto value = e.as_int();
    if (!value) return unsupported("its input '", name, "' depends on run-time dims");
    out.push_back(*value);
  }
  return out;
}

Result<Expr> OpContext::content(size_t k, std::string_view name) {
  TRY(const Exprs exprs, contents(k, name));
  if (exprs.size() != 1) {
    return invalid_model("input '", name, "': expected one element, got ", exprs.size());
  }
  return exprs[0];
}

Result<int64_t> OpContext::number_at(size_t k, std::string_view name) {
  TRY(const std::vector<int64_t> values, numbers(k, name));
  if (values.size() != 1) {
    return invalid_model("input '", name, "': expected one element, got ", values.size());
  }
  return values[0];
}

Result<std::vector<double>> OpContext::constant_reals(size_t k, std::string_view name) {
  const ConstantData* data = has(k) ? graph().constant(in(k)) : nullptr;
  if (data == nullptr) return unsupported("its input '", name, "' depends on data");
  if (data->dtype == DType::str || is_complex(data->dtype)) {
    return invalid_model("input '", name, "': expected numbers, got ", data->dtype);
  }
  const int64_t n = count_of(data->dims);
  if (n > kMaxContents) return unsupported("its input '", name, "' of ", n, " elements");
  std::vector<double> values;
  for (int64_t j = 0; j < n; ++j) {
    values.push_back(load_as_double(data->dtype, data->bytes.data(), static_cast<size_t>(j)));
  }
  return values;
}

Result<std::optional<std::vector<int64_t>>> OpContext::axes(size_t input, int64_t rank) {
  std::vector<int64_t> found;
  if (has_attr("axes")) {
    TRY(found, attr_ints("axes"));
  } else if (has(input)) {
    TRY(found, numbers(input, "axes"));
  } else {
    return std::optional<std::vector<int64_t>>();
  }
  TRY(std::vector<int64_t> front, front_axes(std::move(found), rank));
  std::ranges::sort(front);
  return std::optional(std::move(front));
}

Result<std::vector<int64_t>> front_axes(std::vector<int64_t> axes, int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      return invalid_model("axes: expected axes in [", -rank, ", ", rank, "), got ", axis);
    }
    if (axis < 0) axis += rank;
    if (seen[static_cast<size_t>(axis)]) return invalid_model("axes: axis ", axis, " occurs twice");
    seen[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

}  // namespace ingot::onnx
