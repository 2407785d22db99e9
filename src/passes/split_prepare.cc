// passes/split_prepare.cc: moves everything that depends on constants alone to a graph of its own.
#include "passes/split_prepare.h"

#include <map>

#include "base/check.h"
#include "passes/constants.h"

namespace ingot {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, KeepConstants keep)
      : graph_(graph), keep_(keep), known_(graph),
        result_{Graph(graph.shared_pool()), Graph(graph.shared_pool()), {}, 0} {}

  SplitGraph run() {
    Graph& main = result_.main;
    main.name = graph_.name;
    main.metadata = graph_.metadata;
    for (const GraphInput& input : graph_.inputs()) {
      in_main_[input.value] = main.add_input(input.name, graph_.type(input.value));
    }
    result_.first_prepared = main.inputs().size();
    for (NodeId id : graph_.nodes()) {
      for (ValueId value : wanted_by_main(id)) move(value);
    }
    for (const GraphOutput& output : graph_.outputs()) {
      if (known_.contains(output.value)) move(output.value);
    }
    for (NodeId id : graph_.nodes()) copy_to_main(id);

    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      outputs.push_back({output.name, in_main_.at(output.value)});
    }
    main.set_outputs(std::move(outputs));
    main.assumptions() = graph_.assumptions();
    result_.prepare.set_outputs(std::move(prepared_));
    return std::move(result_);
  }

 private:
  /// Known inputs of a node that runs every time.
  std::vector<ValueId> wanted_by_main(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> wanted;
    if (known_.contains(node.outputs[0])) return wanted;
    for (ValueId input : node.inputs) {
      if (input.valid() && known_.contains(input)) wanted.push_back(input);
    }
    return wanted;
  }

  bool stays_constant(ValueId value) const {
    const ConstantData* data = graph_.constant(value);
    return data != nullptr && (keep_ == KeepConstants::as_they_are || count_of(data->dims) == 1);
  }

  /// Makes a known value available in main.
  void move(ValueId value) {
    if (in_main_.contains(value)) return;
    const std::string& name = graph_.value(value).name;
    if (stays_constant(value)) {
      in_main_[value] = result_.main.add_constant(*graph_.constant(value), name);
      return;
    }
    prepared_.push_back({name, in_prepare(value)});
    in_main_[value] = result_.main.add_input(name, graph_.type(value));
    result_.main.set_value_name(in_main_[value], name);
  }

  ValueId in_prepare(ValueId root) {
    std::vector<std::pair<ValueId, bool>> work = {{root, false}};
    while (!work.empty()) {
      const auto [value, ready] = work.back();
      work.pop_back();
      if (in_prepare_.contains(value)) continue;
      if (const ConstantData* data = graph_.constant(value)) {
        const std::string& name = graph_.value(value).name;
        if (count_of(data->dims) == 1 && keep_ == KeepConstants::as_they_are) {
          in_prepare_[value] = result_.prepare.add_constant(*data, name);
        } else {
          in_prepare_[value] = result_.prepare.add_input(name, graph_.type(value));
          result_.constants.push_back(*data);
        }
        continue;
      }
      const Node& node = graph_.node(graph_.value(value).producer);
      if (!ready) {
        work.push_back({value, true});
        for (ValueId input : node.inputs) {
          if (input.valid()) work.push_back({input, false});
        }
        continue;
      }
      copy(node, result_.prepare, in_prepare_);
    }
    return in_prepare_.at(root);
  }

  void copy_to_main(NodeId id) {
    const Node& node = graph_.node(id);
    if (!known_.contains(node.outputs[0])) copy(node, result_.main, in_main_);
  }

  void copy(const Node& node, Graph& to, std::map<ValueId, ValueId>& numbers) {
    std::vector<ValueId> operands;
    for (ValueId input : node.inputs) {
      operands.push_back(input.valid() ? numbers.at(input) : ValueId());
    }
    auto added = to.add(node.op, operands, node.provenance);
    CHECK(added, "a copied node fits: ", to_text(added.error()));
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      numbers[node.outputs[k]] = (*added)[k];
      to.set_value_name((*added)[k], graph_.value(node.outputs[k]).name);
    }
  }

  const Graph& graph_;
  KeepConstants keep_;
  ConstantValues known_;
  SplitGraph result_;
  std::vector<GraphOutput> prepared_;
  std::map<ValueId, ValueId> in_main_, in_prepare_;
};

}  // namespace

SplitGraph split_prepare(const Graph& graph, KeepConstants keep) {
  return Splitter(graph, keep).run();
}

}  // namespace ingot
