// tests/compiled/artifact_test.cc: operators that are no kernels (composites, routines, control
// flow) in whole artefacts, against the reference: their derived cases, compiled, loaded and run.
#include <gtest/gtest.h>

#include "ops/registry.h"
#include "tests/compiled/model_runner.h"
#include "tests/op_harness.h"

namespace ingot {
namespace {

constexpr uint64_t kCases = 3;

/// Never compiled: a constant has no inputs, and what is unimplemented is refused.
bool is_compiled(const OpDef& def) {
  return def.name != "constant" && def.name != "unimplemented";
}

bool is_kernel(const OpDef& def) {
  return def.lower != nullptr || def.lower_scatter != nullptr;
}

Result<std::vector<Tensor>> run_artifact(const Graph& graph, std::span<const Tensor> inputs) {
  TRY(const LoadedModel model, compile_and_open(graph));
  TRY(auto outputs, run_model(model, inputs));
  // A second run finds the memory of the first.
  TRY(const auto again, run_model(model, inputs));
  if (!is_same(outputs, again)) return internal_error("the second run gives something else");
  return outputs;
}

TEST(Artifact, RunsWhatIsNoKernel) {
  for (const OpDef* def : all_ops()) {
    if (is_kernel(*def) || !is_compiled(*def)) continue;
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      const auto c = draw_case(*def, seed);
      ASSERT_TRUE(c) << to_text(c.error());
      const auto got = run_artifact(c->graph, c->inputs);
      ASSERT_TRUE(got) << c->label << ": " << to_text(got.error()) << "\n" << to_text(c->graph);
      EXPECT_EQ(compare(*c, *got), "") << c->label;
    }
  }
}

}  // namespace
}  // namespace ingot
