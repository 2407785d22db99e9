// frontend/onnx/order.cc: topological order by Kahn's algorithm, stable; names cycles.
#include "frontend/onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "base/text.h"

namespace ingot::onnx {
namespace {

using Producers = std::unordered_map<std::string_view, size_t>;

/// The nodes that node k waits for.
Result<std::vector<size_t>> dependencies(std::span<const NodeProto> nodes, size_t k,
                                         const Producers& producers, int depth) {
  std::vector<size_t> found;
  const auto note = [&](std::string_view name) {
    const auto producer = producers.find(name);
    if (!name.empty() && producer != producers.end()) found.push_back(producer->second);
  };
  for (const std::string_view name : nodes[k].inputs) note(name);
  const auto note_capture = [&](std::string_view name) {
    // A subgraph may define a name that its own node gives out; that is not waiting for itself.
    const auto producer = producers.find(name);
    if (producer != producers.end() && producer->second != k) found.push_back(producer->second);
  };
  TRY_STATUS(add_note(for_each_capture(nodes[k], depth, note_capture), describe(nodes[k])));
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Names a cycle among the nodes that wait for something.
Error cycle_error(std::span<const NodeProto> nodes,
                  const std::vector<std::vector<size_t>>& waits_for,
                  const std::vector<size_t>& waiting) {
  size_t at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<size_t> place(nodes.size(), 0);
  std::vector<size_t> path;
  while (place[at] == 0) {
    path.push_back(at);
    place[at] = path.size();
    for (const size_t before : waits_for[at]) {
      if (waiting[before] > 0) at = before;
    }
  }
  const size_t first = place[at] - 1;
  std::string text;
  for (size_t k = first; k < path.size() && k < first + 4; ++k) {
    text += concat(k == first ? "" : " <- ", describe(nodes[path[k]]));
  }
  return invalid_model("the graph has a cycle of ", path.size() - first, " nodes: ", text);
}

}  // namespace

std::string describe(const NodeProto& node) {
  if (!node.name.empty()) {
    return concat("node '", to_comment(node.name), "' (", to_comment(node.op_type), ")");
  }
  const std::string_view output = node.outputs.empty() ? std::string_view() : node.outputs[0];
  return concat("node of '", to_comment(output), "' (", to_comment(node.op_type), ")");
}

Status for_each_capture(const NodeProto& node, int depth,
                        const std::function<void(std::string_view)>& fn) {
  const auto visit = [&](std::string_view bytes) -> Status {
    if (depth >= kMaxDepth) {
      return invalid_model("subgraphs are nested more than ", kMaxDepth, " deep");
    }
    TRY(const GraphProto graph, read_graph(bytes));
    for (const NodeProto& inner : graph.nodes) {
      for (const std::string_view name : inner.inputs) fn(name);
      TRY_STATUS(for_each_capture(inner, depth + 1, fn));
    }
    for (const ValueInfoProto& output : graph.outputs) fn(output.name);
    return ok();
  };
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.type == AttributeType::graph) TRY_STATUS(visit(attribute.s));
    if (attribute.type == AttributeType::graphs) {
      for (const std::string_view bytes : attribute.strings) TRY_STATUS(visit(bytes));
    }
  }
  return ok();
}

Result<std::vector<size_t>> execution_order(std::span<const NodeProto> nodes, int depth) {
  Producers producers;
  for (size_t k = 0; k < nodes.size(); ++k) {
    for (const std::string_view name : nodes[k].outputs) {
      if (name.empty()) continue;
      const auto [other, is_new] = producers.emplace(name, k);
      if (!is_new) {
        return add_note(invalid_model("the name '", to_comment(name), "' is already defined by ",
                                      describe(nodes[other->second])),
                        describe(nodes[k]));
      }
    }
  }
  std::vector<std::vector<size_t>> waits_for(nodes.size());
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waiting(nodes.size(), 0);
  for (size_t k = 0; k < nodes.size(); ++k) {
    TRY(waits_for[k], dependencies(nodes, k, producers, depth));
    waiting[k] = waits_for[k].size();
    for (const size_t before : waits_for[k]) users[before].push_back(k);
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t k = 0; k < nodes.size(); ++k) {
    if (waiting[k] == 0) ready.push(k);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t k = ready.top();
    ready.pop();
    order.push_back(k);
    for (const size_t user : users[k]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (order.size() != nodes.size()) return cycle_error(nodes, waits_for, waiting);
  return order;
}

}  // namespace ingot::onnx
