// passes/hoist.cc: what bodies compute from constants alone moves out of them, and captures that no
// body reads go.
#include <algorithm>
#include <map>

#include "ops/control.h"
#include "passes/constants.h"
#include "passes/passes.h"

namespace ingot {
namespace {

/// Whether fusion takes the constant into its regions, as a literal.
bool is_literal(const Graph& body, ValueId value) {
  const ConstantData* data = body.constant(value);
  if (data == nullptr || count_of(data->dims) != 1 || body.is_graph_output(value)) return false;
  return std::ranges::all_of(body.value(value).uses, [&](const Use& use) {
    return body.node(use.node).op.def().lower != nullptr;
  });
}

/// Values of a body that are to come in from outside, in order.
std::vector<ValueId> find_hoisted(const Graph& body) {
  std::vector<ValueId> hoisted;
  ConstantValues constants(body);
  for (const NodeId id : body.nodes()) {
    for (const ValueId output : body.node(id).outputs) {
      if (!constants.contains(output)) continue;
      const auto& uses = body.value(output).uses;
      const bool leaves =
          body.is_graph_output(output) || std::ranges::any_of(uses, [&](const Use& use) {
            return !constants.contains(body.node(use.node).outputs[0]);
          });
      if (leaves && !is_literal(body, output)) hoisted.push_back(output);
    }
  }
  return hoisted;
}

/// Copies what a value is computed from into another graph.
class Copier {
 public:
  Copier(const Graph& from, Graph& to) : from_(from), to_(to) {}

  void bind(ValueId value, ValueId copy) { copies_[value] = copy; }

  ValueId copy(ValueId root) {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId value = stack.back();
      if (copies_.contains(value)) {
        stack.pop_back();
        continue;
      }
      const NodeId id = from_.value(value).producer;
      CHECK(id.valid(), "hoist: an input of a body has no copy");
      bool ready = true;
      for (const ValueId input : from_.node(id).inputs) {
        if (!input.valid() || copies_.contains(input)) continue;
        stack.push_back(input);
        ready = false;
      }
      if (ready) copy_node(id);
    }
    return copies_.at(root);
  }

 private:
  void copy_node(NodeId id) {
    const Node& node = from_.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input.valid() ? copies_.at(input) : ValueId());
    }
    const std::vector<ValueId> outputs = ingot::copy_node(from_, id, std::move(inputs), to_);
    for (size_t k = 0; k < outputs.size(); ++k) copies_[node.outputs[k]] = outputs[k];
  }

  const Graph& from_;
  Graph& to_;
  std::map<ValueId, ValueId> copies_;
};

/// Rewrites one op with bodies.
class Hoister {
 public:
  Hoister(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        op_(graph.node(id).op),
        inputs_(graph.node(id).inputs),
        bodies_(ops::bodies_of(op_)) {}

  bool run() {
    const size_t own = ops::body_captures(op_);
    const size_t first = ops::first_capture(op_);
    for (const GraphRef& body : bodies_) hoisted_.push_back(find_hoisted(*body));
    std::vector<bool> read(inputs_.size() - first, false);
    bool changed = false;
    for (size_t k = 0; k < read.size(); ++k) {
      for (const GraphRef& body : bodies_) {
        const ValueId value = body->inputs()[own + k].value;
        read[k] = read[k] || !body->value(value).uses.empty() || body->is_graph_output(value);
      }
      changed = changed || !read[k];
    }
    for (const auto& values : hoisted_) changed = changed || !values.empty();
    if (!changed) return false;

    std::vector<ValueId> inputs(inputs_.begin(), inputs_.begin() + static_cast<long>(first));
    for (size_t k = 0; k < read.size(); ++k) {
      if (read[k]) inputs.push_back(inputs_[first + k]);
    }
    for (size_t b = 0; b < bodies_.size(); ++b) {
      Copier out(*bodies_[b], graph_);
      for (const ValueId value : hoisted_[b]) inputs.push_back(out.copy(value));
    }
    std::vector<GraphRef> bodies;
    for (size_t b = 0; b < bodies_.size(); ++b) bodies.push_back(rebuild(b, own, read));
    replace(ops::with_bodies(op_, bodies), std::move(inputs));
    return true;
  }

 private:
  /// The body with the captures that are read, and then the hoisted values of all bodies as inputs.
  GraphRef rebuild(size_t number, size_t own, const std::vector<bool>& read) {
    const Graph& old = *bodies_[number];
    auto body = std::make_shared<Graph>(old.shared_pool());
    body->name = old.name;
    Copier copier(old, *body);
    for (size_t k = 0; k < old.inputs().size(); ++k) {
      if (k >= own && !read[k - own]) continue;
      const GraphInput& input = old.inputs()[k];
      copier.bind(input.value, body->add_input(input.name, old.type(input.value)));
    }
    for (size_t b = 0; b < bodies_.size(); ++b) {
      for (const ValueId value : hoisted_[b]) {
        const std::string& name = bodies_[b]->value(value).name;
        const ValueId input =
            body->add_input(name.empty() ? concat("constant", body->inputs().size()) : name,
                            bodies_[b]->type(value));
        if (b == number) copier.bind(value, input);
      }
    }
    // Everything, since a node may find out a symbol that others mention; compact() drops the rest.
    for (const NodeId id : old.nodes()) copier.copy(old.node(id).outputs[0]);
    std::vector<GraphOutput> outputs;
    for (const GraphOutput& output : old.outputs()) {
      outputs.push_back({output.name, copier.copy(output.value)});
    }
    body->set_outputs(std::move(outputs));
    body->assumptions() = old.assumptions();
    body->compact();
    return body;
  }

  void replace(OpRef op, std::vector<ValueId> inputs) {
    const std::vector<ValueId> before = graph_.node(id_).outputs;
    const std::vector<std::string> provenance = graph_.node(id_).provenance;
    const auto outputs = graph_.add(std::move(op), std::move(inputs), provenance);
    CHECK(outputs, "hoist: ", outputs ? std::string() : to_text(outputs.error()));
    for (size_t k = 0; k < before.size(); ++k) {
      graph_.refine_type((*outputs)[k], graph_.type(before[k]));
      graph_.set_value_name((*outputs)[k], graph_.value(before[k]).name);
      graph_.replace_uses(before[k], (*outputs)[k]);
    }
    graph_.remove_if_unused(id_);
  }

  Graph& graph_;
  NodeId id_;
  OpRef op_;
  std::vector<ValueId> inputs_;
  std::vector<GraphRef> bodies_;
  std::vector<std::vector<ValueId>> hoisted_;  // by body
};

}  // namespace

void hoist(Graph& graph, const PassContext&) {
  for (const NodeId id : graph.nodes()) {
    if (ops::is_control(graph.node(id).op)) Hoister(graph, id).run();
  }
}

}  // namespace ingot
