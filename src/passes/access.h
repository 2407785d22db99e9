// passes/access.h: how an op reads its inputs, found by asking its `lower` for one element.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// One way in which an element of the output reads an input.
struct Access {
  size_t input = 0;
  Exprs index;           // over the output's loop variables and reduction variables
  bool reduced = false;  // depends on a reduction's variable
  /// Each element of the input is read at most once over the whole output (or once per reduction
  /// that is shared by all outputs that need it).
  bool single_pass = true;
  bool repeated = false;  // outside reductions: several elements of the output read the same one
};

/// What one output element of a node costs and reads.
struct AccessProfile {
  std::vector<Access> accesses;  // distinct
  Exprs index;                   // the output's loop variables
  Expr element;
  int reductions = 0;  // reduce nodes
  int depth = 0;       // deepest nesting of reductions inside each other's bodies
  int operations = 0;  // arithmetic besides the loads
  bool transcendental = false;

  int passes_over(size_t input) const;   // number of accesses
  bool single_pass(size_t input) const;  // all of them
  bool reduced(size_t input) const;      // any of them inside a reduction
  bool repeated(size_t input) const;     // any of them
  /// The input is read at the output's own index alone.
  bool same_index(size_t input) const;
};

/// Profile of output `port` of a node with a `lower` hook (CHECK).
AccessProfile profile_of(const Graph& graph, NodeId node, size_t port = 0);

/// Deepest nesting of reductions where an inner one depends on the outer one's variable.
int reduction_depth(Expr root);

}  // namespace ingot
