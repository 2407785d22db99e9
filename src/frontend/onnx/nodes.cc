// frontend/onnx/nodes.cc: builds nodes in their scopes: table rows, functions, placeholders.
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/order.h"

namespace ingot::onnx {
namespace {

/// A name for people that deep calls do not make ever longer.
std::string shortened(std::string name) {
  constexpr size_t kEnd = 100;
  if (name.size() <= 2 * kEnd + 3) return name;
  return concat(name.substr(0, kEnd), "...", name.substr(name.size() - kEnd));
}

/// An attribute of a custom operator.
Result<Attribute> custom_attribute(const AttributeProto& attribute) {
  switch (attribute.type) {
    case AttributeType::float_:
      return Attribute(attribute.f);
    case AttributeType::int_:
      return Attribute(attribute.i);
    case AttributeType::string:
      return Attribute(std::string(attribute.s));
    case AttributeType::floats:
      return Attribute(attribute.floats);
    case AttributeType::ints:
      return Attribute(attribute.ints);
    case AttributeType::strings:
      return Attribute(
          std::vector<std::string>(attribute.strings.begin(), attribute.strings.end()));
    default:
      return unsupported("attribute '", to_comment(attribute.name),
                         "' of a custom operator: ", "expected numbers or text, got ",
                         to_text(attribute.type));
  }
}

}  // namespace

Status Importer::count_node() {
  if (++nodes_built_ > max_nodes_) {
    return Error{Code::kResourceExhausted,
                 concat("its functions expand to more than ", max_nodes_, " nodes"),
                 {}};
  }
  return ok();
}

/// Nodes being built, in the order of their execution: those of a graph, or of a function that is
/// called. Calls are kept in a list, so that deep ones take no stack.
struct Importer::Call {
  std::span<const NodeProto> nodes;
  Frame* frame = nullptr;                   // where their names are
  const NodeProto* caller = nullptr;        // of a function
  const FunctionProto* function = nullptr;  // likewise
  std::vector<size_t> order = {};
  size_t next = 0;
  Frame own = {};          // a function's frame
  Bindings bindings = {};  // of its attributes

  const NodeProto& current() const { return nodes[order[next - 1]]; }
};

Status Importer::import_nodes(std::span<const NodeProto> nodes, Frame& frame) {
  std::deque<Call> calls;
  calls.push_back({nodes, &frame});
  Status done = put_in_order(calls.back());
  if (done) done = build_calls(calls);
  if (done) return done;
  Error error = std::move(done.error());
  for (; !calls.empty(); calls.pop_back()) {
    const Call& call = calls.back();
    if (call.next > 0) error = add_note(std::move(error), describe(call.current()));
    if (call.function == nullptr) continue;
    calls_.erase(call.function);
    error = add_note(std::move(error), "function '", to_comment(call.function->name), "'");
  }
  // What infer refuses is the model's mistake, not the caller's. Inside of a subgraph it is known
  // by its code: a branch that is not taken may hold such a node.
  if (error.code == Code::kInvalidArgument && frame.depth == 0) error.code = Code::kInvalidModel;
  return error;
}

Status Importer::put_in_order(Call& call) {
  for (const NodeProto& node : call.nodes) {
    if (node.op_type.empty()) {
      return invalid_model(describe(node), ": it does not say which operator it is");
    }
  }
  TRY(call.order, execution_order(call.nodes, call.frame->depth));
  return ok();
}

Status Importer::build_calls(std::deque<Call>& calls) {
  while (!calls.empty()) {
    Call& call = calls.back();
    if (call.next == call.order.size()) {
      if (call.function == nullptr) return ok();
      const Call ended = std::move(call);
      calls_.erase(ended.function);
      calls.pop_back();
      TRY_STATUS(leave_function(ended, *calls.back().frame));
      continue;
    }
    const NodeProto& node = call.nodes[call.order[call.next++]];
    const auto function =
        functions_.find(FunctionKey(normal_domain(node.domain), node.op_type, node.overload));
    if (function == functions_.end()) {
      TRY_STATUS(import_node(node, *call.frame));
    } else {
      TRY_STATUS(enter_function(node, *function->second, *call.frame, calls));
    }
  }
  return ok();
}

std::string Importer::provenance(const NodeProto& node, const Frame& frame) const {
  const std::string_view own = !node.name.empty()      ? node.name
                               : !node.outputs.empty() ? node.outputs[0]
                                                       : node.op_type;
  return frame.prefix.empty() ? std::string(own) : concat(frame.prefix, "/", own);
}

Result<ValueIds> Importer::resolve_inputs(const NodeProto& node, const Frame& frame) const {
  ValueIds inputs;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const auto value = frame.find(name);
    if (!value) {
      return invalid_model("input '", to_comment(name),
                           "': no node, input or initializer gives it");
    }
    inputs.push_back(*value);
  }
  return inputs;
}

