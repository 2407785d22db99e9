// passes/close_regions.h: the graph of `fusion` nodes that decisions about regions lead to.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// What becomes of the ops of a graph.
struct RegionChoice {
  std::vector<bool> in_memory;               // by value; others are computed where they are read
  std::vector<std::vector<ValueId>> joined;  // values in memory that one kernel computes
  std::vector<NodeId> template_of;           // by node: the product whose epilogue it belongs to
};

/// A copy in which every op that becomes a kernel is a `fusion` node, in the graph's order, or
/// later where a joined region waits for its last input.
Graph close_regions(const Graph& graph, const RegionChoice& choice);

}  // namespace ingot
