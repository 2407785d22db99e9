// passes/chain_products.cc: looks for a product behind the left operand of another.
#include "passes/chain_products.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/fusion.h"
#include "ops/matmul.h"
#include "passes/access.h"
#include "passes/epilogue.h"
#include "passes/region_body.h"
#include "passes/templates.h"

namespace ingot {
namespace {

class Chainer {
 public:
  Chainer(const Graph& graph, NodeId product, const std::vector<NodeId>& template_of,
          std::vector<bool>& in_memory)
      : graph_(graph), outer_(product), template_of_(template_of), in_memory_(in_memory) {}

  bool run() {
    if (!is_computed_product(outer_)) return false;
    const std::vector<NodeId> found = find_inner();
    return std::ranges::any_of(found, [&](NodeId inner) { return chain(inner); });
  }

 private:
  ValueId left() const { return graph_.node(outer_).inputs[0]; }

  /// Whether a node is a product as a template of two matrices that the model computes.
  bool is_computed_product(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op.is<ops::MatMul>() && template_of(graph_, id) == TemplateKind::gemm &&
           graph_.value(node.inputs[1]).producer.valid() &&
           graph_.constant(node.inputs[1]) == nullptr;
  }

  static bool is_loop(const Node& node) {
    return node.op.def().lower != nullptr && node.outputs.size() == 1 && !node.op.is<Constant>() &&
           !node.op.is<ops::Fusion>();
  }

  bool chain(NodeId inner) {
    const ValueId result = graph_.node(inner).outputs[0];
    rows_ = end_of_rows(graph_, result);
    const auto between = find_between(inner);
    if (!between || !stands_alone(inner) || !has_same_rows(inner)) return false;
    if (rows_ != left() && !is_made_by_rows(*between)) return false;
    for (NodeId id : *between) in_memory_[graph_.node(id).outputs[0].value] = false;
    for (ValueId at = result;;) {
      in_memory_[at.value] = false;
      if (at == rows_) return true;
      for (NodeId id : next_of_epilogue(graph_, at)) {
        at = graph_.node(id).outputs[0];
        in_memory_[at.value] = false;
      }
    }
  }

  /// Products behind the left operand with nothing but loops between, the nearest first.
  std::vector<NodeId> find_inner() const {
    std::vector<NodeId> found;
    std::vector<ValueId> work = {left()};
    std::set<ValueId> seen;
    for (size_t k = 0; k < work.size() && k < size_t{kMostNodes}; ++k) {
      const NodeId producer = graph_.value(work[k]).producer;
      if (!producer.valid()) continue;
      if (is_computed_product(producer)) {
        found.push_back(producer);
        continue;
      }
      const Node& node = graph_.node(producer);
      if (!is_loop(node) || template_of(graph_, producer) != TemplateKind::none) continue;
      for (ValueId input : node.inputs) {
        if (input.valid() && seen.insert(input).second) work.push_back(input);
      }
    }
    return found;
  }

  /// Whether a product's kernel computes no other product, and reads nothing that changes.
  bool stands_alone(NodeId inner) const {
    const RegionBody region = region_of(graph_, in_memory_, graph_.node(inner).outputs[0]);
    const auto is_other = [&](NodeId id) {
      return id != inner && template_of(graph_, id) != TemplateKind::none;
    };
    return std::ranges::none_of(region.members, is_other) &&
           std::ranges::all_of(region.inputs,
                               [&](ValueId input) { return graph_.type(input).is_tensor(); });
  }

  /// All that is made of the rows of the first product, if it leads to the left operand alone.
  std::optional<std::vector<NodeId>> find_between(NodeId inner) const {
    std::vector<NodeId> between;
    std::vector<ValueId> work = {rows_};
    std::set<NodeId> seen;
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      if (graph_.is_graph_output(value)) return std::nullopt;
      for (const Use& use : graph_.value(value).uses) {
        if (use.node == outer_ && use.slot == 0) continue;
        const NodeId owner = template_of_[use.node.value];
        if (!is_loop(graph_.node(use.node)) || (owner.valid() && owner != inner)) {
          return std::nullopt;
        }
        if (!seen.insert(use.node).second) continue;
        if (seen.size() > size_t{kMostNodes}) return std::nullopt;
        between.push_back(use.node);
        work.push_back(graph_.node(use.node).outputs[0]);
      }
    }
    return between;
  }

  /// Whether rows of both products are counted alike, and those between are their rows.
  bool has_same_rows(NodeId inner) const {
    const Exprs& first = graph_.tensor(graph_.node(inner).outputs[0]).dims;
    const Exprs& second = graph_.tensor(graph_.node(outer_).outputs[0]).dims;
    const Exprs& a = graph_.tensor(left()).dims;
    ExprPool& pool = graph_.pool();
    return compute_dtype(graph_.tensor(rows_).dtype) == DType::f32 &&
           std::ranges::equal(std::span(a).first(a.size() - 1),
                              std::span(second).first(second.size() - 1)) &&
           first.back() == a.back() && first[first.size() - 2] == second[second.size() - 2] &&
           element_count(pool, first) == element_count(pool, a);
  }

  /// The number of the row that an index without its last part means.
  Expr row_of(const Exprs& dims, const Exprs& index) const {
    Expr row = graph_.pool().integer(0);
    for (size_t k = 0; k + 1 < index.size(); ++k) row = row * dims[k] + index[k];
    return row;
  }

  bool is_made_by_rows(const std::vector<NodeId>& between) {
    std::vector<bool> in_memory = in_memory_;
    for (NodeId id : between) in_memory[graph_.node(id).outputs[0].value] = false;
    in_memory[rows_.value] = true;
    const RegionBody region = region_of(graph_, in_memory, left());
    if (region.members.size() > size_t{kMostNodes}) return false;
    const AccessProfile whole = profile_of(region);
    const Expr lane = whole.index.back();
    const Expr row = row_of(graph_.tensor(left()).dims, whole.index);
    const auto slot =
        static_cast<size_t>(std::ranges::find(region.inputs, rows_) - region.inputs.begin());
    for (const Access& access : whole.accesses) {
      if (access.input != slot) continue;
      if (!provably_equal(row_of(graph_.tensor(rows_).dims, access.index), row)) return false;
      if (!access.reduced && access.index.back() != lane) return false;
    }
    bool repeats = whole.depth > 1;
    for_each(whole.element, [&](Expr e) {
      repeats |= e.kind() == ExprKind::reduce && lane.kind() == ExprKind::index &&
                 depends_on(e, lane.var());
    });
    return !repeats;
  }

  const Graph& graph_;
  const NodeId outer_;
  const std::vector<NodeId>& template_of_;
  std::vector<bool>& in_memory_;
  ValueId rows_;  // the end of what is made of the first product's result element by element
};

}  // namespace

bool chain_products(const Graph& graph, NodeId product, const std::vector<NodeId>& template_of,
                    std::vector<bool>& in_memory) {
  return Chainer(graph, product, template_of, in_memory).run();
}

}  // namespace ingot
