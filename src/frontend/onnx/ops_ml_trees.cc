// frontend/onnx/ops_ml_trees.cc: ai.onnx.ml: ensembles of decision trees.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "frontend/onnx/forest.h"
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// An attribute of numbers that may also be a tensor called NAME_as_tensor.
Result<std::vector<double>> reals_or_tensor(OpContext& n, std::string_view name) {
  const std::string tensor = concat(name, "_as_tensor");
  if (!n.has_attr(tensor)) return n.attr_reals(name);
  TRY(const ConstantData data, n.attr_tensor(tensor));
  TRY(const Tensor values, to_tensor(data));
  std::vector<double> reals;
  for (int64_t k = 0; k < values.size(); ++k) reals.push_back(values.real(k));
  return reals;
}

Error wrong_count(std::string_view name, size_t expected, size_t got) {
  return invalid_model("attribute '", name, "': expected ", expected, " values, got ", got);
}

/// The nodes_* attributes of TreeEnsembleClassifier and TreeEnsembleRegressor, and what their
/// leaves add, in attributes that begin with `prefix`.
Result<Forest> read_forest(OpContext& n, std::string_view prefix) {
  constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  std::map<std::string_view, std::vector<int64_t>> lists;
  TRY(const std::vector<std::string> modes, n.attr_texts("nodes_modes"));
  for (const std::string_view name :
       {"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids",
        "nodes_falsenodeids", "nodes_missing_value_tracks_true"}) {
    TRY(lists[name], n.attr_ints(name));
    const bool optional = name == "nodes_missing_value_tracks_true";
    if (optional && lists[name].empty()) lists[name].assign(modes.size(), 0);
    if (lists[name].size() != modes.size()) {
      return wrong_count(name, modes.size(), lists[name].size());
    }
  }
  n.has_attr("nodes_hitrates");
  n.has_attr("nodes_hitrates_as_tensor");
  TRY(const std::vector<double> values, reals_or_tensor(n, "nodes_values"));
  if (values.size() != modes.size()) {
    return wrong_count("nodes_values", modes.size(), values.size());
  }
  Forest forest;
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  std::set<int64_t> trees;
  for (size_t k = 0; k < modes.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    if (!places.emplace(std::pair(lists["nodes_treeids"][k], lists["nodes_nodeids"][k]), at)
             .second) {
      return invalid_model("node ", lists["nodes_nodeids"][k], " of tree ",
                           lists["nodes_treeids"][k], " occurs twice");
    }
    if (trees.insert(lists["nodes_treeids"][k]).second) forest.roots.push_back(at);
  }
  for (size_t k = 0; k < modes.size(); ++k) {
    Forest::Node node;
    node.is_leaf = modes[k] == "LEAF";
    if (!node.is_leaf) {
      const auto mode = std::ranges::find(kModes, modes[k]);
      if (mode == std::end(kModes)) {
        return invalid_model("attribute 'nodes_modes': unknown mode '", to_comment(modes[k]), "'");
      }
      node.branch = static_cast<Branch>(mode - std::begin(kModes));
      node.feature = lists["nodes_featureids"][k];
      node.value = values[k];
      node.nan_is_true = lists["nodes_missing_value_tracks_true"][k] != 0;
      const auto find = [&](int64_t id) {
        const auto found = places.find({lists["nodes_treeids"][k], id});
        return found == places.end() ? -1 : found->second;
      };
      node.yes = find(lists["nodes_truenodeids"][k]);
      node.no = find(lists["nodes_falsenodeids"][k]);
    }
    forest.nodes.push_back(node);
  }
  forest.weights.resize(forest.nodes.size());
  TRY(const std::vector<int64_t> tree_ids, n.attr_ints(concat(prefix, "_treeids")));
  TRY(const std::vector<int64_t> node_ids, n.attr_ints(concat(prefix, "_nodeids")));
  TRY(const std::vector<int64_t> targets, n.attr_ints(concat(prefix, "_ids")));
  TRY(const std::vector<double> weights, reals_or_tensor(n, concat(prefix, "_weights")));
  for (const size_t size : {node_ids.size(), targets.size(), weights.size()}) {
    if (size != tree_ids.size()) {
      return wrong_count(concat(prefix, "_*"), tree_ids.size(), size);
    }
  }
  for (size_t k = 0; k < tree_ids.size(); ++k) {
    const auto found = places.find({tree_ids[k], node_ids[k]});
    if (found == places.end()) {
      return invalid_model("there is no node ", node_ids[k], " in tree ", tree_ids[k]);
    }
    forest.weights[static_cast<size_t>(found->second)].push_back({targets[k], weights[k]});
  }
  return forest;
}

