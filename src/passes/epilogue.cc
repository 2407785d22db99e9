// passes/epilogue.cc: follows a value through nodes that compute element by element, or move.
#include "passes/epilogue.h"

#include <algorithm>
#include <set>

#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "ops/transpose.h"
#include "passes/region_body.h"

namespace ingot {
namespace {

/// Whether a node computes each of its elements from the same element of a tensor of `dims`.
bool is_elementwise(const Graph& graph, NodeId id, const Exprs& dims) {
  const Node& node = graph.node(id);
  return node.op.is<ops::Pointwise>() && graph.tensor(node.outputs[0]).dims == dims;
}

}  // namespace

bool only_moves(const Node& node) {
  return node.op.is<ops::Transpose>() || node.op.is<ops::Reshape>();
}

std::vector<NodeId> next_of_epilogue(const Graph& graph, ValueId value) {
  const Exprs& dims = graph.tensor(value).dims;
  std::vector<NodeId> nodes;
  std::set<NodeId> readers;  // still to be looked at, in the order that they run in
  ValueId last = value;
  do {
    if (graph.is_graph_output(last) || graph.value(last).uses.empty()) return {};
    for (const Use& use : graph.value(last).uses) readers.insert(use.node);
    const NodeId next = readers.extract(readers.begin()).value();
    const bool moves = nodes.empty() && readers.empty() && only_moves(graph.node(next));
    if (!moves && !is_elementwise(graph, next, dims)) return {};
    if (nodes.size() == kMostNodes) return {};
    nodes.push_back(next);
    last = graph.node(next).outputs[0];
  } while (!readers.empty());
  return nodes;
}

ValueId end_of_rows(const Graph& graph, ValueId result) {
  ValueId at = result;
  while (true) {
    const std::vector<NodeId> more = next_of_epilogue(graph, at);
    const bool keeps_rows = std::ranges::all_of(more, [&](NodeId id) {
      const Node& node = graph.node(id);
      const Exprs& dims = graph.tensor(node.outputs[0]).dims;
      return node.op.is<ops::Pointwise>() || (node.op.is<ops::Reshape>() && !dims.empty() &&
                                              dims.back() == graph.tensor(at).dims.back());
    });
    if (more.empty() || !keeps_rows) return at;
    at = graph.node(more.back()).outputs[0];
  }
}

}  // namespace ingot
