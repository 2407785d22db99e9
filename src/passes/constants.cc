// passes/constants.cc: which values are known before the model runs.
#include "passes/constants.h"

#include <cstring>

namespace ingot {
namespace {

bool has_symbol(Expr root) {
  if (!root) return false;
  bool found = false;
  for_each(root, [&](Expr e) { found = found || e.kind() == ExprKind::symbol; });
  return found;
}

bool is_fixed(const Node& node, const Graph& graph) {
  if (node.op.def().accuracy.kind == Accuracy::Kind::random) return false;
  if (node.op.is<Unimplemented>() || depends_on_symbols(node.op)) return false;
  for (const ValueId output : node.outputs) {
    const Type& type = graph.type(output);
    if (!type.is_tensor() || !static_dims(type.tensor)) return false;
    // What handles refer to lives no longer than a run.
    if (type.tensor.dtype == DType::str) return false;
  }
  return !node.inputs.empty() || node.op.is<Constant>();
}

}  // namespace

bool depends_on_symbols(const OpRef& op) {
  for (size_t k = 0; k < op.def().fields.size(); ++k) {
    const Attribute attribute = op.attribute(k);
    if (const auto* expr = std::get_if<Expr>(&attribute)) {
      if (has_symbol(*expr)) return true;
    } else if (const auto* exprs = std::get_if<Exprs>(&attribute)) {
      for (const Expr expr : *exprs) {
        if (has_symbol(expr)) return true;
      }
    } else if (const auto* body = std::get_if<GraphRef>(&attribute)) {
      if (*body == nullptr) continue;
      for (const NodeId id : (*body)->nodes()) {
        if (depends_on_symbols((*body)->node(id).op)) return true;
      }
    }
  }
  return false;
}

bool ConstantValues::contains(ValueId value) {
  known_.resize(graph_.node_count(), Known::unknown);
  const NodeId root = graph_.value(value).producer;
  if (!root.valid()) return false;
  std::vector<NodeId> stack = {root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    if (known_[id.value] != Known::unknown) {
      stack.pop_back();
      continue;
    }
    const Node& node = graph_.node(id);
    Known result = is_fixed(node, graph_) ? Known::yes : Known::no;
    bool ready = true;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || result == Known::no) continue;
      const NodeId producer = graph_.value(input).producer;
      const Known known = producer.valid() ? known_[producer.value] : Known::no;
      if (known == Known::no) result = Known::no;
      if (known == Known::unknown) {
        stack.push_back(producer);
        ready = false;
      }
    }
    if (!ready && result == Known::yes) continue;
    known_[id.value] = result;
  }
  return known_[root.value] == Known::yes;
}

std::optional<Tensor> uniform_value(const ConstantData& data) {
  if (data.dtype == DType::str || is_complex(data.dtype) || bits(data.dtype) < 8) {
    return std::nullopt;
  }
  const size_t width = static_cast<size_t>(bits(data.dtype)) / 8;
  if (data.bytes.size() < width) return std::nullopt;
  for (size_t at = width; at + width <= data.bytes.size(); at += width) {
    if (std::memcmp(data.bytes.data(), data.bytes.data() + at, width) != 0) return std::nullopt;
  }
  auto one = Tensor::from_bytes(data.dtype, {}, data.bytes.subspan(0, width));
  return one ? std::optional(std::move(*one)) : std::nullopt;
}

}  // namespace ingot
