// passes/epilogue.h: what a template computes behind its sums.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Whether a node only says where elements are: a transpose or a reshape.
bool only_moves(const Node& node);

/// The fewest nodes behind a value that give one value for all that is made of it: one that moves
/// it, or pointwise nodes that read it and each other, with no other reader of what is between.
/// Last the node that gives the value; none if there is no such set.
std::vector<NodeId> next_of_epilogue(const Graph& graph, ValueId value);

/// The last value behind a product's result whose every row is made of the same row of the result:
/// pointwise nodes and reshapes that leave the last dim as it is. The result itself at least.
ValueId end_of_rows(const Graph& graph, ValueId result);

}  // namespace ingot
