// passes/join_regions.cc: finds neighbours that read or make the same, one candidate a tensor.
#include "passes/join_regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/region_body.h"

namespace ingot {
namespace {

/// Regions between two that a search for a path looks at before it gives up.
constexpr size_t kMostBetween = 256;

class Joiner {
 public:
  Joiner(const Graph& graph, const std::vector<bool>& in_memory, const std::vector<bool>& may_join)
      : graph_(graph), in_memory_(in_memory), may_join_(may_join) {}

  std::vector<std::vector<ValueId>> run() {
    if (has_hidden_order()) return {};
    for (NodeId id : graph_.nodes()) {
      for (ValueId output : graph_.node(id).outputs) {
        if (may_join_[output.value]) visit(output);
      }
    }
    std::erase_if(groups_, [](const Group& group) { return group.values.size() < 2; });
    std::vector<std::vector<ValueId>> result;
    for (Group& group : groups_) result.push_back(std::move(group.values));
    return result;
  }

 private:
  struct Group {
    std::vector<ValueId> values;
    size_t nodes;
  };

  /// Whether regions have an order beyond what they read: a state is updated where it lies, and a
  /// symbol that a run finds out is known only from then on.
  bool has_hidden_order() const {
    const bool has_state = std::ranges::any_of(graph_.inputs(), [&](const GraphInput& input) {
      return graph_.type(input.value).is_state();
    });
    bool finds_symbols = false;
    for (size_t k = 0; k < graph_.pool().symbol_count(); ++k) {
      const ExprPool& pool = graph_.pool();
      finds_symbols = finds_symbols || pool.symbol_info(SymbolId(k)).data_dependent;
    }
    return has_state || finds_symbols;
  }

  void visit(ValueId value) {
    const RegionBody region = region_of(graph_, in_memory_, value);
    const AccessProfile profile = profile_of(region);
    if (profile.reductions > 0) return;
    const Exprs& dims = graph_.tensor(value).dims;
    std::vector<size_t> candidates;
    std::vector<ValueId> streams;  // what the region reads once, at its own index
    for (size_t slot = 0; slot < region.inputs.size(); ++slot) {
      const ValueId input = region.inputs[slot];
      if (!graph_.type(input).is_tensor() || graph_.tensor(input).dims != dims) continue;
      if (!profile.same_index(slot)) continue;
      streams.push_back(input);
      for (const std::map<ValueId, size_t>* known : {&group_of_, &last_reader_}) {
        if (const auto at = known->find(input); at != known->end()) {
          candidates.push_back(at->second);
        }
      }
    }
    size_t chosen = groups_.size();
    for (const size_t candidate : candidates) {
      if (!fits(candidate, value, region.members.size())) continue;
      chosen = candidate;
      break;
    }
    if (chosen == groups_.size()) groups_.push_back({{}, 0});
    groups_[chosen].values.push_back(value);
    groups_[chosen].nodes += region.members.size();
    group_of_[value] = chosen;
    for (ValueId stream : streams) last_reader_[stream] = chosen;
  }

  bool fits(size_t candidate, ValueId value, size_t nodes) {
    const Group& group = groups_[candidate];
    return group.nodes + nodes <= size_t{kMostNodes} &&
           graph_.tensor(group.values[0]).dims == graph_.tensor(value).dims &&
           !leads_around(candidate, value);
  }

  /// Whether a path from a group to a value leads through regions outside: then the group cannot
  /// wait for the value. Regions that are joined already count as one.
  bool leads_around(size_t group, ValueId target) {
    const NodeId end = graph_.value(target).producer;
    std::set<ValueId> seen(groups_[group].values.begin(), groups_[group].values.end());
    std::vector<ValueId> work;
    const auto add_readers = [&](ValueId value, bool direct) {
      for (ValueId reader : readers_of(value)) {
        if (direct && reader == target) continue;
        if (seen.insert(reader).second) work.push_back(reader);
      }
    };
    for (ValueId value : groups_[group].values) add_readers(value, true);
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      if (value == target || seen.size() > kMostBetween) return true;
      // What runs later cannot lead there.
      if (const auto joined = group_of_.find(value); joined != group_of_.end()) {
        for (ValueId other : groups_[joined->second].values) add_readers(other, false);
      } else if (graph_.value(value).producer < end) {
        add_readers(value, false);
      }
    }
    return false;
  }

  /// The values in memory that are computed from a value without another one between.
  std::vector<ValueId> readers_of(ValueId value) const {
    std::vector<ValueId> readers, work = {value};
    std::set<ValueId> seen;
    while (!work.empty()) {
      const ValueId at = work.back();
      work.pop_back();
      for (const Use& use : graph_.value(at).uses) {
        for (ValueId output : graph_.node(use.node).outputs) {
          if (!seen.insert(output).second) continue;
          (in_memory_[output.value] ? readers : work).push_back(output);
        }
      }
    }
    return readers;
  }

  const Graph& graph_;
  const std::vector<bool>& in_memory_;
  const std::vector<bool>& may_join_;
  std::vector<Group> groups_;
  std::map<ValueId, size_t> group_of_;
  std::map<ValueId, size_t> last_reader_;  // group of the last region that streams a value
};

}  // namespace

std::vector<std::vector<ValueId>> join_regions(const Graph& graph,
                                               const std::vector<bool>& in_memory,
                                               const std::vector<bool>& may_join) {
  return Joiner(graph, in_memory, may_join).run();
}

}  // namespace ingot
