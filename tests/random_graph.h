// tests/random_graph.h: random graphs of core operators, for tests that compare two ways to run
// one.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ir/graph.h"

namespace ingot {

struct RandomGraphOptions {
  int steps = 14;             // each adds one op or a short idiom of several
  bool symbolic_dims = true;  // the graph's inputs may have the symbols n (1..6) and m (1..4)
  bool samples = true;        // also single ops of all kinds, drawn from `sample`
  bool only_f32 = false;      // no integers or other floats, except as indices
};

struct RandomGraph {
  Graph graph;
  /// What the values of an input must lie in, by number of the input.
  std::map<size_t, std::pair<double, double>> ranges;
};

/// A valid graph that imitates what readers make: channels-first convolutions between transposes,
/// per-channel scales, shape arithmetic, residual sums, softmax, slices, constant sub-graphs, equal
/// nodes, attention and other rows made between two products, products in front of convolutions.
/// The same seed gives the same graph.
RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

/// Inputs for it: a value for each symbol, then values of moderate size.
std::vector<Tensor> random_inputs(const RandomGraph& random, uint64_t seed);

/// Empty if both lists agree within `tolerance` of the largest finite element of a tensor, NaN with
/// NaN and infinity with infinity; otherwise where they first differ. Elements above 1e12 are noise
/// of long products and left out.
std::string find_difference(std::span<const Tensor> expected, std::span<const Tensor> got,
                            double tolerance);

}  // namespace ingot
