// ir/verify.cc: what holds of every graph between two passes.
#include <algorithm>

#include "base/text.h"
#include "ir/graph.h"

namespace ingot {
namespace {

constexpr size_t kMaxProblems = 20;  // a broken graph has many of one kind

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    check_interface();
    for (size_t k = 0; k < graph_.node_count(); ++k) check_node(NodeId(k));
    if (problems_.empty()) {  // ids are in range, so that following them is safe
      check_uses();
      for (size_t k = 0; k < graph_.node_count(); ++k) check_types(NodeId(k));
    }
    return std::move(problems_);
  }

 private:
  template <class... Parts>
  void report(const Parts&... parts) {
    if (problems_.size() < kMaxProblems) problems_.push_back(concat(parts...));
  }
  bool is_value(ValueId id) const { return id.valid() && id.value < graph_.value_count(); }

  std::string label(NodeId id) const {
    const Node& node = graph_.node(id);
    const std::string from = node.provenance.empty() ? "" : concat(" '", node.provenance[0], "'");
    return concat("node ", id, " ", node.op.name(), from);
  }

  void check_interface() {
    for (size_t k = 0; k < graph_.inputs().size(); ++k) {
      const ValueId id = graph_.inputs()[k].value;
      if (!is_value(id) || graph_.value(id).producer.valid() || graph_.value(id).port != k) {
        report("input ", k, " '", graph_.inputs()[k].name, "' is not a value without a producer");
      }
    }
    std::vector<uint32_t> counts(graph_.value_count(), 0);
    for (const GraphOutput& output : graph_.outputs()) {
      if (!is_value(output.value)) {
        report("output '", output.name, "' is no value of the graph");
      } else {
        ++counts[output.value.value];
      }
    }
    for (size_t k = 0; k < counts.size(); ++k) {
      if (graph_.value(ValueId(k)).output_count != counts[k]) {
        report("value ", k, " says that it is ", graph_.value(ValueId(k)).output_count,
               " outputs, but is ", counts[k]);
      }
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.op) return report("node ", id, " has no op");
    if (node.dead) report(label(id), " is dead: compact() was not called");
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (!input.valid()) continue;
      if (!is_value(input)) {
        report(label(id), ": input ", k, " is no value of the graph");
        continue;
      }
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid() && producer.value >= id.value) {
        report(label(id), ": input ", k, " comes from node ", producer, ", which is not before it");
      }
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId output = node.outputs[k];
      if (!is_value(output) || graph_.value(output).producer != id ||
          graph_.value(output).port != k) {
        report(label(id), ": output ", k, " is not a value that it produces");
      }
    }
  }

  void check_uses() {
    size_t listed = 0;
    size_t wrong = 0;
    std::vector<size_t> first_slot(graph_.node_count() + 1, 0);
    for (size_t k = 0; k < graph_.node_count(); ++k) {
      first_slot[k + 1] = first_slot[k] + graph_.node(NodeId(k)).inputs.size();
    }
    std::vector<bool> seen(first_slot.back(), false);
    for (size_t v = 0; v < graph_.value_count(); ++v) {
      for (const Use& use : graph_.value(ValueId(v)).uses) {
        ++listed;
        const bool exists =
            use.node.value < graph_.node_count() && use.slot < graph_.node(use.node).inputs.size();
        if (!exists || graph_.node(use.node).inputs[use.slot] != ValueId(v) ||
            seen[first_slot[use.node.value] + use.slot]) {
          ++wrong;
          report("value ", v, " lists a use by node ", use.node, " that there is not");
        } else {
          seen[first_slot[use.node.value] + use.slot] = true;
        }
      }
    }
    size_t used = 0;
    for (size_t k = 0; k < graph_.node_count(); ++k) {
      for (const ValueId input : graph_.node(NodeId(k)).inputs) used += input.valid() ? 1 : 0;
    }
    if (wrong == 0 && listed != used) {
      report("the values list ", listed, " uses, but the nodes have ", used, " inputs");
    }
  }

  bool is_own(Expr expr) const { return !expr || &expr.pool() == &graph_.pool(); }

  void check_types(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Type> types;
    InferContext ctx{graph_.pool(), {}, {}, {}};
    for (const ValueId input : node.inputs) {
      types.push_back(input.valid() ? graph_.type(input) : Type(ContainerType{}));
      ctx.present.push_back(input.valid());
    }
    ctx.inputs = types;
    for (const Type& type : types) {
      for (const Expr dim : type.tensor.dims) {
        if (!is_own(dim)) return report(label(id), ": an input's dims are of another pool");
      }
    }
    check_attributes(id);
    const auto outputs = node.op.def().infer(node.op.data(), ctx);
    if (!outputs) return report(label(id), ": ", to_text(outputs.error()));
    if (outputs->size() != node.outputs.size()) {
      return report(label(id), ": expected ", outputs->size(), " outputs, got ",
                    node.outputs.size());
    }
    for (size_t k = 0; k < outputs->size(); ++k) {
      const Type& held = graph_.type(node.outputs[k]);
      if (!is_compatible((*outputs)[k], held)) {
        report(label(id), ": output ", k, " should be ", (*outputs)[k], ", but is ", held);
      }
    }
  }

  void check_attributes(NodeId id) {
    const OpRef& op = graph_.node(id).op;
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      const Attribute attribute = op.attribute(k);
      if (const auto* body = std::get_if<GraphRef>(&attribute)) {
        if (*body == nullptr) continue;
        if (const Status inner = verify(**body); !inner) {
          report(label(id), ": ", op.def().fields[k], ": ", inner.error().message);
        }
        continue;
      }
      Exprs exprs;
      if (const auto* expr = std::get_if<Expr>(&attribute)) exprs = {*expr};
      if (const auto* several = std::get_if<Exprs>(&attribute)) exprs = *several;
      if (!std::ranges::all_of(exprs, [&](Expr e) { return is_own(e); })) {
        report(label(id), ": ", op.def().fields[k], " is an expression of another pool");
      }
    }
  }

  const Graph& graph_;
  std::vector<std::string> problems_;
};

}  // namespace

Status verify(const Graph& graph) {
  const auto problems = Verifier(graph).run();
  if (problems.empty()) return ok();
  return internal_error("graph '", graph.name, "': ", join(problems, "; "));
}

}  // namespace ingot
