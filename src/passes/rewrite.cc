// passes/rewrite.cc: applies rules with a worklist to a fixed point.
#include "passes/rewrite.h"

#include <deque>

namespace ingot {
namespace {

constexpr size_t kMaxStepsPerNode = 100;

}  // namespace

ValueId Rewriter::add_ref(OpRef op, std::vector<ValueId> inputs) {
  const ValueId value =
      graph_.must_add(std::move(op), std::move(inputs), graph_.node(root_).provenance);
  added_.push_back(graph_.value(value).producer);
  return value;
}

class RewriteDriver {
 public:
  RewriteDriver(Graph& graph, std::span<const Rule> rules, const PassContext& context)
      : graph_(graph), rewriter_(graph, context) {
    for (const Rule& rule : rules) {
      if (context.is_enabled(rule.name)) rules_.push_back(rule);
    }
  }

  size_t run() {
    for (const NodeId id : graph_.nodes()) push(id);
    const size_t cap = kMaxStepsPerNode * (waiting_.size() + 10);
    size_t applied = 0;
    while (!waiting_.empty()) {
      const NodeId id = waiting_.front();
      waiting_.pop_front();
      is_waiting_[id.value] = false;
      if (graph_.node(id).dead || graph_.node(id).outputs.size() != 1) continue;
      if (!rewrite(id)) continue;
      if (++applied >= cap) {
        rewriter_.context().note("the rules did not come to an end; stopped");
        break;
      }
    }
    return applied;
  }

 private:
  void push(NodeId id) {
    if (!id.valid() || graph_.node(id).dead) return;
    if (is_waiting_.size() <= id.value) is_waiting_.resize(id.value + 1, false);
    if (is_waiting_[id.value]) return;
    is_waiting_[id.value] = true;
    waiting_.push_back(id);
  }

  bool rewrite(NodeId root) {
    for (const Rule& rule : rules_) {
      rewriter_.root_ = root;
      rewriter_.added_.clear();
      const std::optional<ValueId> result = rule.apply(rewriter_, root);
      if (!result) {
        CHECK(rewriter_.added_.empty(), rule.name, ": added nodes, but replaced nothing");
        continue;
      }
      replace(root, *result, rule.joins);
      return true;
    }
    return false;
  }

  void replace(NodeId root, ValueId result, bool joins) {
    const ValueId old = graph_.node(root).outputs[0];
    if (graph_.value(result).name.empty()) graph_.set_value_name(result, graph_.value(old).name);
    graph_.replace_uses(old, result);
    std::vector<ValueId> touched;
    for (const NodeId died : graph_.remove_if_unused(root)) {
      const Node& node = graph_.node(died);
      for (const NodeId added : rewriter_.added_) {
        if (joins) graph_.add_provenance(added, node.provenance);
      }
      for (const ValueId input : node.inputs) {
        if (input.valid()) touched.push_back(input);
      }
    }
    // What may match now: the new nodes, whoever reads the result, and those who share an input
    // with a node that is gone, as some rules ask for the only user.
    for (const NodeId added : rewriter_.added_) {
      graph_.remove_if_unused(added);
      push(added);
    }
    push(graph_.value(result).producer);
    for (const Use& use : graph_.value(result).uses) push(use.node);
    for (const ValueId value : touched) {
      push(graph_.value(value).producer);
      if (graph_.value(value).uses.size() == 1) push(graph_.value(value).uses[0].node);
    }
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::vector<Rule> rules_;
  std::deque<NodeId> waiting_;
  std::vector<bool> is_waiting_;
};

std::vector<std::string_view> names_of(std::span<const Rule> rules) {
  std::vector<std::string_view> names;
  for (const Rule& rule : rules) names.push_back(rule.name);
  return names;
}

size_t apply_rules(Graph& graph, std::span<const Rule> rules, const PassContext& context) {
  return RewriteDriver(graph, rules, context).run();
}

}  // namespace ingot
