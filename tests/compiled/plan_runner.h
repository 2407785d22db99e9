// tests/compiled/plan_runner.h: runs planned programs without an artefact, many in one library, so
// that hundreds of generated kernels are compiled and tested in seconds.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "codegen/program.h"
#include "codegen/toolchain.h"
#include "ir/graph.h"
#include "target/target.h"

namespace ingot {

/// Graphs whose kernels are compiled together for one level.
class PlanBatch {
 public:
  /// Plans a graph after the closing passes; its number. Errors: unsupported for routines, which
  /// need an artefact.
  Result<size_t> add(const Graph& graph, const std::set<std::string, std::less<>>& disabled = {});

  /// Compiles and loads everything added so far. Errors: toolchain with the compiler's words.
  Status build(CpuLevel level);

  /// Runs graph `number`: inputs and outputs as planes. Work units run in `pieces` calls, the last
  /// one first; every buffer is surrounded by guard bytes and outputs start as NaN patterns.
  Result<std::vector<Tensor>> run(size_t number, std::span<const Tensor> inputs,
                                  std::span<const int64_t> symbols, int pieces = 3) const;

  /// Kernels of graph `number` around a product or convolution.
  int templates(size_t number) const;

  /// Kernels of graph `number` that hold several products and convolutions.
  int chains(size_t number) const;

  /// Work units of that of templates(number) which has the fewest.
  int64_t fewest_units(size_t number, std::span<const int64_t> symbols = {}) const;

  ~PlanBatch();

 private:
  std::deque<ProgramPlan> plans_;
  std::optional<TempDir> directory_;
  void* library_ = nullptr;
  std::vector<std::vector<void*>> kernels_;  // by graph
};

}  // namespace ingot
