// passes/rewrite.h: local rewrites as rules, and the driver that applies them to a fixed point.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/constants.h"
#include "passes/pass.h"

namespace ingot {

/// What a rule sees of the graph, and how it adds to it.
class Rewriter {
 public:
  Rewriter(Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), constants_(graph) {}

  Graph& graph() { return graph_; }
  ExprPool& pool() { return graph_.pool(); }
  const PassContext& context() const { return context_; }

  const Node& node(NodeId id) const { return graph_.node(id); }
  /// The op of a node, or null if it is another one.
  template <class T>
  const T* op(NodeId id) const {
    return graph_.node(id).op.as<T>();
  }
  /// The op that makes a value, or null if it is another one.
  template <class T>
  const T* producer(ValueId id) const {
    return graph_.producer_as<T>(id);
  }
  ValueId input(NodeId id, size_t slot) const { return graph_.node(id).inputs[slot]; }
  ValueId output(NodeId id) const { return graph_.node(id).outputs[0]; }
  /// Input `slot` of the node that makes a value.
  ValueId source(ValueId id, size_t slot = 0) const {
    return graph_.node(graph_.value(id).producer).inputs[slot];
  }
  const TensorType& type(ValueId id) const { return graph_.tensor(id); }
  bool has_one_use(ValueId id) const {
    return graph_.value(id).uses.size() == 1 && !graph_.is_graph_output(id);
  }
  /// Whether a value is computed from constants alone.
  bool is_constant(ValueId id) { return constants_.contains(id); }

  /// Adds a node that has the provenance of the node being rewritten. Its first output.
  template <class T>  // NOLINTNEXTLINE(performance-unnecessary-value-param): moved on
  ValueId add(T op, std::vector<ValueId> inputs) {
    return add_ref(make_op(std::move(op)), std::move(inputs));
  }
  ValueId add_ref(OpRef op, std::vector<ValueId> inputs);

 private:
  friend class RewriteDriver;
  Graph& graph_;
  const PassContext& context_;
  ConstantValues constants_;
  NodeId root_;
  std::vector<NodeId> added_;
};

/// A rule reads the graph around `root`, adds nodes through the rewriter, and returns the value
/// that replaces the root's only output; or nothing, and then it adds nothing.
struct Rule {
  std::string_view name;
  std::optional<ValueId> (*apply)(Rewriter& rewriter, NodeId root);
  std::string_view doc;  // "reshape(reshape(x)) -> reshape(x)"
  /// Whether the new nodes also stand for the others that go away with the root. Not for rules that
  /// only change the order of two ops.
  bool joins = true;
};

/// For Pass::parts.
std::vector<std::string_view> names_of(std::span<const Rule> rules);

/// Applies rules until none does, at most some hundred times per node (a note says so then). Rules
/// that the context disables by name are left out. How often a rule was applied.
size_t apply_rules(Graph& graph, std::span<const Rule> rules, const PassContext& context);

}  // namespace ingot
