// passes/close_regions.cc: copies a graph region by region.
#include "passes/close_regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "ops/fusion.h"
#include "passes/region_body.h"

namespace ingot {
namespace {

/// Whether the op becomes part of a kernel rather than a step of its own.
bool is_kernel(const Node& node) {
  return (node.op.def().lower != nullptr || is_scatter(node)) && !node.op.is<ops::Fusion>();
}

class Closer {
 public:
  Closer(const Graph& graph, const RegionChoice& choice)
      : graph_(graph), choice_(choice), result_(graph.shared_pool()) {}

  Graph run() {
    result_.name = graph_.name;
    result_.metadata = graph_.metadata;
    result_.assumptions() = graph_.assumptions();
    for (const GraphInput& input : graph_.inputs()) {
      copy_[input.value] = result_.add_input(input.name, graph_.type(input.value));
    }
    find_units();
    add_units();
    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      outputs.push_back({output.name, copy_.at(output.value)});
    }
    result_.set_outputs(std::move(outputs));
    result_.compact();
    return std::move(result_);
  }

 private:
  /// A node of the result.
  struct Unit {
    NodeId node;                // of the last output
    std::vector<ValueId> made;  // of a region; none: the node is copied
  };

  void find_units() {
    std::map<ValueId, const std::vector<ValueId>*> set_of;
    for (const std::vector<ValueId>& set : choice_.joined) {
      for (ValueId value : set) set_of[value] = &set;
    }
    for (NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (graph_.constant(node.outputs[0]) != nullptr || !is_kernel(node)) {
        units_.push_back({id, {}});
        continue;
      }
      for (ValueId output : node.outputs) {
        if (!choice_.in_memory[output.value]) continue;
        if (graph_.value(output).uses.empty() && !graph_.is_graph_output(output)) continue;
        const auto set = set_of.find(output);
        if (set == set_of.end()) {
          units_.push_back({id, {output}});
        } else if (output == set->second->back()) {
          units_.push_back({id, *set->second});
        }
      }
    }
  }

  /// Always the first unit whose inputs are there.
  void add_units() {
    std::map<ValueId, std::vector<size_t>> waiting;
    std::vector<size_t> missing(units_.size(), 0);
    std::set<size_t> ready;
    for (size_t k = 0; k < units_.size(); ++k) {
      for (ValueId input : inputs_of(units_[k])) {
        if (!graph_.value(input).producer.valid()) continue;
        waiting[input].push_back(k);
        ++missing[k];
      }
      if (missing[k] == 0) ready.insert(k);
    }
    size_t added = 0;
    for (; !ready.empty(); ++added) {
      const size_t k = ready.extract(ready.begin()).value();
      add(units_[k]);
      const auto& outputs =
          units_[k].made.empty() ? graph_.node(units_[k].node).outputs : units_[k].made;
      for (ValueId output : outputs) {
        for (size_t reader : waiting[output]) {
          if (--missing[reader] == 0) ready.insert(reader);
        }
      }
    }
    CHECK(added == units_.size(), "joined regions wait for each other");
  }

  /// Each once.
  std::set<ValueId> inputs_of(const Unit& unit) {
    std::set<ValueId> inputs;
    if (unit.made.empty()) {
      for (ValueId input : graph_.node(unit.node).inputs) {
        if (input.valid()) inputs.insert(input);
      }
    } else {
      for (ValueId input : region_of(graph_, choice_.in_memory, unit.made).inputs) {
        inputs.insert(input);
      }
    }
    return inputs;
  }

  void add(const Unit& unit) {
    if (!unit.made.empty()) {
      add_region(unit);
      return;
    }
    const Node& node = graph_.node(unit.node);
    if (const ConstantData* data = graph_.constant(node.outputs[0])) {
      copy_[node.outputs[0]] = result_.add_constant(*data, graph_.value(node.outputs[0]).name);
      return;
    }
    std::vector<ValueId> operands;
    for (ValueId input : node.inputs) {
      operands.push_back(input.valid() ? copy_.at(input) : ValueId());
    }
    const std::vector<ValueId> outputs = copy_node(graph_, unit.node, std::move(operands), result_);
    for (size_t k = 0; k < outputs.size(); ++k) copy_[node.outputs[k]] = outputs[k];
  }

  void add_region(const Unit& unit) {
    RegionBody region = region_of(graph_, choice_.in_memory, unit.made);
    std::vector<std::string> provenance;
    for (NodeId member : region.members) {
      for (const std::string& name : graph_.node(member).provenance) {
        if (std::ranges::find(provenance, name) == provenance.end()) provenance.push_back(name);
      }
    }
    const bool is_product = choice_.template_of[unit.node.value].valid();
    const std::string kind = is_product                           ? "template"
                             : is_scatter(graph_.node(unit.node)) ? "scatter"
                                                                  : "loops";
    std::vector<ValueId> operands;
    for (ValueId input : region.inputs) operands.push_back(copy_.at(input));
    const auto added = result_.add(
        make_op(ops::Fusion{std::make_shared<const Graph>(std::move(region.body)), kind}), operands,
        std::move(provenance));
    CHECK(added, "a region fits its inputs: ", to_text(added.error()));
    for (size_t k = 0; k < unit.made.size(); ++k) {
      copy_[unit.made[k]] = (*added)[k];
      result_.set_value_name((*added)[k], graph_.value(unit.made[k]).name);
    }
  }

  const Graph& graph_;
  const RegionChoice& choice_;
  Graph result_;
  std::map<ValueId, ValueId> copy_;
  std::vector<Unit> units_;
};

}  // namespace

Graph close_regions(const Graph& graph, const RegionChoice& choice) {
  return Closer(graph, choice).run();
}

}  // namespace ingot
