// cli/plan_text.cc: prints counts of nodes, sizes that runs find out, kernels and memory.
#include "cli/plan_text.h"

#include "base/text.h"

namespace ingot::cli {
namespace {

Json node_json(const NodeName& node) {
  return {{"op", node.op}, {"nodes", node.provenance}};
}

Json nodes_json(const std::vector<NodeName>& nodes) {
  Json json = Json::array();
  for (const NodeName& node : nodes) json.push_back(node_json(node));
  return json;
}

Json sample_json(const MemorySample& sample) {
  Json dims = Json::object();
  for (const auto& [name, value] : sample.dims) dims[name] = value;
  return {{"dims", std::move(dims)}, {"sum", sample.sum}, {"peak", sample.peak}};
}

}  // namespace

Json plan_json(const CompileReport& report) {
  Json json = {{"nodes", {{"read", report.read.nodes}, {"left", report.left.nodes}}},
               {"shape_nodes",
                {{"read", report.read.shape_nodes.size()},
                 {"left", report.left.shape_nodes.size()},
                 {"list", nodes_json(report.left.shape_nodes)}}},
               {"kernels", report.kernels},
               {"steps", report.steps},
               {"workspace", report.workspace}};
  json["run_time_sizes"] = Json::array();
  for (const RunTimeSize& size : report.read.sizes) {
    json["run_time_sizes"].push_back(node_json(size.node));
    json["run_time_sizes"].back()["name"] = size.name;
  }
  json["kernel_list"] = Json::array();
  for (const KernelRecord& kernel : report.kernel_records) {
    json["kernel_list"].push_back(
        {{"name", kernel.name}, {"steps", kernel.steps}, {"nodes", kernel.provenance}});
  }
  json["memory"] = Json::array();
  for (const MemorySample& sample : report.memory) json["memory"].push_back(sample_json(sample));
  return json;
}

std::string plan_text(const CompileReport& report) {
  std::string text =
      concat("nodes: ", report.read.nodes, " in the model, ", report.left.nodes, " are left, in ",
             report.steps, " steps of ", report.kernels, " kernels\n",
             "nodes that compute sizes: ", report.read.shape_nodes.size(), " in the model, ",
             report.left.shape_nodes.size(), " are left\n");
  for (const RunTimeSize& size : report.read.sizes) {
    text += concat("size ", size.name, ": known when ", size.node.op, " '",
                   join(size.node.provenance, "', '"), "' has run\n");
  }
  text += concat("memory, alive at once: ", report.workspace, " bytes\n");
  for (const MemorySample& sample : report.memory) {
    std::vector<std::string> dims;
    for (const auto& [name, value] : sample.dims) dims.push_back(concat(name, "=", value));
    text += concat("memory", dims.empty() ? "" : " for ", join(dims, ", "), ": ",
                   format_bytes(sample.peak), " to ", format_bytes(sample.sum), "\n");
  }
  return text;
}

}  // namespace ingot::cli
