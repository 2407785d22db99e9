// passes/fuse.cc: decides which values live in memory, and builds a region for each of them.
#include "passes/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "ops/containers.h"
#include "ops/conv.h"
#include "ops/fusion.h"
#include "ops/pointwise.h"
#include "passes/access.h"
#include "passes/chain_products.h"
#include "passes/close_regions.h"
#include "passes/epilogue.h"
#include "passes/join_regions.h"
#include "passes/region_body.h"
#include "passes/templates.h"

namespace ingot {
namespace {

/// Arithmetic that is cheaper to repeat than to read again from memory.
constexpr int kCheapOperations = 16;
/// The same where several elements of the reader need it: it is repeated very often.
constexpr int kRepeatable = 8;
/// Lanes of a usual vector.
constexpr int kLanes = 8;
/// Reductions of one region in a row: each is written out in every loop of the next.
constexpr int kMostReductionsInARow = 3;
/// Times that a cheap producer may be evaluated by one reader.
constexpr int kMostPasses = 3;

bool is_loop(const Node& node) {
  return node.op.def().lower != nullptr;
}

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        in_memory_(graph.value_count(), true),
        size_(graph.node_count(), 1),
        template_of_(graph.node_count()) {}

  Graph run(const PassContext& context) {
    find_templates();
    if (context.is_enabled("fuse_epilogues")) extend_templates();
    if (context.is_enabled("fuse_pointwise")) inline_cheap();
    if (context.is_enabled("fuse_prologues")) inline_prologues();
    if (context.is_enabled("fuse_conv_inputs")) inline_conv_inputs();
    if (context.is_enabled("fuse_reductions")) inline_reductions();
    if (context.is_enabled("fuse_shared")) inline_shared();
    if (context.is_enabled("fuse_products")) chain();
    RegionChoice choice{in_memory_, {}, template_of_};
    if (context.is_enabled("fuse_joined")) {
      choice.joined = join_regions(graph_, in_memory_, joinable());
    }
    return close_regions(graph_, choice);
  }

 private:
  const AccessProfile& profile(NodeId id) {
    auto at = profiles_.find(id);
    if (at == profiles_.end()) at = profiles_.emplace(id, profile_of(graph_, id)).first;
    return at->second;
  }

  /// The one reader of a value, if it has one and is no output.
  std::optional<Use> only_use(ValueId value) const {
    if (graph_.is_graph_output(value) || graph_.value(value).uses.size() != 1) return std::nullopt;
    return graph_.value(value).uses[0];
  }

  // ---- epilogues ----

  bool is_template(NodeId id) const { return template_of(graph_, id) != TemplateKind::none; }

  void find_templates() {
    for (NodeId id : graph_.nodes()) {
      if (is_template(id)) template_of_[id.value] = id;
    }
  }

  void extend_templates() {
    for (NodeId id : graph_.nodes()) {
      if (!is_template(id)) continue;
      NodeId root = id;
      while (size_[root.value] <= kMostNodes) {
        const std::vector<NodeId> more = next_of_epilogue(graph_, graph_.node(root).outputs[0]);
        const bool is_taken = std::ranges::any_of(
            more, [&](NodeId node) { return template_of_[node.value].valid(); });
        if (more.empty() || is_taken) break;
        in_memory_[graph_.node(root).outputs[0].value] = false;
        int size = size_[root.value];
        for (NodeId node : more) {
          template_of_[node.value] = id;
          size += size_[node.value];
          in_memory_[graph_.node(node).outputs[0].value] = node == more.back();
        }
        root = more.back();
        size_[root.value] = size;
      }
    }
  }

  // ---- computing where it is read ----

  /// Whether a reader can compute what it reads itself.
  bool readable_inline(const Use& use) const {
    const Node& reader = graph_.node(use.node);
    if (is_template(use.node)) return false;
    if (is_scatter(reader)) return use.slot != 0;
    if (!is_loop(reader) || reader.outputs.size() != 1) return false;
    return true;
  }

  bool may_inline(ValueId value) {
    const Value& info = graph_.value(value);
    if (!info.producer.valid() || graph_.is_graph_output(value) || info.uses.empty()) return false;
    const Node& node = graph_.node(info.producer);
    if (!is_loop(node) || node.op.is<Constant>() || node.outputs.size() != 1) return false;
    if (template_of_[info.producer.value].valid()) return false;
    return std::ranges::all_of(info.uses, [&](const Use& use) { return readable_inline(use); });
  }

