// tests/gpu/graphs_test.cc: random graphs as GPU code, in the emulator and through the GPUs' own
// compilers.
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph_kernels.h"
#include "modes.h"
#include "passes/pass.h"
#include "tests/pass_variants.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

constexpr uint64_t kShapes = 3;

/// A random graph behind the passes of its variant.
struct Case {
  std::string label;
  uint64_t seed;
  RandomGraph random;
  size_t number;
};

struct Cases {
  std::vector<Case> all;
  EmulatedGraphs graphs;
};

/// Two graphs a variant.
Cases& cases() {
  static Cases made = [] {
    Cases cases;
    const std::vector<PassVariant> variants = pass_variants();
    for (uint64_t seed = 0; seed < 2 * variants.size(); ++seed) {
      const PassVariant& variant = variants[seed % variants.size()];
      RandomGraph random = random_graph(seed, {.samples = false, .only_f32 = true});
      Graph optimised = random.graph;
      PassOptions options;
      options.disabled = variant.disabled;
      const auto records = run_passes(optimised, pipeline(), options);
      CHECK(records, records.error());
      const std::string label = concat("seed ", seed, ", ", variant.name);
      const auto number = cases.graphs.add(optimised, label, variant.disabled);
      CHECK(number, number.error());
      cases.all.push_back({label, seed, std::move(random), *number});
    }
    return cases;
  }();
  return made;
}

class EmulatedGraphsTest : public testing::TestWithParam<NamedMode> {};

// The tolerance covers a dozen ops of fp32 rounding each.
TEST_P(EmulatedGraphsTest, GiveTheReference) {
  constexpr double kTolerance = 2e-4;
  const Status built = cases().graphs.build({&GetParam().dialect(), GetParam().check});
  ASSERT_TRUE(built) << to_text(built.error());
  for (const Case& c : cases().all) {
    for (uint64_t shape = 0; shape < kShapes; ++shape) {
      const std::vector<Tensor> inputs = random_inputs(c.random, 100 * c.seed + shape);
      Interpreter interpreter(c.random.graph);
      const auto expected = interpreter.run(inputs);
      ASSERT_TRUE(expected) << to_text(expected.error());
      const auto got = cases().graphs.run(c.number, inputs, interpreter.symbols);
      ASSERT_TRUE(got) << c.label << ": " << to_text(got.error());
      EXPECT_EQ(find_difference(*expected, *got, kTolerance), "") << c.label << ", shape " << shape;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, EmulatedGraphsTest, testing::ValuesIn(kModes), mode_name);

TEST(GraphCompilers, CudaTakesRandomGraphs) {
  const auto source = gpu_source(cases().graphs.kernels(), cuda_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  const Status status = compile_cuda(*source, "sm_90");
  EXPECT_TRUE(status) << to_text(status.error());
}

TEST(GraphCompilers, HipTakesRandomGraphs) {
  const auto source = gpu_source(cases().graphs.kernels(), hip_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  const Status status = compile_hip(*source, "gfx90a");
  EXPECT_TRUE(status) << to_text(status.error());
}

}  // namespace
}  // namespace ingot
