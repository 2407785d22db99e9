// tests/compiled/compiled_test.cc: generated C++ against the reference: every operator's derived
// cases and random graphs, at every instruction set level that this machine runs.
#include <gtest/gtest.h>

#include "base/text.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "tests/compiled/plan_runner.h"
#include "tests/op_harness.h"
#include "tests/pass_variants.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

constexpr uint64_t kCases = 10;
constexpr uint64_t kGraphs = 2;  // a variant of the passes
constexpr uint64_t kShapes = 4;  // a graph

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> all;
  for (const CpuLevelInfo& row : kCpuLevels) {
    if (row.level <= host_level()) all.push_back(row.level);
  }
  return all;
}

/// Types that kernels can hold.
bool is_held(const Type& type) {
  if (type.is_container()) return false;
  const DType dtype = type.is_tensor() ? type.tensor.dtype : type.state.dtype;
  return dtype == DType::b8 || (is_int(dtype) && bits(dtype) >= 8) || dtype == DType::f64 ||
         dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

class Compiled : public testing::TestWithParam<CpuLevel> {};

INSTANTIATE_TEST_SUITE_P(Levels, Compiled, testing::ValuesIn(levels()), [](const auto& info) {
  return std::string(ingot::info(info.param).prelude_namespace);
});

TEST_P(Compiled, EveryOperatorGivesTheReference) {
  PlanBatch batch;
  std::vector<std::pair<OpCase, size_t>> cases;
  size_t drawn = 0;
  for (const OpDef* def : all_ops()) {
    // Composites, routines and control flow run in whole artefacts: artifact_test.cc.
    if (def->lower == nullptr && def->lower_scatter == nullptr) continue;
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      auto c = draw_case(*def, seed);
      ASSERT_TRUE(c) << to_text(c.error());
      ++drawn;
      std::vector<Type> types = c->input_types();
      bool held = true;
      for (const GraphOutput& output : c->graph.outputs()) {
        types.push_back(c->graph.type(output.value));
      }
      for (size_t k = 0; k < types.size(); ++k) {
        const bool present = k >= c->present().size() || c->present()[k];
        held &= !present || is_held(types[k]);
      }
      if (!held) continue;
      auto number = batch.add(c->graph);
      ASSERT_TRUE(number) << c->label << ": " << to_text(number.error());
      cases.emplace_back(std::move(*c), *number);
    }
  }
  const Status built = batch.build(GetParam());
  ASSERT_TRUE(built) << to_text(built.error());
  for (const auto& [c, number] : cases) {
    auto got = batch.run(number, c.inputs, c.symbols);
    ASSERT_TRUE(got) << c.label << ": " << to_text(got.error()) << to_text(c.graph);
    EXPECT_EQ(compare(c, *got), "") << c.label;
  }
  // Most draws are of types that kernels hold: the loop above must not be vacuous.
  EXPECT_GT(cases.size(), drawn / 2);
}

// Whole graphs with each pass on and off, one library of all and several shapes through it; the
// tolerance covers a dozen ops of fp32 rounding each.
TEST_P(Compiled, RandomGraphsGiveTheReference) {
  constexpr double kTolerance = 2e-4;
  PlanBatch batch;
  struct Case {
    std::string label;
    uint64_t seed;
    RandomGraph random;
    size_t number;
  };
  std::vector<Case> cases;
  int chains = 0;
  const std::vector<PassVariant> variants = pass_variants();
  for (uint64_t seed = 0; seed < kGraphs * variants.size(); ++seed) {
    const PassVariant& variant = variants[seed % variants.size()];
    RandomGraph random = random_graph(seed, {.samples = false, .only_f32 = true});
    Graph optimised = random.graph;
    PassOptions options;
    options.disabled = variant.disabled;
    options.verify = true;
    auto records = run_passes(optimised, pipeline(), options);
    ASSERT_TRUE(records) << to_text(records.error());
    auto number = batch.add(optimised, variant.disabled);
    ASSERT_TRUE(number) << to_text(number.error());
    chains += batch.chains(*number);
    cases.push_back({concat("seed ", seed, ", ", variant.name), seed, std::move(random), *number});
  }
  // Graphs hold what two products in one kernel are for, in nearly every variant.
  EXPECT_GT(chains, static_cast<int>(variants.size()));
  const Status built = batch.build(GetParam());
  ASSERT_TRUE(built) << to_text(built.error());
  for (const Case& c : cases) {
    for (uint64_t shape = 0; shape < kShapes; ++shape) {
      const std::vector<Tensor> inputs = random_inputs(c.random, 100 * c.seed + shape);
      Interpreter interpreter(c.random.graph);
      auto expected = interpreter.run(inputs);
      ASSERT_TRUE(expected) << to_text(expected.error());
      auto got = batch.run(c.number, inputs, interpreter.symbols);
      ASSERT_TRUE(got) << c.label << ": " << to_text(got.error());
      EXPECT_EQ(find_difference(*expected, *got, kTolerance), "") << c.label << ", shape " << shape;
    }
  }
}

}  // namespace
}  // namespace ingot