  void inline_cheap() {
    for (NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      for (ValueId input : node.inputs) {
        if (!input.valid() || in_memory_[input.value]) continue;
        // Decided when the producer was visited; only the size is left to look at.
        const NodeId producer = graph_.value(input).producer;
        if (template_of_[producer.value].valid()) continue;
        if (size_[id.value] + size_[producer.value] > kMostNodes) {
          in_memory_[input.value] = true;
        } else {
          size_[id.value] += size_[producer.value];
        }
      }
      for (ValueId output : node.outputs) {
        if (may_inline(output) && worth_inlining(output)) in_memory_[output.value] = false;
      }
    }
  }

  bool worth_inlining(ValueId value) {
    const Value& info = graph_.value(value);
    const AccessProfile& own = profile(info.producer);
    if (own.reductions > 0) return false;  // inline_reductions decides
    const RegionBody region = region_of(graph_, in_memory_, value);
    const double operations = price_of(profile_of(region));
    // What is made of a reduction may follow it in front of the reader's loop.
    const bool of_sums = std::ranges::any_of(region.inputs, [&](ValueId input) {
      const NodeId from = graph_.value(input).producer;
      return from.valid() && is_loop(graph_.node(from)) && profile(from).reductions > 0;
    });
    const bool moves = own.operations == 0 && !reads_much(info.producer);
    if (moves && operations <= kRepeatable) return true;
    const bool cheap = operations <= kCheapOperations;
    if (info.uses.size() > 1 && !(cheap && region.inputs.size() <= 1)) return false;
    for (const Use& use : info.uses) {
      const Node& reader = graph_.node(use.node);
      if (is_scatter(reader)) continue;
      const AccessProfile& theirs = profile(use.node);
      if (!theirs.single_pass(use.slot)) return false;
      if (theirs.repeated(use.slot) && operations > kRepeatable && !of_sums) return false;
      if (theirs.passes_over(use.slot) > (cheap ? kMostPasses : 1)) return false;
    }
    return true;
  }

  /// What one element costs. Where the last dim is 1, one evaluation is for a vector of its reader.
  static double price_of(const AccessProfile& profile) {
    const bool lanes = !profile.index.empty() && profile.index.back().kind() == ExprKind::index;
    const double operations =
        operations_of(profile.element, lanes ? profile.index.back().var() : VarId());
    return lanes ? operations : operations / kLanes;
  }

  /// A gather of many inputs (concat) costs a selection per input.
  bool reads_much(NodeId id) { return graph_.node(id).inputs.size() > 8; }

  // ---- prologues ----

  /// What only a template's operand 0 reads is computed by the template, a block of rows at a time,
  /// into scratch that stays in the cache. Because the code generator repeats that no more often
  /// than worthwhile_repeats() allows (templates.h), it always saves a pass over memory. Reductions
  /// stay outside: they would be repeated for every element.
  void inline_prologues() {
    for (NodeId id : graph_.nodes()) {
      if (!is_template(id) || !has_rows_to_share(graph_, id)) continue;
      const ValueId value = graph_.node(id).inputs[0];
      const auto use = only_use(value);
      const NodeId producer = graph_.value(value).producer;
      if (!use || !in_memory_[value.value] || !producer.valid()) continue;
      const Node& node = graph_.node(producer);
      if (!is_loop(node) || node.op.is<Constant>() || node.outputs.size() != 1) continue;
      if (template_of_[producer.value].valid() || has_reductions(producer)) continue;
      const NodeId root = root_of_template(id);
      if (size_[root.value] + size_[producer.value] > kMostNodes) continue;
      size_[root.value] += size_[producer.value];
      in_memory_[value.value] = false;
    }
  }

  /// What a product makes for a convolution alone is made by the convolution's kernel, some rows of
  /// a picture at a time, so that it never leaves the cache.
  void inline_conv_inputs() {
    for (NodeId id : graph_.nodes()) {
      if (!is_template(id)) continue;
      const ValueId value = graph_.node(id).inputs[0];
      const NodeId producer = graph_.value(value).producer;
      if (!only_use(value) || !in_memory_[value.value] || !producer.valid()) continue;
      const NodeId product = template_of_[producer.value];
      if (!product.valid() || !is_worth_making_in_conv(graph_, product, id)) continue;
      // Its rows are the picture's, it reads them from memory, and one matrix serves all of them.
      const Node& node = graph_.node(product);
      const bool plain = graph_.tensor(node.outputs[0]).dims == graph_.tensor(value).dims &&
                         in_memory_[node.inputs[0].value] && !moves_behind(product) &&
                         (node.op.is<ops::Conv>() || is_one_matrix(node.inputs[1]));
      const NodeId root = root_of_template(id);
      if (!plain || size_[root.value] + size_[producer.value] > kMostNodes) continue;
      size_[root.value] += size_[producer.value];
      in_memory_[value.value] = false;
    }
  }