/// Scores [N, targets] with one number more for each.
Result<ValueId> add_base(OpContext& n, ValueId scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  const ValueId added =
      number_constant(n, n.dtype(scores), base, {static_cast<int64_t>(base.size())});
  return n.map2(scores, added, [](Expr s, Expr b) { return s + b; });
}

Result<ValueIds> tree_regressor(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  TRY(Forest forest, read_forest(n, "target"));
  TRY(forest.targets, n.attr_int("n_targets", 1));
  constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  TRY(const size_t how, n.attr_choice("aggregate_function", kAggregates, 1));
  TRY(const std::vector<double> base, reals_or_tensor(n, "base_values"));
  TRY(const PostTransform post, read_post_transform(n));
  if (!base.empty() && static_cast<int64_t>(base.size()) != forest.targets) {
    return wrong_count("base_values", static_cast<size_t>(forest.targets), base.size());
  }
  TRY(ValueId y, apply_forest(n, forest, x, static_cast<Aggregate>(how)));
  TRY(y, add_base(n, y, base));
  TRY(y, post_transformed(n, y, post));
  return only(n.cast(y, DType::f32));
}

// ---- classes ----

/// Of two classes, where the leaves add to one score s. The winner is the second class if s is
/// above one half, where no weight is negative, else above 0.
/// Source: onnxruntime, tree_ensemble_aggregator.h.
Result<ValueIds> one_score(OpContext& n, ValueId s, const ClassLabels& labels, bool positive,
                           PostTransform post) {
  const double threshold = positive ? 0.5 : 0;
  TRY(const ValueId flat, n.reshape(s, {n.dim(s, 0)}));
  TRY(const ValueId winner, n.map(DType::i64, {flat}, [&](std::span<const Expr> p) {
    return select(less(n.number(p[0].dtype(), threshold), p[0]), n.integer(1), n.integer(0));
  }));
  TRY(const ValueId classes, labels_of(n, labels, winner));
  TRY(const ValueId y, two_scores(n, s, positive ? Other::complement : Other::opposite, post));
  return ValueIds{classes, y};
}

Result<ValueIds> tree_classifier(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  TRY(Forest forest, read_forest(n, "class"));
  TRY(std::vector<double> base, reals_or_tensor(n, "base_values"));
  TRY(const PostTransform post, read_post_transform(n));
  TRY(const ClassLabels labels, read_class_labels(n, "classlabels_int64s", "classlabels_strings"));
  forest.targets = labels.size;
  if (labels.size < 1) return invalid_model("expected labels of classes");
  std::set<int64_t> used;
  bool positive = true;
  for (const auto& of_node : forest.weights) {
    for (const Forest::Weight& weight : of_node) {
      used.insert(weight.target);
      positive &= weight.value >= 0;
    }
  }
  const bool binary = labels.size == 2 && used.size() == 1;
  if (labels.size == 1 && labels.strings) return unsupported("one class with a name");
  if (binary) {
    // Both classes share the one score.
    for (auto& of_node : forest.weights) {
      for (Forest::Weight& weight : of_node) weight.target = 0;
    }
    forest.targets = 1;
    if (base.size() == 2) base = {base[1]};
  }
  if (!base.empty() && static_cast<int64_t>(base.size()) != forest.targets) {
    return wrong_count("base_values", static_cast<size_t>(forest.targets), base.size());
  }
  TRY(ValueId scores, apply_forest(n, forest, x, Aggregate::sum));
  TRY(scores, add_base(n, scores, base));
  ValueIds ys;
  if (binary) {
    TRY(ys, one_score(n, scores, labels, positive, post));
  } else {
    TRY(ValueId classes, largest_of(n, scores));
    TRY(classes, labels_of(n, labels, classes));
    TRY(const ValueId y, post_transformed(n, scores, post));
    ys = {classes, y};
  }
  TRY(ys[1], n.cast(ys[1], DType::f32));
  return ys;
}

