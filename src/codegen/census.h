// codegen/census.h: what a graph leaves for the run to do, counted for reports.
#pragma once

#include <string>
#include <vector>

#include "codegen/program.h"
#include "ir/graph.h"

namespace ingot {

/// A node for people: its operator, and the model's nodes it stands for.
struct NodeName {
  std::string op;                       // the core operator
  std::vector<std::string> provenance;  // names of the model's nodes
};

/// A size that only a run finds out, and the node that does.
struct RunTimeSize {
  std::string name;
  NodeName node;
};

struct Census {
  size_t nodes = 0;  // bodies' nodes included, constants not
  /// Nodes that compute sizes: integers in at most one dim that depend on dims and constants alone.
  std::vector<NodeName> shape_nodes;
  std::vector<RunTimeSize> sizes;
};

/// Counts a graph and its bodies. Inputs from number `first_constant` on are constants, too.
Census take_census(const Graph& graph, size_t first_constant);

/// What the values of a run take, for one value of each symbol.
struct MemorySample {
  std::vector<std::pair<std::string, int64_t>> dims;
  uint64_t sum = 0;   // of all values: an upper bound of what a run allocates
  uint64_t peak = 0;  // of those that are alive at once: a lower bound
};

struct MemoryCensus {
  /// For the dims at 1, 16, 128 and 1024, within their ranges, without samples that are equal to
  /// others. Sizes that only a run finds out count as 0.
  std::vector<MemorySample> samples;
  /// Bytes of the plan's own values that are alive at once, as a function of the dims: at the step
  /// that is the fullest one of a sample.
  Expr alive;
};

/// The arena of a plan.
MemoryCensus sample_memory(const ProgramPlan& plan);

}  // namespace ingot