  /// Whether the epilogue of a template moves elements.
  bool moves_behind(NodeId product) const {
    return std::ranges::any_of(graph_.nodes(), [&](NodeId id) {
      return template_of_[id.value] == product && only_moves(graph_.node(id));
    });
  }

  /// Whether panels have no batch in front.
  bool is_one_matrix(ValueId panels) const {
    const Exprs& dims = graph_.tensor(panels).dims;
    return std::all_of(dims.begin(), dims.end() - 3, [](Expr dim) { return dim.is_int(1); });
  }

  /// Whether a node, or anything that is computed where it reads it, reduces.
  bool has_reductions(NodeId id) {
    std::vector<NodeId> work = {id};
    std::set<NodeId> seen;
    while (!work.empty()) {
      const NodeId at = work.back();
      work.pop_back();
      if (!seen.insert(at).second) continue;
      if (profile(at).reductions > 0) return true;
      for (ValueId input : graph_.node(at).inputs) {
        if (input.valid() && !in_memory_[input.value]) {
          work.push_back(graph_.value(input).producer);
        }
      }
    }
    return false;
  }

  /// The last node of a template's epilogue.
  NodeId root_of_template(NodeId id) const {
    NodeId at = id;
    while (!in_memory_[graph_.node(at).outputs[0].value]) {
      at = graph_.value(graph_.node(at).outputs[0]).uses[0].node;
    }
    return at;
  }

  // ---- reductions ----

  /// A reduction moves into its readers where they read it outside of their own reductions, so that
  /// it is computed once in front of the loop that needs it.
  void inline_reductions() {
    const std::vector<NodeId> nodes = graph_.nodes();
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (!is_loop(node) || node.outputs.size() != 1 || node.op.is<Constant>()) continue;
      const ValueId value = node.outputs[0];
      if (!may_inline(value) || profile(*id).reductions == 0) continue;
      const auto& uses = graph_.value(value).uses;
      const bool outside = std::ranges::all_of(uses, [&](const Use& use) {
        return !is_scatter(graph_.node(use.node)) && !profile(use.node).reduced(use.slot);
      });
      if (!outside) continue;
      in_memory_[value.value] = false;
      const std::set<ValueId> roots = roots_of(value);
      const bool good = roots.size() == 1 && well_formed(*roots.begin());
      if (!good) in_memory_[value.value] = true;
    }
  }

  /// The values in memory whose regions compute `value`.
  std::set<ValueId> roots_of(ValueId value) {
    std::set<ValueId> roots, seen;
    std::vector<ValueId> work = {value};
    while (!work.empty()) {
      const ValueId at = work.back();
      work.pop_back();
      if (!seen.insert(at).second) continue;
      if (in_memory_[at.value]) {
        roots.insert(at);
        continue;
      }
      for (const Use& use : graph_.value(at).uses) {
        work.push_back(graph_.node(use.node).outputs[0]);
      }
    }
    return roots;
  }

  /// Whether the region of a root repeats no reduction: none inside another that was not there in
  /// one op already, and each needs only loops that can run outside of those it does not need.
  bool well_formed(ValueId root) {
    const NodeId producer = graph_.value(root).producer;
    if (template_of_[producer.value].valid() || is_scatter(graph_.node(producer))) return false;
    const RegionBody region = region_of(graph_, in_memory_, root);
    if (static_cast<int>(region.members.size()) > kMostNodes) return false;
    if (reductions_in_a_row(region) > kMostReductionsInARow) return false;
    const AccessProfile whole = profile_of(region);
    int deepest = 0;
    for (NodeId member : region.members) deepest = std::max(deepest, profile(member).depth);
    if (whole.depth > deepest) return false;
    return nested_chain(whole);
  }

  /// The most reducing nodes of a region that read each other.
  int reductions_in_a_row(const RegionBody& region) {
    std::map<ValueId, int> longest;
    int most = 0;
    for (NodeId member : region.members) {  // in the order that they run in
      const Node& node = graph_.node(member);
      int in_front = 0;
      for (ValueId input : node.inputs) {
        if (const auto at = longest.find(input); at != longest.end()) {
          in_front = std::max(in_front, at->second);
        }
      }
      const int length = in_front + (profile(member).reductions > 0 ? 1 : 0);
      for (ValueId output : node.outputs) longest[output] = length;
      most = std::max(most, length);
    }
    return most;
  }

  /// The reductions' sets of loops form a chain: each contains the next smaller one.
  static bool nested_chain(const AccessProfile& whole) {
    std::vector<std::set<VarId>> sets;
    for_each(whole.element, [&](Expr e) {
      if (e.kind() != ExprKind::reduce) return;
      std::set<VarId> loops;
      for (const Expr& i : whole.index) {
        if (i.kind() == ExprKind::index && depends_on(e, i.var())) loops.insert(i.var());
      }
      sets.push_back(std::move(loops));
    });
    std::ranges::sort(sets, {}, &std::set<VarId>::size);
    for (size_t k = 1; k < sets.size(); ++k) {
      if (!std::ranges::includes(sets[k], sets[k - 1])) return false;
    }
    return true;
  }

