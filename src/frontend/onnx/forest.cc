// frontend/onnx/forest.cc: all rows and trees go down one level at a time: what a node says is
// gathered from tables, so that a level is one pass over [rows, trees].
#include "frontend/onnx/forest.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "frontend/onnx/ml.h"

namespace ingot::onnx {
namespace {

/// Levels are written out, so that deeper trees make models that take long to compile.
constexpr int64_t kDeepest = 256;
/// Numbers in the table of what leaves add, or as many times those that the model has.
constexpr int64_t kMostWeights = int64_t{1} << 22;
constexpr int64_t kMostTimes = 64;

/// The longest way from a root to a leaf. Errors: invalid_model.
Result<int64_t> depth_of(const Forest& forest) {
  const auto count = static_cast<int64_t>(forest.nodes.size());
  std::vector<bool> seen(forest.nodes.size(), false);
  std::vector<int64_t> level;
  for (const int64_t root : forest.roots) {
    if (root < 0 || root >= count) return invalid_model("there is no root ", root);
    level.push_back(root);
  }
  for (int64_t depth = 0;; ++depth) {
    std::vector<int64_t> next;
    for (const int64_t at : level) {
      const Forest::Node& node = forest.nodes[static_cast<size_t>(at)];
      if (node.is_leaf) continue;
      for (const int64_t child : {node.yes, node.no}) {
        if (child < 0 || child >= count) {
          return invalid_model("node ", at, ": there is no node ", child);
        }
        next.push_back(child);
      }
    }
    if (next.empty()) return depth;
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    if (depth >= count) return invalid_model("the nodes of a tree form a ring");
    if (depth >= kDeepest) return unsupported("trees of more than ", kDeepest, " levels");
    level = std::move(next);
  }
}

template <class T, class Get>
std::vector<T> column(const Forest& forest, Get get) {
  std::vector<T> values;
  for (const Forest::Node& node : forest.nodes) values.push_back(get(node));
  return values;
}

Expr holds(Branch branch, Expr x, Expr value) {
  switch (branch) {
    case Branch::le:
      return less_equal(x, value);
    case Branch::lt:
      return less(x, value);
    case Branch::ge:
      return less_equal(value, x);
    case Branch::gt:
      return less(value, x);
    case Branch::eq:
      return equal(x, value);
    case Branch::ne:
      return logical_not(equal(x, value));
  }
  return equal(x, value);
}

/// The tables of a forest, [nodes] each.
struct Tables {
  ValueId feature, value, children;  // children: of node k at 2 k (no) and 2 k + 1 (yes)
  ValueId branch, nan_is_true;       // none where all nodes are alike
  std::vector<Branch> branches;      // that occur
};

Tables make_tables(OpContext& n, const Forest& forest, DType compute) {
  const auto count = static_cast<int64_t>(forest.nodes.size());
  Tables t;
  t.feature = n.ints(column<int64_t>(forest, [](const auto& node) { return node.feature; }));
  t.value = number_constant(
      n, compute, column<double>(forest, [](const auto& node) { return node.value; }), {count});
  std::vector<int64_t> children, branch, nan;
  for (int64_t k = 0; k < count; ++k) {
    const Forest::Node& node = forest.nodes[static_cast<size_t>(k)];
    children.push_back(node.is_leaf ? k : node.no);
    children.push_back(node.is_leaf ? k : node.yes);
    branch.push_back(static_cast<int64_t>(node.branch));
    nan.push_back(node.nan_is_true ? 1 : 0);
    if (!node.is_leaf && std::ranges::find(t.branches, node.branch) == t.branches.end()) {
      t.branches.push_back(node.branch);
    }
  }
  if (t.branches.empty()) t.branches.push_back(Branch::le);
  t.children = n.ints(children);
  if (t.branches.size() > 1) t.branch = integer_constant(n, DType::u8, branch, {count});
  if (std::ranges::count(nan, 1) > 0) {
    t.nan_is_true = integer_constant(n, DType::u8, nan, {count});
  }
  return t;
}

/// The nodes [N, trees] one level below `at`. `x` is flat, `row` the first feature's place [N, 1].
Result<ValueId> go_down(OpContext& n, const Tables& t, ValueId x, ValueId row, ValueId at) {
  TRY(const ValueId feature, n.gather(t.feature, at, 0));
  TRY(const ValueId place, n.map2(row, feature, [](Expr r, Expr f) { return r + f; }));
  TRY(const ValueId element, n.gather(x, place, 0));
  TRY(const ValueId value, n.gather(t.value, at, 0));
  ValueIds xs = {element, value, at};
  size_t branch = 0, nan = 0;
  if (t.branch.valid()) {
    branch = xs.size();
    TRY(xs.emplace_back(), n.gather(t.branch, at, 0));
  }
  if (t.nan_is_true.valid()) {
    nan = xs.size();
    TRY(xs.emplace_back(), n.gather(t.nan_is_true, at, 0));
  }
  TRY(const ValueId child, n.map(DType::i64, xs, [&](std::span<const Expr> p) {
    Expr yes = holds(t.branches[0], p[0], p[1]);
    for (size_t k = 1; k < t.branches.size(); ++k) {
      const auto number = static_cast<double>(t.branches[k]);
      yes = select(equal(p[branch], n.number(DType::u8, number)), holds(t.branches[k], p[0], p[1]),
                   yes);
    }
    if (nan != 0) {
      const Expr lost =
          logical_and(unary(ExprKind::is_nan, p[0]), equal(p[nan], n.number(DType::u8, 1)));
      yes = logical_or(yes, lost);
    }
    return p[2] * 2 + select(yes, n.integer(1), n.integer(0));
  }));
  return n.gather(t.children, child, 0);
}

/// The target that all leaves of each tree add to, where each has one.
std::optional<std::vector<int64_t>> one_target_a_tree(const Forest& forest) {
  std::vector<int64_t> targets;
  for (const int64_t root : forest.roots) {
    std::optional<int64_t> target;
    std::vector<int64_t> work = {root};
    std::vector<bool> seen(forest.nodes.size(), false);
    while (!work.empty()) {
      const auto at = static_cast<size_t>(work.back());
      work.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const Forest::Node& node = forest.nodes[at];
      if (!node.is_leaf) {
        work.insert(work.end(), {node.yes, node.no});
        continue;
      }
      if (forest.weights[at].size() != 1) return std::nullopt;
      if (target.value_or(forest.weights[at][0].target) != forest.weights[at][0].target) {
        return std::nullopt;
      }
      target = forest.weights[at][0].target;
    }
    if (!target) return std::nullopt;
    targets.push_back(*target);
  }
  return targets;
}

/// What nothing adds to a minimum, a maximum or a sum.
double nothing(Aggregate how) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return how == Aggregate::min ? kInfinity : how == Aggregate::max ? -kInfinity : 0;
}

/// What the leaves [N, trees] add to each target, put together: [N, targets].
Result<ValueId> put_together(OpContext& n, const Forest& forest, ValueId leaves, Aggregate how,
                             DType compute) {
  const auto count = static_cast<int64_t>(forest.nodes.size());
  const bool sums = how == Aggregate::sum || how == Aggregate::average;
  const auto targets = sums && forest.targets > 1 ? one_target_a_tree(forest)
                                                  : std::optional<std::vector<int64_t>>();
  const int64_t rows = targets ? static_cast<int64_t>(targets->size()) : count;
  int64_t given = 0;
  for (const auto& of_node : forest.weights) given += static_cast<int64_t>(of_node.size());
  if (rows * forest.targets > std::max(kMostWeights, kMostTimes * given)) {
    return unsupported("a table of ", rows, targets ? " trees and " : " nodes and ", forest.targets,
                       " targets");
  }
  if (targets) {
    std::vector<double> values(forest.nodes.size(), 0.0);
    for (size_t k = 0; k < values.size(); ++k) {
      if (!forest.weights[k].empty()) values[k] = forest.weights[k][0].value;
    }
    std::vector<double> owns(targets->size() * static_cast<size_t>(forest.targets), 0.0);
    for (size_t k = 0; k < targets->size(); ++k) {
      owns[k * static_cast<size_t>(forest.targets) + static_cast<size_t>((*targets)[k])] = 1;
    }
    TRY(const ValueId added, n.gather(number_constant(n, compute, values, {count}), leaves, 0));
    return n.matmul(
        added,
        number_constant(n, compute, owns, {static_cast<int64_t>(targets->size()), forest.targets}));
  }
  std::vector<double> table(static_cast<size_t>(count * forest.targets), nothing(how));
  for (size_t k = 0; k < forest.nodes.size(); ++k) {
    for (const Forest::Weight& weight : forest.weights[k]) {
      double& place =
          table[k * static_cast<size_t>(forest.targets) + static_cast<size_t>(weight.target)];
      place = how == Aggregate::min   ? std::min(place, weight.value)
              : how == Aggregate::max ? std::max(place, weight.value)
                                      : place + weight.value;
    }
  }
  TRY(const ValueId added,
      n.gather(number_constant(n, compute, table, {count, forest.targets}), leaves, 0));
  const ReduceKind kind = how == Aggregate::min   ? ReduceKind::min
                          : how == Aggregate::max ? ReduceKind::max
                                                  : ReduceKind::sum;
  return n.reduce(kind, added, {1}, false);
}

}  // namespace

