// tests/gpu/graph_kernels.h: whole graphs in the emulator, one region after the other.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "kernel_case.h"

namespace ingot {

/// Graphs whose regions are compiled together. It stays where it was made.
class EmulatedGraphs {
 public:
  /// Closes the regions of a graph that came through the pipeline; its number.
  /// Errors: unsupported for routines, which are no kernels.
  Result<size_t> add(const Graph& graph, std::string_view label,
                     const std::set<std::string, std::less<>>& disabled);

  /// The kernels of all graphs added so far.
  const std::vector<KernelCase>& kernels() const { return kernels_; }

  /// Compiles them; may be called again for another mode. Errors: of the emitter, of the compiler.
  Status build(EmulatedMode mode);

  /// Runs graph `number`, whose inputs and outputs are tensors: each kernel reads what those before
  /// it wrote. Errors: what the emulator reported.
  Result<std::vector<Tensor>> run(size_t number, std::span<const Tensor> inputs,
                                  std::span<const int64_t> symbols) const;

 private:
  struct Program {
    Graph graph;                       // of fusions and constants
    std::map<NodeId, size_t> kernels;  // numbers in kernels_
  };
  std::deque<Program> programs_;
  std::vector<KernelCase> kernels_;
  std::optional<EmulatedBatch> batch_;
};

}  // namespace ingot
