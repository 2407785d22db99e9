// passes/split_prepare.h: separates what is computed from constants alone.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// A graph in two: what runs once over the constants, and what runs every time.
struct SplitGraph {
  Graph main;      // inputs: the graph's own, then one for each output of `prepare`
  Graph prepare;   // inputs: constants; outputs: values that `main` reads
  std::vector<ConstantData> constants;  // the inputs of `prepare`
  size_t first_prepared = 0;            // number of `main`'s first input that `prepare` makes
};

enum class KeepConstants : uint8_t {
  as_they_are,  // a constant that main reads unchanged stays a constant of main
  prepared,     // every constant of more than one element goes through prepare, so that it can be
                // replaced
};

/// Errors: none; the graph is compact.
SplitGraph split_prepare(const Graph& graph, KeepConstants keep);

}  // namespace ingot
