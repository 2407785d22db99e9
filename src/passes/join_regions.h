// passes/join_regions.h: regions over the same elements become one kernel with several outputs.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Sets of values, each in the graph's order, whose regions one kernel computes in one pass: they
/// have the same dims and no reductions, and each reads what another makes, or a tensor of that
/// size that another reads, at its own index. What stands between two of them depends on neither in
/// a way that would make a circle. Values are numbered as `in_memory`; only those of `may_join`,
/// whose regions are loops, are looked at. Sets of one value are left out.
std::vector<std::vector<ValueId>> join_regions(const Graph& graph,
                                               const std::vector<bool>& in_memory,
                                               const std::vector<bool>& may_join);

}  // namespace ingot
