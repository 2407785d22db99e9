// passes/pass.cc: the loop that runs passes: times, verifies, refuses changed outputs.
#include "passes/pass.h"

#include <chrono>
#include <map>

#include "base/text.h"

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
    pass.run(graph, PassContext(&options.disabled, &record.notes, &unsupported_nodes));
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