/// The node's attributes; in a function those that name one of the caller's are replaced by it, or
/// left out where the caller has none.
Result<std::vector<const AttributeProto*>> Importer::resolve_attributes(const NodeProto& node,
                                                                        const Frame& frame) {
  std::vector<const AttributeProto*> attributes;
  for (const AttributeProto& attribute : node.attributes) {
    for (const AttributeProto* other : attributes) {
      if (other->name == attribute.name) {
        return invalid_model("attribute '", to_comment(attribute.name), "' occurs twice");
      }
    }
    if (attribute.ref_attr_name.empty()) {
      attributes.push_back(&attribute);
      continue;
    }
    if (frame.bindings == nullptr) {
      return invalid_model("attribute '", to_comment(attribute.name),
                           "' refers to one of a function, but there is none around it");
    }
    const auto bound = frame.bindings->find(attribute.ref_attr_name);
    if (bound == frame.bindings->end()) continue;
    AttributeProto& copy = renamed_attributes_.emplace_back(*bound->second);
    copy.name = attribute.name;
    attributes.push_back(&copy);
  }
  return attributes;
}

Status Importer::import_node(const NodeProto& node, Frame& frame) {
  TRY_STATUS(count_node());
  TRY(const ValueIds inputs, resolve_inputs(node, frame));
  const size_t assumptions = graph_.assumptions().size();
  auto built = build_node(node, inputs, frame);
  if (!built && built.error().code == Code::kUnsupported) {
    graph_.assumptions().resize(assumptions);
    const std::string_view domain = normal_domain(node.domain);
    const std::string reason = to_text(built.error());
    built = add_placeholder(node, inputs, frame.opset(domain).value_or(0), reason, frame);
  }
  if (!built) return std::move(built.error());
  return define_outputs(node, *built, frame);
}

Status Importer::define_outputs(const NodeProto& node, const ValueIds& values, Frame& frame) {
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const std::string_view name = node.outputs[k];
    if (name.empty()) continue;
    TRY_STATUS(frame.define(name, values[k]));
    if (graph_.value(values[k]).name.empty()) graph_.set_value_name(values[k], std::string(name));
  }
  return ok();
}

Result<ValueIds> Importer::build_node(const NodeProto& node, const ValueIds& inputs, Frame& frame) {
  const std::string_view domain = normal_domain(node.domain);
  TRY(const auto attributes, resolve_attributes(node, frame));
  const auto opset = frame.opset(domain);
  if (!opset) {
    return invalid_model("the model uses domain '", to_comment(shown_domain(domain)),
                         "' without importing it");
  }
  counts_[{std::string(domain), std::string(node.op_type), *opset}] += 1;
  const auto custom = options_.custom.find({std::string(domain), std::string(node.op_type)});
  if (custom != options_.custom.end()) {
    return build_custom(node, custom->second, inputs, attributes, frame);
  }
  if (!domain.empty()) {
    if (domain == "ai.onnx.preview" && node.op_type == "FlexAttention") {
      return build_flex_attention(node, inputs, attributes, frame);
    }
    const OpRow* row = find_row(concat(domain, ".", node.op_type), *opset);
    if (row != nullptr) return build_row(node, *row, *opset, inputs, attributes, frame);
    return unsupported("there is no operator '", to_comment(node.op_type), "' of domain '",
                       to_comment(domain), "' that is known");
  }
  if (node.op_type == "If") return build_if(node, inputs, attributes, frame);
  if (node.op_type == "Loop") return build_loop(node, inputs, attributes, frame);
  if (node.op_type == "SequenceMap") return build_map(node, inputs, attributes, frame);
  if (node.op_type == "Scan") return build_scan(node, inputs, attributes, *opset, frame);
  const OpRow* row = find_row(node.op_type, *opset);
  if (row == nullptr) {
    const auto first = first_opset(node.op_type);
    if (first) return unsupported("it exists from opset ", *first, " on, the model has ", *opset);
    return unsupported("there is no operator '", to_comment(node.op_type), "' at opset ", *opset,
                       ", or none that is known");
  }
  return build_row(node, *row, *opset, inputs, attributes, frame);
}

