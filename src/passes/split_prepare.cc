// passes/split_prepare.cc: the part of a graph that can be computed before the model runs.
#include "passes/split_prepare.h"

#include <map>
#include <set>

#include "passes/constants.h"

namespace ingot {
namespace {

constexpr size_t kMaxLiteralBytes = 64;

class Splitter {
 public:
  Splitter(const Graph& graph, KeepConstants keep)
      : graph_(graph),
        keep_(keep),
        constants_(graph),
        result_{Graph(graph.shared_pool()), Graph(graph.shared_pool()), {}, 0},
        in_main_(graph.value_count()),
        in_prepare_(graph.value_count()) {}

  SplitGraph run() {
    Graph& main = result_.main;
    main.name = graph_.name;
    main.metadata = graph_.metadata;
    result_.prepare.name = graph_.name + ".prepare";
    for (const GraphInput& input : graph_.inputs()) {
      names_.insert(input.name);
      const ValueId id = main.add_input(input.name, graph_.type(input.value));
      main.set_value_name(id, graph_.value(input.value).name);
      in_main_[input.value.value] = id;
    }
    result_.first_prepared = main.inputs().size();
    // All inputs of main come before its nodes: first those that read prepared values.
    for (const NodeId id : graph_.nodes()) take_operands(id);
    for (const GraphOutput& output : graph_.outputs()) take(output.value);
    for (const NodeId id : graph_.nodes()) {
      if (!is_prepared(id)) copy(id, main, in_main_, [&](ValueId v) { return main_value(v); });
    }
    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      outputs.push_back({output.name, main_value(output.value)});
    }
    main.set_outputs(std::move(outputs));
    main.assumptions() = graph_.assumptions();
    result_.prepare.set_outputs(std::move(prepared_));
    main.compact();
    return std::move(result_);
  }

 private:
  bool is_constant_node(NodeId id) { return constants_.contains(graph_.node(id).outputs[0]); }
  /// Whether a node belongs to the preparation: everything constant but plain constants that stay.
  bool is_prepared(NodeId id) {
    if (graph_.node(id).outputs.empty() || !is_constant_node(id)) return false;
    const ConstantData* data = graph_.constant(graph_.node(id).outputs[0]);
    return data == nullptr ||
           (keep_ == KeepConstants::in_prepare && data->bytes.size() > kMaxLiteralBytes);
  }

  void take_operands(NodeId id) {
    if (is_prepared(id)) return;
    for (const ValueId input : graph_.node(id).inputs) {
      if (input.valid()) take(input);
    }
  }

  /// Makes a prepared value that main reads an input of it.
  void take(ValueId value) {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || !is_prepared(producer) || in_main_[value.value].valid()) return;
    const std::string name = unique(label_of(value));
    in_main_[value.value] = result_.main.add_input(name, graph_.type(value));
    prepared_.push_back({name, prepare_value(value)});
  }

  ValueId main_value(ValueId value) {
    if (!value.valid() || in_main_[value.value].valid()) {
      return value.valid() ? in_main_[value.value] : value;
    }
    const ConstantData* data = graph_.constant(value);
    CHECK(data != nullptr, "split_prepare: value ", value, " is read before it is made");
    return in_main_[value.value] = result_.main.add_constant(*data, graph_.value(value).name);
  }

  /// The value in the preparation, with everything before it.
  ValueId prepare_value(ValueId root) {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId value = stack.back();
      if (in_prepare_[value.value].valid()) {
        stack.pop_back();
        continue;
      }
      const ConstantData* data = graph_.constant(value);
      if (data != nullptr) {
        in_prepare_[value.value] = raw_constant(value, *data);
        continue;
      }
      bool ready = true;
      const NodeId id = graph_.value(value).producer;
      for (const ValueId input : graph_.node(id).inputs) {
        if (!input.valid() || in_prepare_[input.value].valid()) continue;
        stack.push_back(input);
        ready = false;
      }
      if (!ready) continue;
      copy(id, result_.prepare, in_prepare_,
           [&](ValueId v) { return v.valid() ? in_prepare_[v.value] : v; });
    }
    return in_prepare_[root.value];
  }

  ValueId raw_constant(ValueId value, const ConstantData& data) {
    if (data.bytes.size() <= kMaxLiteralBytes) {
      return result_.prepare.add_constant(data, graph_.value(value).name);
    }
    result_.constants.push_back(data);
    return result_.prepare.add_input(unique(label_of(value)), graph_.type(value));
  }

  template <class Find>
  void copy(NodeId id, Graph& to, std::vector<ValueId>& renamed, const Find& find) {
    const Node& node = graph_.node(id);
    if (node.op.is<Constant>()) return;  // made when it is first read
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(find(input));
    const std::vector<ValueId> outputs = copy_node(graph_, id, std::move(inputs), to);
    for (size_t k = 0; k < outputs.size(); ++k) renamed[node.outputs[k].value] = outputs[k];
  }

  std::string label_of(ValueId value) const {
    const Value& held = graph_.value(value);
    if (!held.name.empty()) return held.name;
    const Node& node = graph_.node(held.producer);
    if (!node.provenance.empty()) return concat(node.provenance[0], ".", node.op.name());
    return concat(node.op.name(), "_", value);
  }

  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    int& next = next_[wanted];
    while (!names_.insert(name).second) name = concat(wanted, ".", ++next);
    return name;
  }

  const Graph& graph_;
  KeepConstants keep_;
  ConstantValues constants_;
  SplitGraph result_;
  std::vector<ValueId> in_main_;     // by value of graph_
  std::vector<ValueId> in_prepare_;  // by value of graph_
  std::vector<GraphOutput> prepared_;
  std::set<std::string> names_;
  std::map<std::string, int> next_;  // number for the next value of a name that is taken
};

}  // namespace

SplitGraph split_prepare(const Graph& graph, KeepConstants keep) {
  return Splitter(graph, keep).run();
}

}  // namespace ingot
