// passes/region_body.cc: copies the nodes of a region into a graph of their own.
#include "passes/region_body.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "ops/fusion.h"

namespace ingot {
namespace {

bool is_small_constant(const Graph& graph, ValueId value) {
  const ConstantData* data = graph.constant(value);
  return data != nullptr && data->dtype != DType::str && count_of(data->dims) == 1;
}

}  // namespace

RegionBody region_of(const Graph& graph, const std::vector<bool>& in_memory, ValueId root) {
  return region_of(graph, in_memory, std::array{root});
}

RegionBody region_of(const Graph& graph, const std::vector<bool>& in_memory,
                     std::span<const ValueId> roots) {
  RegionBody region{Graph(graph.shared_pool()), {}, {}};
  Graph& body = region.body;
  std::map<ValueId, ValueId> copy;
  // Post-order without recursion: regions may be deep.
  std::vector<std::pair<ValueId, bool>> work;
  for (size_t k = roots.size(); k-- > 0;) work.push_back({roots[k], false});
  while (!work.empty()) {
    const auto [value, ready] = work.back();
    work.pop_back();
    if (copy.contains(value)) continue;
    const Value& info = graph.value(value);
    const bool inside = std::ranges::find(roots, value) != roots.end() ||
                        (!in_memory[value.value] && info.producer.valid());
    if (is_small_constant(graph, value)) {
      copy[value] = body.add_constant(*graph.constant(value), info.name);
      continue;
    }
    if (!inside) {
      const std::string name = info.name.empty() ? concat("x", copy.size()) : info.name;
      copy[value] = body.add_input(name, info.type);
      region.inputs.push_back(value);
      continue;
    }
    const Node& node = graph.node(info.producer);
    if (!ready) {
      work.push_back({value, true});
      for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) {
        if (input->valid()) work.push_back({*input, false});
      }
      continue;
    }
    std::vector<ValueId> operands;
    for (ValueId input : node.inputs) {
      operands.push_back(input.valid() ? copy.at(input) : ValueId());
    }
    const std::vector<ValueId> outputs = copy_node(graph, info.producer, std::move(operands), body);
    for (size_t k = 0; k < outputs.size(); ++k) copy[node.outputs[k]] = outputs[k];
    region.members.push_back(info.producer);
  }
  std::vector<GraphOutput> outputs;
  for (ValueId root : roots) {
    const std::string& name = graph.value(root).name;
    const std::string unnamed = roots.size() == 1 ? "y" : concat("y", outputs.size());
    outputs.push_back({name.empty() ? unnamed : name, copy.at(root)});
  }
  body.set_outputs(std::move(outputs));
  return region;
}

AccessProfile profile_of(const RegionBody& region) {
  Graph outer(region.body.shared_pool());
  std::vector<ValueId> operands;
  for (const GraphInput& input : region.body.inputs()) {
    operands.push_back(outer.add_input(input.name, region.body.type(input.value)));
  }
  const auto added = outer.add(
      make_op(ops::Fusion{std::make_shared<const Graph>(region.body), "loops"}), operands);
  CHECK(added, "a region fits its inputs");
  return profile_of(outer, outer.value((*added)[0]).producer);
}

}  // namespace ingot