// ---- TreeEnsemble ----

/// Nodes of TreeEnsemble-5, one at a time. A node that asks for members of a set becomes nodes that
/// ask for one member each.
class ForestReader {
 public:
  explicit ForestReader(OpContext& n) : n_(n) {}
  Result<Forest> read();

 private:
  Status read_lists();
  Result<int64_t> child(size_t node, bool yes) const;

  OpContext& n_;
  std::vector<int64_t> features_, yes_, no_, yes_is_leaf_, no_is_leaf_, nan_, modes_, targets_;
  std::vector<double> splits_, weights_;
  std::vector<std::vector<double>> members_;  // of the nodes that have a set, in order
  std::vector<int64_t> places_;               // where each node is in the forest
  int64_t first_leaf_ = 0;
};

constexpr int64_t kMember = 6;

Status ForestReader::read_lists() {
  const auto reals = [&](std::string_view name) -> Result<std::vector<double>> {
    TRY(const ConstantData data, n_.attr_tensor(name));
    TRY(const Tensor values, to_tensor(data));
    std::vector<double> all;
    for (int64_t k = 0; k < values.size(); ++k) all.push_back(values.real(k));
    return all;
  };
  TRY(const ConstantData modes, n_.attr_tensor("nodes_modes"));
  TRY(const Tensor modes_tensor, to_tensor(modes));
  if (modes_tensor.holds_reals()) return invalid_model("attribute 'nodes_modes': expected u8");
  for (int64_t k = 0; k < modes_tensor.size(); ++k) modes_.push_back(modes_tensor.integer(k));
  const std::pair<std::string_view, std::vector<int64_t>*> lists[] = {
      {"nodes_featureids", &features_},   {"nodes_truenodeids", &yes_},
      {"nodes_falsenodeids", &no_},       {"nodes_trueleafs", &yes_is_leaf_},
      {"nodes_falseleafs", &no_is_leaf_}, {"nodes_missing_value_tracks_true", &nan_}};
  for (const auto& [name, list] : lists) {
    TRY(*list, n_.attr_ints(name));
    if (list == &nan_ && list->empty()) list->assign(modes_.size(), 0);
    if (list->size() != modes_.size()) return wrong_count(name, modes_.size(), list->size());
  }
  n_.has_attr("nodes_hitrates");
  TRY(splits_, reals("nodes_splits"));
  TRY(weights_, reals("leaf_weights"));
  TRY(targets_, n_.attr_ints("leaf_targetids"));
  if (splits_.size() != modes_.size()) {
    return wrong_count("nodes_splits", modes_.size(), splits_.size());
  }
  if (targets_.size() != weights_.size()) {
    return wrong_count("leaf_targetids", weights_.size(), targets_.size());
  }
  if (n_.has_attr("membership_values")) {
    TRY(const std::vector<double> members, reals("membership_values"));
    members_.emplace_back();
    for (const double member : members) {
      if (std::isnan(member)) {
        members_.emplace_back();
      } else {
        members_.back().push_back(member);
      }
    }
  }
  return ok();
}