Result<ValueId> apply_forest(OpContext& n, const Forest& forest, ValueId x, Aggregate how) {
  const DType compute = n.dtype(x);
  if (forest.roots.empty()) return invalid_model("expected a tree or more");
  if (forest.targets < 0 || forest.targets > kMaxDim) {
    return invalid_model("expected targets from 0 to ", kMaxDim, ", got ", forest.targets);
  }
  TRY(const int64_t depth, depth_of(forest));
  const auto features = n.dim(x, 1).as_int();
  for (size_t k = 0; k < forest.nodes.size(); ++k) {
    const int64_t feature = forest.nodes[k].feature;
    if (feature < 0 || feature >= features.value_or(kMaxDim)) {
      return invalid_model("node ", k, ": there is no feature ", feature);
    }
    for (const Forest::Weight& weight : forest.weights[k]) {
      if (weight.target >= 0 && weight.target < forest.targets) continue;
      return invalid_model("node ", k, ": expected a target below ", forest.targets, ", got ",
                           weight.target);
    }
  }
  const auto trees = static_cast<int64_t>(forest.roots.size());
  const Tables tables = make_tables(n, forest, compute);
  TRY(const ValueId flat, n.reshape(x, {n.dim(x, 0) * n.dim(x, 1)}));
  const Expr width = n.dim(x, 1);
  TRY(const ValueId number, n.iota({n.dim(x, 0), n.integer(1)}, 0));
  TRY(const ValueId row, n.map1(number, [&](Expr i) { return i * width; }));
  TRY(const ValueId roots, n.reshape(n.ints(forest.roots), {n.integer(1), n.integer(trees)}));
  TRY(ValueId at, n.broadcast(roots, {n.dim(x, 0), n.integer(trees)}));
  for (int64_t level = 0; level < depth; ++level) {
    TRY(at, go_down(n, tables, flat, row, at));
  }
  TRY(const ValueId y, put_together(n, forest, at, how, compute));
  if (how == Aggregate::sum) return y;
  return n.map1(y, [&](Expr e) {
    if (how == Aggregate::average) return e / n.number(compute, static_cast<double>(trees));
    // A target to which nothing is added is 0.
    return select(equal(e, n.number(compute, nothing(how))), n.number(compute, 0), e);
  });
}

}  // namespace ingot::onnx
