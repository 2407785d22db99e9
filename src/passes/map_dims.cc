// passes/map_dims.cc: a graph over other dimension expressions.
#include "passes/passes.h"

namespace ingot {
namespace {

class DimMapper {
 public:
  DimMapper(std::shared_ptr<ExprPool> pool, const ReplaceDim& replace)
      : pool_(std::move(pool)), replace_(replace) {}

  Expr operator()(Expr expr) const { return expr ? substitute(expr, *pool_, replace_) : expr; }
  Exprs operator()(Exprs exprs) const {
    for (Expr& expr : exprs) expr = (*this)(expr);
    return exprs;
  }
  Type operator()(Type type) const {
    type.tensor.dims = (*this)(std::move(type.tensor.dims));
    StateType& state = type.state;
    for (Expr* size : {&state.batch, &state.capacity, &state.max_blocks, &state.length}) {
      *size = (*this)(*size);
    }
    state.token = (*this)(std::move(state.token));
    if (type.container.element != nullptr) {
      type.container.element = std::make_shared<const Type>((*this)(*type.container.element));
    }
    return type;
  }
  Result<OpRef> operator()(const OpRef& op) const {
    Attributes attributes;
    bool changed = false;
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      Attribute attribute = op.attribute(k);
      Attribute replaced = attribute;
      if (auto* expr = std::get_if<Expr>(&replaced)) {
        *expr = (*this)(*expr);
        changed = changed || *expr != std::get<Expr>(attribute);
      } else if (auto* exprs = std::get_if<Exprs>(&replaced)) {
        *exprs = (*this)(std::move(*exprs));
        changed = changed || *exprs != std::get<Exprs>(attribute);
      } else if (auto* body = std::get_if<GraphRef>(&replaced)) {
        if (*body != nullptr) {
          TRY(Graph mapped, map_dims(**body, pool_, replace_));
          *body = std::make_shared<const Graph>(std::move(mapped));
          changed = true;
        }
      }
      attributes.emplace(op.def().fields[k], std::move(replaced));
    }
    if (!changed) return op;
    return op.def().make(attributes);
  }

 private:
  std::shared_ptr<ExprPool> pool_;
  const ReplaceDim& replace_;
};

}  // namespace

Result<Graph> map_dims(const Graph& graph, std::shared_ptr<ExprPool> pool,
                       const ReplaceDim& replace_dim) {
  const DimMapper replace(pool, replace_dim);
  Graph result(std::move(pool));
  result.name = graph.name;
  result.metadata = graph.metadata;
  std::vector<ValueId> renamed(graph.value_count());
  for (const GraphInput& input : graph.inputs()) {
    const ValueId id = result.add_input(input.name, replace(graph.type(input.value)));
    result.set_value_name(id, graph.value(input.value).name);
    renamed[input.value.value] = id;
  }
  for (const NodeId old : graph.nodes()) {
    const Node& node = graph.node(old);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input.valid() ? renamed[input.value] : ValueId());
    }
    TRY(OpRef op, replace(node.op));
    TRY(const std::vector<ValueId> outputs,
        result.add(std::move(op), std::move(inputs), node.provenance));
    for (size_t k = 0; k < outputs.size(); ++k) {
      result.restate_type(outputs[k], replace(graph.type(node.outputs[k])));
      result.set_value_name(outputs[k], graph.value(node.outputs[k]).name);
      renamed[node.outputs[k].value] = outputs[k];
    }
  }
  result.assumptions().clear();
  for (const Assumption& assumption : graph.assumptions()) {
    result.assumptions().push_back({replace(assumption.a), replace(assumption.b), assumption.text});
  }
  std::vector<GraphOutput> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    outputs.push_back({output.name, renamed[output.value.value]});
  }
  result.set_outputs(std::move(outputs));
  return result;
}

Result<Graph> replace_symbols(const Graph& graph, std::span<const Expr> by) {
  return map_dims(graph, graph.shared_pool(), [&](Expr e) -> std::optional<Expr> {
    if (e.kind() != ExprKind::symbol || e.symbol().value >= by.size()) return std::nullopt;
    const Expr to = by[e.symbol().value];
    return to ? std::optional(to) : std::nullopt;
  });
}

}  // namespace ingot
