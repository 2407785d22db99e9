// passes/access.cc: runs `lower` on stand-in inputs and looks at what it asked for.
#include "passes/access.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace ingot {
namespace {

class ProbeLowering final : public Lowering {
 public:
  ProbeLowering(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  ExprPool& pool() override { return graph_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t k) const override { return k < node_.inputs.size() && node_.inputs[k].valid(); }
  const Type& input_type(size_t k) const override { return graph_.type(node_.inputs[k]); }
  const Type& output_type(size_t k) const override { return graph_.type(node_.outputs[k]); }

  Expr load(size_t input, std::span<const Expr> index) override {
    const DType dtype = compute_dtype(tensor(input).dtype);
    Expr offset = pool().integer(0);
    for (size_t axis = 0; axis < index.size(); ++axis) {
      offset = offset * tensor(input).dims[axis] + index[axis];
    }
    const Expr leaf = pool().load(static_cast<uint32_t>(input), dtype, offset);
    note(input, index, leaf);
    return leaf;
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    return select(condition, load(input, index), otherwise);
  }
  Expr load_plane(size_t input, StatePlane plane, Expr offset) override {
    const DType dtype =
        plane == StatePlane::data ? compute_dtype(input_type(input).state.dtype) : DType::i64;
    const Expr leaf = pool().load(static_cast<uint32_t>(input), dtype, offset);
    note(input, std::array{offset}, leaf);
    return leaf;
  }

  struct Seen {
    size_t input;
    Exprs index;
    Expr leaf;
  };
  std::vector<Seen> seen;

 private:
  void note(size_t input, std::span<const Expr> index, Expr leaf) {
    for (const Seen& s : seen) {
      if (s.input == input && std::ranges::equal(s.index, index)) return;
    }
    seen.push_back({input, Exprs(index.begin(), index.end()), leaf});
  }

  const Graph& graph_;
  const Node& node_;
};

bool is_transcendental(ExprKind kind) {
  return (kind >= ExprKind::exp && kind <= ExprKind::sigmoid && kind != ExprKind::sqrt) ||
         kind == ExprKind::pow;
}

bool uses(Expr root, Expr part) {
  bool found = false;
  for_each(root, [&](Expr e) { found |= e == part; });
  return found;
}

int64_t variables(Expr root, std::set<VarId>& vars) {
  for_each(root, [&](Expr e) {
    if (e.kind() == ExprKind::index) vars.insert(e.var());
  });
  return static_cast<int64_t>(vars.size());
}

}  // namespace

int reduction_depth(Expr root) {
  std::map<uint32_t, int> depth;  // of reductions at or below a node, by id
  int deepest = 0;
  for_each(root, [&](Expr e) {
    if (e.kind() != ExprKind::reduce) return;
    int inner = 0;
    for_each(e.operand(0), [&](Expr x) {
      if (x.kind() == ExprKind::reduce && depends_on(x, e.var())) {
        inner = std::max(inner, depth[x.id()]);
      }
    });
    depth[e.id()] = inner + 1;
    deepest = std::max(deepest, inner + 1);
  });
  return deepest;
}

AccessProfile profile_of(const Graph& graph, NodeId id, size_t port) {
  const Node& node = graph.node(id);
  CHECK(node.op.def().lower != nullptr, "only an op with lower has a profile: ", node.op.name());
  AccessProfile profile;
  for (const Expr& dim : graph.tensor(node.outputs[port]).dims) {
    profile.index.push_back(dim.is_int(1) ? graph.pool().integer(0)
                                          : graph.pool().fresh_index(dim));
  }
  ProbeLowering probe(graph, node);
  profile.element = node.op.def().lower(node.op.data(), probe, port, profile.index);

  std::vector<Expr> reduce_nodes;
  for_each(profile.element, [&](Expr e) {
    if (e.kind() == ExprKind::reduce) reduce_nodes.push_back(e);
    if (e.dtype() == DType::i64 && e.kind() != ExprKind::reduce) return;
    if (e.kind() == ExprKind::load || e.kind() == ExprKind::constant) return;
    if (e.kind() != ExprKind::cast && e.kind() != ExprKind::reduce) ++profile.operations;
    profile.transcendental |= is_transcendental(e.kind());
  });
  profile.reductions = static_cast<int>(reduce_nodes.size());
  profile.depth = reduction_depth(profile.element);

  std::set<VarId> own;
  for (const Expr& i : profile.index) variables(i, own);
  for (const auto& seen : probe.seen) {
    if (!uses(profile.element, seen.leaf)) continue;
    Access access{seen.input, seen.index, false, true, false};
    std::set<VarId> vars;
    int64_t plain = 0;
    for (const Expr& i : seen.index) {
      variables(i, vars);
      plain += i.kind() == ExprKind::index ? 1 : 0;
    }
    access.reduced = std::ranges::any_of(vars, [&](VarId v) { return !own.contains(v); });
    access.repeated = !access.reduced && !std::ranges::includes(vars, own);
    if (access.reduced) {
      // Every variable that the reductions around the access depend on must select the element.
      std::set<VarId> around;
      for (const Expr& r : reduce_nodes) {
        if (uses(r.operand(0), seen.leaf)) {
          for (const VarId v : own) {
            if (depends_on(r, v)) around.insert(v);
          }
        }
      }
      access.single_pass =
          plain == static_cast<int64_t>(vars.size()) && std::ranges::includes(vars, around);
    }
    profile.accesses.push_back(std::move(access));
  }
  return profile;
}

int AccessProfile::passes_over(size_t input) const {
  return static_cast<int>(
      std::ranges::count_if(accesses, [&](const Access& a) { return a.input == input; }));
}

bool AccessProfile::single_pass(size_t input) const {
  return std::ranges::all_of(accesses,
                             [&](const Access& a) { return a.input != input || a.single_pass; });
}

bool AccessProfile::reduced(size_t input) const {
  return std::ranges::any_of(accesses,
                             [&](const Access& a) { return a.input == input && a.reduced; });
}

bool AccessProfile::repeated(size_t input) const {
  return std::ranges::any_of(accesses,
                             [&](const Access& a) { return a.input == input && a.repeated; });
}

bool AccessProfile::same_index(size_t input) const {
  return std::ranges::all_of(accesses, [&](const Access& a) {
    return a.input != input || (a.index.size() == index.size() && a.index == index);
  });
}

}  // namespace ingot