Result<ValueIds> Importer::build_row(const NodeProto& node, const OpRow& row, int64_t opset,
                                     const ValueIds& inputs,
                                     std::span<const AttributeProto* const> attributes,
                                     const Frame& frame) {
  for (const ValueId input : inputs) {
    if (!input.valid()) continue;
    if (graph_.type(input).is_nothing()) return unsupported(kBlocked);
    if (!graph_.type(input).is_tensor() && !row.takes_containers) {
      return unsupported("inputs of type ", shown_type(graph_.type(input)));
    }
  }
  size_t given = 0;
  while (given < inputs.size() && inputs[given].valid()) ++given;
  if (given < row.min_inputs || inputs.size() > row.max_inputs) {
    return invalid_model("expected ", row.min_inputs,
                         row.max_inputs == row.min_inputs ? "" : " or more", " inputs at opset ",
                         opset, ", got ", inputs.size());
  }
  for (size_t k = given; k < inputs.size() && row.max_inputs == kVariadic; ++k) {
    if (!inputs[k].valid()) return invalid_model("input ", k, " is missing");
  }
  OpContext context(graph_, provenance(node, frame),
                    {&node, attributes, opset, row.since, inputs, source_, contents_.get(),
                     &read_sizes_, turn_, loops_, &element_ranks_});
  auto built = row.build(context);
  if (context.wrong_input()) built = *context.wrong_input();
  if (!built) {
    Error error = std::move(built.error());
    if (error.code == Code::kInvalidModel) error.code = Code::kInvalidArgument;
    return error;
  }
  ValueIds outputs = *std::move(built);
  for (size_t k = outputs.size(); k < node.outputs.size(); ++k) {
    if (!node.outputs[k].empty()) return unsupported("its output number ", k);
  }
  for (const std::string_view name : context.unread_attributes()) {
    summary_.warnings.push_back(
        concat(describe(node), ": attribute '", to_comment(name), "' is not known and ignored"));
  }
  return outputs;
}

Result<ValueIds> Importer::build_custom(const NodeProto& node, const BuildCustom& build,
                                        const ValueIds& inputs,
                                        std::span<const AttributeProto* const> attributes,
                                        const Frame& frame) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].valid()) return unsupported("input ", k, " of a custom operator is left out");
    if (graph_.type(inputs[k]).is_nothing()) return unsupported(kBlocked);
  }
  CustomNode custom{
      normal_domain(node.domain), node.op_type, provenance(node, frame), inputs, node.outputs, {}};
  for (const AttributeProto* attribute : attributes) {
    TRY(custom.attributes[std::string(attribute->name)], custom_attribute(*attribute));
  }
  TRY(ValueIds outputs, build(graph_, custom));
  if (outputs.size() < node.outputs.size()) {
    return invalid_model("expected ", node.outputs.size(), " outputs, the operator has ",
                         outputs.size());
  }
  return outputs;
}

Result<ValueIds> Importer::add_placeholder(const NodeProto& node, const ValueIds& inputs,
                                           int64_t opset, std::string_view reason,
                                           const Frame& frame) {
  ValueIds present;
  for (const ValueId input : inputs) {
    if (input.valid()) present.push_back(input);
  }
  Unimplemented op;
  op.op_type = std::string(node.op_type);
  op.domain = std::string(normal_domain(node.domain));
  op.opset = opset;
  op.reason = std::string(reason);
  op.outputs = static_cast<int64_t>(node.outputs.size());
  return graph_.add(make_op(std::move(op)), std::move(present), {provenance(node, frame)});
}

Status Importer::enter_function(const NodeProto& node, const FunctionProto& function, Frame& frame,
                                std::deque<Call>& calls) {
  TRY_STATUS(count_node());
  TRY(const ValueIds inputs, resolve_inputs(node, frame));
  TRY(const auto attributes, resolve_attributes(node, frame));
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return invalid_model("function '", to_comment(function.name), "' has ", function.inputs.size(),
                         " inputs and ", function.outputs.size(), " outputs, got ", inputs.size(),
                         " and ", node.outputs.size());
  }
  if (!calls_.insert(&function).second) {
    return invalid_model("function '", to_comment(function.name), "' calls itself");
  }
  Call& call = calls.emplace_back();
  call.nodes = function.nodes;
  call.frame = &call.own;
  call.caller = &node;
  call.function = &function;
  for (const AttributeProto& attribute : function.attribute_defaults) {
    call.bindings[attribute.name] = &attribute;
  }
  for (const AttributeProto* attribute : attributes) call.bindings[attribute->name] = attribute;
  Frame& body = call.own;
  body.opsets = function.opset_imports.empty() ? frame.opsets : std::span(function.opset_imports);
  body.bindings = &call.bindings;
  body.prefix = shortened(provenance(node, frame));
  body.depth = frame.depth;
  for (size_t k = 0; k < function.inputs.size(); ++k) {
    // An input that the caller leaves out is left out inside, too: a name without a value.
    TRY_STATUS(body.define(function.inputs[k], k < inputs.size() ? inputs[k] : ValueId()));
  }
  return put_in_order(call);
}

/// The function's outputs become those of the node that calls it, in the frame around.
Status Importer::leave_function(const Call& call, Frame& frame) {
  const NodeProto& node = *call.caller;
  const FunctionProto& function = *call.function;
  ValueIds outputs;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const auto value = call.own.find(function.outputs[k]);
    if (!value || (!value->valid() && !node.outputs[k].empty())) {
      return invalid_model("function '", to_comment(function.name), "': nothing gives its output '",
                           to_comment(function.outputs[k]), "'");
    }
    outputs.push_back(*value);
  }
  return define_outputs(node, outputs, frame);
}

}  // namespace ingot::onnx