Result<int64_t> ForestReader::child(size_t node, bool yes) const {
  const int64_t id = yes ? yes_[node] : no_[node];
  const bool is_leaf = (yes ? yes_is_leaf_[node] : no_is_leaf_[node]) != 0;
  const auto count = static_cast<int64_t>(is_leaf ? weights_.size() : places_.size());
  if (id < 0 || id >= count) {
    return invalid_model("node ", node, ": there is no ", is_leaf ? "leaf " : "node ", id);
  }
  return is_leaf ? first_leaf_ + id : places_[static_cast<size_t>(id)];
}

Result<Forest> ForestReader::read() {
  TRY_STATUS(read_lists());
  Forest forest;
  std::vector<std::vector<double>> values;  // of each node: the number, or members of its set
  size_t sets = 0;
  for (size_t k = 0; k < modes_.size(); ++k) {
    if (modes_[k] < 0 || modes_[k] > kMember) {
      return invalid_model("attribute 'nodes_modes': expected 0 to 6, got ", modes_[k]);
    }
    values.push_back({splits_[k]});
    if (modes_[k] == kMember) {
      if (sets >= members_.size() || members_[sets].empty()) {
        return invalid_model("node ", k, ": its set has no members");
      }
      values.back() = members_[sets++];
    }
    places_.push_back(first_leaf_);
    first_leaf_ += static_cast<int64_t>(values.back().size());
  }
  for (size_t k = 0; k < modes_.size(); ++k) {
    TRY(const int64_t yes, child(k, true));
    TRY(const int64_t no, child(k, false));
    for (size_t m = 0; m < values[k].size(); ++m) {
      const bool last = m + 1 == values[k].size();
      const auto next = places_[k] + static_cast<int64_t>(m) + 1;
      forest.nodes.push_back(
          {.feature = features_[k],
           .branch = modes_[k] == kMember ? Branch::eq : static_cast<Branch>(modes_[k]),
           .value = values[k][m],
           .nan_is_true = nan_[k] != 0,
           .yes = yes,
           .no = last ? no : next});
    }
  }
  forest.weights.resize(forest.nodes.size());
  for (size_t k = 0; k < weights_.size(); ++k) {
    forest.nodes.push_back({.is_leaf = true});
    forest.weights.push_back({{targets_[k], weights_[k]}});
  }
  TRY(const std::vector<int64_t> roots, n_.attr_ints("tree_roots"));
  for (const int64_t root : roots) {
    if (root < 0 || root >= static_cast<int64_t>(places_.size())) {
      return invalid_model("attribute 'tree_roots': there is no node ", root);
    }
    forest.roots.push_back(places_[static_cast<size_t>(root)]);
  }
  TRY(forest.targets, n_.attr_int("n_targets", 1));
  return forest;
}

/// Source: ONNX TreeEnsemble-5.
Result<ValueIds> tree_ensemble(OpContext& n) {
  const DType held = n.dtype(n.in(0));
  TRY(const ValueId x, feature_rows(n));
  TRY(const Forest forest, ForestReader(n).read());
  TRY(const int64_t how, n.attr_int("aggregate_function", 1));
  TRY(const int64_t post, n.attr_int("post_transform", 0));
  if (how < 0 || how > 3 || post < 0 || post > 4) {
    return invalid_model(
        "expected an aggregate_function from 0 to 3 and a post_transform from 0 "
        "to 4, got ",
        how, " and ", post);
  }
  TRY(const ValueId scores, apply_forest(n, forest, x, static_cast<Aggregate>(how)));
  TRY(const ValueId y, post_transformed(n, scores, static_cast<PostTransform>(post)));
  return only(n.cast(y, held));
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, 1, 1, tree_ensemble},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, 1, 1, tree_classifier},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, 1, 1, tree_regressor},
};

}  // namespace

std::span<const OpRow> ml_tree_rows() {
  return kRows;
}

}  // namespace ingot::onnx
