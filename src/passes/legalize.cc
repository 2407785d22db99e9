// passes/legalize.cc: from here on a kernel can be made for every node; or the list of all reasons.
#include "ops/control.h"
#include "passes/passes.h"

namespace ingot {
namespace {

bool can_run(const OpDef& def) {
  return ops::is_control(def) || def.lower != nullptr || def.lower_scatter != nullptr ||
         def.routine != nullptr || def.type == op_def<Constant>().type;
}

std::string name_of(const Node& node) {
  return node.provenance.empty() ? std::string() : node.provenance[0];
}

/// Why no kernel reads or writes values of a type; empty if some do.
std::string find_type_problem(const Type& type) {
  if (type.is_nothing()) return "its type is not known";
  if (type.is_container()) {
    const Type& element = *type.container.element;
    if (type.container.kind == ContainerType::Kind::map) {
      const DType key = type.container.key;
      if ((key != DType::i64 && key != DType::str) || !element.is_tensor()) {
        return concat("expected a map from i64 or strings to numbers or strings, got ", type);
      }
    }
    if (element.is_tensor() && bits(element.tensor.dtype) < 8) {
      return concat("containers of elements that share bytes have no kernels yet, got ", type);
    }
    return find_type_problem(element);
  }
  const DType dtype = type.is_tensor() ? type.tensor.dtype : type.state.dtype;
  if (is_complex(dtype) || (type.is_state() && dtype == DType::str)) {
    return concat("expected numbers, booleans or strings, got ", dtype);
  }
  return {};
}

std::string find_problem(const Graph& graph, const Node& node) {
  for (const ValueId output : node.outputs) {
    std::string problem = find_type_problem(graph.type(output));
    if (!problem.empty()) return problem;
  }
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    const NodeId producer = graph.value(input).producer;
    if (producer.valid() && graph.node(producer).op.is<Unimplemented>())
      return {};  // a consequence
    std::string problem = find_type_problem(graph.type(input));
    if (!problem.empty()) return problem;
  }
  if (!can_run(node.op.def()) && node.op.def().expand == nullptr) return "has no kernel";
  return {};
}

/// Puts the parts of a composite in its place, and then the parts of those.
void expand_composites(Graph& graph) {
  for (bool again = true; again;) {
    again = false;
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (can_run(node.op.def()) || node.op.def().expand == nullptr) continue;
      const OpRef op = node.op;
      const std::vector<ValueId> inputs = node.inputs;
      const std::vector<ValueId> outputs = node.outputs;
      const std::vector<std::string> provenance = node.provenance;
      const auto parts = expand_into(graph, op, inputs, provenance);
      CHECK(parts.size() == outputs.size(), op.name(), ": expand gave ", parts.size(),
            " outputs, expected ", outputs.size());
      for (size_t k = 0; k < outputs.size(); ++k) graph.replace_uses(outputs[k], parts[k]);
      graph.remove_if_unused(id);
      again = true;
    }
    graph.compact();
  }
}

}  // namespace

std::vector<UnsupportedNode> find_unsupported(const Graph& graph) {
  std::vector<UnsupportedNode> result;
  for (const GraphInput& input : graph.inputs()) {
    std::string problem = find_type_problem(graph.type(input.value));
    if (!problem.empty()) result.push_back({input.name, "input", "", 0, problem});
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (const auto* op = node.op.as<Unimplemented>()) {
      result.push_back({name_of(node), op->op_type, op->domain, op->opset, op->reason});
      continue;
    }
    const std::string problem = find_problem(graph, node);
    if (!problem.empty()) {
      result.push_back({name_of(node), std::string(node.op.name()), "", 0, problem});
    }
  }
  return result;
}

void legalize(Graph& graph, const PassContext& context) {
  const auto unsupported_nodes = find_unsupported(graph);
  for (const UnsupportedNode& node : unsupported_nodes) context.refuse(node);
  if (unsupported_nodes.empty()) expand_composites(graph);
}

}  // namespace ingot
