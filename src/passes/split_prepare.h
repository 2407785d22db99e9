// passes/split_prepare.h: the part of a graph that can be computed before the model runs.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// A graph cut in two. Both share the pool of the original.
struct SplitGraph {
  /// The inputs of the model, then one input per prepared value. Constants that it reads directly
  /// stay constants inside.
  Graph main;
  /// From raw constants, its inputs, to prepared values, its outputs. Holds constants itself only
  /// where they are literals of up to 64 bytes.
  Graph prepare;
  std::vector<ConstantData>
      constants;              // of prepare's inputs, in order; names are the inputs' names
  size_t first_prepared = 0;  // number of main's input that takes prepare's output 0
};

/// What becomes of constants that `main` reads as they are.
enum class KeepConstants : uint8_t {
  in_main,     // they stay constants of main
  in_prepare,  // those above 64 bytes pass through prepare, so that they can be replaced later
};

/// Moves everything that is computed from constants alone into `prepare`. Names of prepared values
/// are unique within the graph and come from the constants' and nodes' names.
SplitGraph split_prepare(const Graph& graph, KeepConstants keep = KeepConstants::in_main);

}  // namespace ingot
