// passes/cse.cc: nodes that compute the same become one.
#include <unordered_map>

#include "base/hash.h"
#include "passes/passes.h"

namespace ingot {
namespace {

constexpr size_t kMaxHashedBytes = 1 << 16;  // larger constants are the same if they lie together

bool is_free_symbol(Expr dim) {
  return dim.kind() == ExprKind::symbol &&
         std::as_const(dim.pool()).symbol_info(dim.symbol()).data_dependent;
}

/// Random numbers differ each time; and a symbol that a node defines must not get a second name.
bool may_merge(const Graph& graph, const Node& node) {
  if (node.op.def().accuracy.kind == Accuracy::Kind::random) return false;
  if (node.op.is<Unimplemented>()) return false;
  for (const ValueId output : node.outputs) {
    for (const Expr dim : graph.tensor(output).dims) {
      if (is_free_symbol(dim)) return false;
    }
  }
  return true;
}

Hash128 key_of(const Node& node) {
  Hasher hasher;
  hasher.add_field(node.op.name());
  for (const ValueId input : node.inputs) hasher.add_field(to_text(input));
  for (size_t k = 0; k < node.op.def().fields.size(); ++k) {
    const Attribute attribute = node.op.attribute(k);
    const auto* data = std::get_if<ConstantData>(&attribute);
    if (data == nullptr) {
      hasher.add_field(to_text(attribute));
    } else if (data->bytes.size() <= kMaxHashedBytes) {
      hasher.add_field(content_hash(*data));
    } else {
      hasher.add_field(
          concat(data->dtype, data->dims, reinterpret_cast<uintptr_t>(data->bytes.data())));
    }
  }
  return hasher.finish();
}

struct HashOfHash {
  size_t operator()(const Hash128& hash) const { return hash.low; }
};

}  // namespace

void cse(Graph& graph, const PassContext&) {
  std::unordered_map<Hash128, NodeId, HashOfHash> first;
  for (const NodeId id : graph.nodes()) {
    if (!may_merge(graph, graph.node(id))) continue;
    const auto [found, is_new] = first.try_emplace(key_of(graph.node(id)), id);
    if (is_new) continue;
    const Node& kept = graph.node(found->second);
    const Node& gone = graph.node(id);
    if (kept.inputs != gone.inputs || !(kept.op == gone.op)) continue;
    for (size_t k = 0; k < gone.outputs.size(); ++k) {
      if (!is_compatible(graph.type(gone.outputs[k]), graph.type(kept.outputs[k]))) continue;
      graph.replace_uses(gone.outputs[k], kept.outputs[k]);
    }
    graph.add_provenance(found->second, gone.provenance);
  }
}

void dead_code(Graph& graph, const PassContext&) {
  graph.compact();
}

}  // namespace ingot