  // ---- what one region reads several times ----

  /// A value with several readers in one region alone is computed there: once, where all want the
  /// same element, or again in each pass over a row, if that is cheaper than a pass over memory.
  void inline_shared() {
    const std::vector<NodeId> nodes = graph_.nodes();
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const ValueId value = graph_.node(*id).outputs[0];
      if (!in_memory_[value.value] || graph_.value(value).uses.size() < 2) continue;
      if (!may_inline(value)) continue;
      in_memory_[value.value] = false;
      const std::set<ValueId> roots = roots_of(value);
      in_memory_[value.value] = true;
      if (roots.size() != 1 || !worth_repeating(value, *roots.begin())) continue;
      in_memory_[value.value] = false;
      if (!well_formed(*roots.begin())) in_memory_[value.value] = true;
    }
  }

  /// Whether the region of `root` may compute `value`, which it reads, as often as it reads it.
  bool worth_repeating(ValueId value, ValueId root) {
    const NodeId producer = graph_.value(root).producer;
    if (template_of_[producer.value].valid() || is_scatter(graph_.node(producer))) return false;
    const RegionBody region = region_of(graph_, in_memory_, root);
    const AccessProfile whole = profile_of(region);
    const auto at = std::ranges::find(region.inputs, value);
    const auto slot = static_cast<size_t>(at - region.inputs.begin());
    const bool reduces = has_reductions(graph_.value(value).producer);
    const double operations = price_of(profile_of(region_of(graph_, in_memory_, value)));
    for (const Access& access : whole.accesses) {
      if (access.input != slot) continue;
      const bool plain = std::ranges::all_of(
          access.index, [](Expr i) { return i.kind() == ExprKind::index || i.is_int(0); });
      if (!access.single_pass || (reduces && !plain)) return false;
      if (access.repeated && operations > kRepeatable) return false;
    }
    return is_worth_repeating(operations, whole.passes_over(slot));
  }

  // ---- two products ----

  void chain() {
    for (NodeId id : graph_.nodes()) {
      if (is_template(id)) chain_products(graph_, id, template_of_, in_memory_);
    }
  }

  // ---- several outputs ----

  /// Values whose regions are loops that another's may be written into.
  std::vector<bool> joinable() const {
    std::vector<bool> result(graph_.value_count(), false);
    for (NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (!is_loop(node) || node.op.is<Constant>() || node.op.is<ops::Fusion>()) continue;
      if (template_of_[id.value].valid()) continue;
      for (ValueId output : node.outputs) {
        const bool is_read = !graph_.value(output).uses.empty() || graph_.is_graph_output(output);
        result[output.value] = in_memory_[output.value] && is_read;
      }
    }
    return result;
  }

  const Graph& graph_;
  std::vector<bool> in_memory_;      // by value
  std::vector<int> size_;            // of the region that a node would be the root of
  std::vector<NodeId> template_of_;  // the matrix product whose epilogue a node belongs to
  std::map<NodeId, AccessProfile> profiles_;
};

/// An output that is an input, a constant or an output already is copied to memory of its own.
void separate_outputs(Graph& graph) {
  std::set<ValueId> seen;
  std::vector<GraphOutput> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    const Type& type = graph.type(output.value);
    const bool computed =
        graph.value(output.value).producer.valid() && graph.constant(output.value) == nullptr;
    if (type.is_state() || (computed && seen.insert(output.value).second)) {
      outputs.push_back(output);
      continue;
    }
    if (type.is_container()) {
      outputs.push_back({output.name, graph.must_add(ops::ContainerCopy{}, {output.value})});
      continue;
    }
    const DType dtype = type.tensor.dtype;
    const Expr x = graph.pool().param(0, compute_dtype(dtype));
    outputs.push_back({output.name, graph.must_add(ops::Pointwise{x, dtype}, {output.value})});
  }
  graph.set_outputs(std::move(outputs));
}

}  // namespace

std::vector<std::string_view> fuse_parts() {
  return {"fuse_epilogues",  "fuse_pointwise", "fuse_prologues", "fuse_conv_inputs",
          "fuse_reductions", "fuse_shared",    "fuse_products",  "fuse_joined"};
}

void fuse(Graph& graph, const PassContext& context) {
  separate_outputs(graph);
  graph.compact();
  graph = Fuser(graph).run(context);
}

}  // namespace ingot
