// passes/region_body.h: the closed graph of values and what is computed where they are read.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "passes/access.h"

namespace ingot {

/// Nodes of one region: bounds the size of a kernel and the time to write it.
constexpr int kMostNodes = 48;

/// Whether a node updates its first input in place, an element at a time.
inline bool is_scatter(const Node& node) {
  return node.op.def().lower_scatter != nullptr;
}

struct RegionBody {
  Graph body;                   // an output per root; constants of one element are copied into it
  std::vector<ValueId> inputs;  // values in memory, in the order of the body's inputs
  std::vector<NodeId> members;  // nodes copied into it
};

/// The body that computes `roots` from values in memory. `in_memory` is indexed by value.
RegionBody region_of(const Graph& graph, const std::vector<bool>& in_memory,
                     std::span<const ValueId> roots);
RegionBody region_of(const Graph& graph, const std::vector<bool>& in_memory, ValueId root);

/// A region as one op: what an element of its first output costs, and how it reads the inputs. All
/// its nodes have a `lower` hook (CHECK).
AccessProfile profile_of(const RegionBody& region);

}  // namespace ingot
