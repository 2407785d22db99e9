// passes/pass.cc: the loop that runs passes: times, verifies, refuses changed outputs.
#include "passes/pass.h"

#include <chrono>
#include <map>

#include "base/text.h"
#include "ops/control.h"

namespace ingot {
namespace {

constexpr size_t kMaxNamesPerReason = 5;

Types output_types(const Graph& graph) {
  Types types;
  for (const GraphOutput& output : graph.outputs()) types.push_back(graph.type(output.value));
  return types;
}

void check_outputs(const Graph& graph, const Types& before, std::string_view pass) {
  const Types after = output_types(graph);
  CHECK(after.size() == before.size(), pass, ": changed the number of outputs");
  for (size_t k = 0; k < after.size(); ++k) {
    // Dims may be said in another way, as when two symbols turn out to be one.
    const bool same = after[k].kind == before[k].kind &&
                      after[k].tensor.dtype == before[k].tensor.dtype &&
                      after[k].tensor.rank() == before[k].tensor.rank();
    CHECK(same, pass, ": changed output '", graph.outputs()[k].name, "' from ", before[k], " to ",
          after[k]);
  }
}

/// Whether the node may have this op instead: its inputs fit, its outputs stay what they are.
bool fits(const Graph& graph, NodeId id, const OpRef& op) {
  const Node& node = graph.node(id);
  Types inputs;
  for (const ValueId input : node.inputs) inputs.push_back(graph.type(input));
  InferContext ctx{graph.pool(), inputs, std::vector<bool>(inputs.size(), true), {}};
  const auto outputs = op.def().infer(op.data(), ctx);
  if (!outputs) return false;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!is_compatible((*outputs)[k], graph.type(node.outputs[k]))) return false;
  }
  return true;
}

/// Runs a pass over the bodies of control flow, innermost first. A body whose interface changed, as
/// when it learnt something about its dims, is left as it was.
void run_on_bodies(Graph& graph, const Pass& pass, const PassContext& context) {
  for (const NodeId id : graph.nodes()) {
    const OpRef op = graph.node(id).op;
    if (!ops::is_control(op)) continue;
    std::vector<GraphRef> bodies;
    bool changed = false;
    for (const GraphRef& old : ops::bodies_of(op)) {
      auto body = std::make_shared<Graph>(*old);
      run_on_bodies(*body, pass, context);
      const Types before = output_types(*body);
      pass.run(*body, context);
      body->compact();
      check_outputs(*body, before, pass.name);
      changed = changed || to_text(*body) != to_text(*old);
      bodies.push_back(std::move(body));
    }
    if (!changed) continue;
    OpRef rewritten = ops::with_bodies(op, bodies);
    if (fits(graph, id, rewritten)) graph.set_op(id, std::move(rewritten));
  }
}

}  // namespace

Result<std::vector<PassRecord>> run_passes(Graph& graph, std::span<const Pass> passes,
                                           const PassOptions& options) {
  const ScopedCheckDump dump([&] { return to_text(graph); });
  std::vector<PassRecord> records;
  for (const Pass& pass : passes) {
    PassRecord& record = records.emplace_back();
    record.name = pass.name;
    if (options.disabled.contains(pass.name)) {
      record.skipped = true;
      record.nodes = graph.node_count();
      continue;
    }
    const Types before = output_types(graph);
    std::vector<UnsupportedNode> unsupported_nodes;
    const auto start = std::chrono::steady_clock::now();
    const PassContext context(&options.disabled, &record.notes, &unsupported_nodes);
    run_on_bodies(graph, pass, context);
    pass.run(graph, context);
    graph.compact();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    record.seconds = taken.count();
    record.nodes = graph.node_count();
    if (!unsupported_nodes.empty()) return unsupported(to_text(unsupported_nodes));
    check_outputs(graph, before, pass.name);
    if (options.verify) {
      const Status status = verify(graph);
      CHECK(status, pass.name, ": ", status ? std::string() : to_text(status.error()));
    }
    if (options.after) options.after(pass.name, graph);
  }
  return records;
}

std::string to_text(std::span<const UnsupportedNode> nodes) {
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::string> order;
  for (const UnsupportedNode& node : nodes) {
    std::string what = node.domain.empty() ? node.op : concat(node.domain, ".", node.op);
    if (node.opset > 0) what += concat(" (opset ", node.opset, ")");
    what += ": " + node.reason;
    auto [group, is_new] = groups.try_emplace(what);
    if (is_new) order.push_back(what);
    group->second.push_back(node.node);
  }
  std::vector<std::string> lines;
  for (const std::string& what : order) {
    const std::vector<std::string>& names = groups[what];
    std::vector<std::string> shown;
    for (const std::string& name : names) {
      if (shown.size() < kMaxNamesPerReason && !name.empty()) shown.push_back("'" + name + "'");
    }
    std::string line = what;
    if (!shown.empty()) {
      line +=
          concat(" [", names.size(), names.size() == 1 ? " node: " : " nodes: ", join(shown, ", "),
                 names.size() > shown.size() ? ", ..." : "", "]");
    }
    lines.push_back(std::move(line));
  }
  return concat("the model has ", nodes.size(), nodes.size() == 1 ? " node" : " nodes",
                " that cannot be compiled:\n  ", join(lines, "\n  "));
}

}  // namespace ingot
