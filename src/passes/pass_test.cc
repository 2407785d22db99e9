// passes/pass_test.cc: the runner, the rule driver, the split; random graphs keep their meaning.
#include "passes/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/registry.h"
#include "ops/transpose.h"
#include "passes/passes.h"
#include "passes/split_prepare.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

using ops::MatMul;
using ops::Pointwise;
using ops::Transpose;

std::string problem(const Status& status) {
  return status ? "" : to_text(status.error());
}

PassOptions verifying() {
  PassOptions options;
  options.verify = true;
  return options;
}

std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs) {
  auto outputs = Interpreter(graph).run(inputs);
  EXPECT_TRUE(outputs) << to_text(outputs.error()) << "\n" << to_text(graph);
  return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

/// Rows before fusion, whose result other tests look at.
std::vector<Pass> graph_passes() {
  std::vector<Pass> passes;
  for (const Pass& pass : pipeline()) {
    if (pass.name != "fuse") passes.push_back(pass);
  }
  return passes;
}

// ---- Runner ------------------------------------------------------------------------------------

TEST(RunPasses, TimesDumpsAndSkips) {
  RandomGraph random = random_graph(1);
  PassOptions options = verifying();
  options.disabled = {"layout"};
  std::vector<std::string> dumped;
  options.after = [&](std::string_view pass, const Graph&) { dumped.emplace_back(pass); };
  const auto records = run_passes(random.graph, graph_passes(), options);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), graph_passes().size());
  for (const PassRecord& record : *records) {
    EXPECT_EQ(record.skipped, record.name == "layout");
    EXPECT_GE(record.seconds, 0);
  }
  EXPECT_EQ(dumped.size(), records->size() - 1);
}

TEST(RunPasses, EveryRowSaysWhy) {
  std::set<std::string_view> names;
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name << " twice";
    EXPECT_FALSE(pass.why_here.empty()) << pass.name;
  }
}

/// The literals behind `before` in this folder's sources.
std::vector<std::string> literals_behind(std::string_view before) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(INGOT_SOURCE_DIR "/src/passes")) {
    if (entry.path().extension() != ".cc" || entry.path().stem() == "pass_test") continue;
    const std::string text = *read_text(entry.path());
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      const size_t begin = at + before.size();
      names.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
  }
  return names;
}

// What code asks for but no row names could not be switched off from outside.
TEST(RunPasses, EveryRuleBelongsToARow) {
  const auto known = switch_names();
  EXPECT_EQ(std::set(known.begin(), known.end()).size(), known.size());
  for (const char* before : {"Rule{\"", "is_enabled(\""}) {
    const auto names = literals_behind(before);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
      EXPECT_NE(std::ranges::find(known, name), known.end()) << name;
    }
  }
}

TEST(RunPasses, UnknownNamesAreRefused) {
  EXPECT_TRUE(check_switch_names("--disable-pass", {"cse", "fuse_pointwise", "drop_pad"}));
  EXPECT_TRUE(check_pass_names("--dump-after", {"cse", "fuse"}));
  EXPECT_EQ(problem(check_pass_names("--dump-after", {"cse", "fuse_pointwise"}))
                .find("--dump-after: expected one of the passes dead_code, canonicalize, "),
            0u);
  const std::string text = problem(check_switch_names("--disable-pass", {"cze"}));
  EXPECT_NE(text.find("fuse_reductions"), std::string::npos) << text;
  EXPECT_NE(text.find("got 'cze'"), std::string::npos) << text;
}

TEST(RunPassesDeathTest, RefusesAChangedOutput) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{DType::f32, {g.pool().integer(2)}});
  g.set_outputs({{"y", x}});
  const Pass bad{"bad",
                 [](Graph& graph, const PassContext&) {
                   const ValueId other = graph.add_input("o", TensorType{DType::i64, {}});
                   graph.set_outputs({{"y", other}});
                 },
                 ""};
  EXPECT_DEATH((void)run_passes(g, std::span(&bad, 1)), "bad: changed output 'y' from f32");
}

TEST(Rules, CanBeSwitchedOff) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{DType::f32, {g.pool().integer(2)}});
  g.set_outputs({{"y", g.must_add(Transpose{{0}}, {x})}});
  PassOptions options = verifying();
  options.disabled = {"drop_transpose"};
  const Pass pass{"canonicalize", canonicalize, ""};
  ASSERT_TRUE(run_passes(g, std::span(&pass, 1), options));
  EXPECT_EQ(g.node_count(), 1u);
  ASSERT_TRUE(run_passes(g, std::span(&pass, 1), verifying()));
  EXPECT_EQ(g.node_count(), 0u);
}

TEST(Rules, EndThoughTheyNeverAgree) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{DType::f32, {g.pool().integer(2)}});
  g.set_outputs({{"y", g.must_add(Transpose{{0}}, {x})}});
  const Rule again{"again",
                   [](Rewriter& r, NodeId root) -> std::optional<ValueId> {
                     return r.add_ref(r.node(root).op, r.node(root).inputs);
                   },
                   ""};
  std::vector<std::string> notes;
  const PassContext context(nullptr, &notes, nullptr);
  EXPECT_EQ(apply_rules(g, std::span(&again, 1), context), 1100u);
  ASSERT_EQ(notes.size(), 1u);
}

TEST(Rules, CarryProvenance) {
  Graph g;
  const ValueId x = g.add_input(
      "x", TensorType{DType::f32, {g.pool().integer(2), g.pool().integer(2), g.pool().integer(2)}});
  const ValueId a = g.must_add(Transpose{{1, 0, 2}}, {x}, {"first"});
  g.set_outputs({{"y", g.must_add(Transpose{{0, 2, 1}}, {a}, {"second"})}});
  canonicalize(g, PassContext());
  g.compact();
  ASSERT_EQ(g.node_count(), 1u);
  EXPECT_EQ(g.node(NodeId(0)).provenance, (std::vector<std::string>{"second", "first"}));
}

// ---- Preparation -------------------------------------------------------------------------------

TEST(SplitPrepare, MovesWhatIsConstant) {
  Graph g;
  g.name = "net";
  const ValueId x =
      g.add_input("x", TensorType{DType::f32, {g.pool().symbol("n"), g.pool().integer(8)}});
  Tensor weights(DType::f32, {8, 4});
  for (int64_t k = 0; k < 32; ++k) weights.set_real(k, static_cast<double>(k));
  const ValueId w = g.add_constant(to_constant(weights), "fc.weight");
  Tensor raw(DType::f32, {4});
  const ValueId b = g.add_constant(to_constant(raw), "fc.bias");
  const Expr p0 = g.pool().param(0, DType::f32);
  const Expr p1 = g.pool().param(1, DType::f32);
  const ValueId doubled = g.must_add(Pointwise{p0 * g.pool().real(2), DType::f32}, {w}, {"scale"});
  const ValueId y = g.must_add(MatMul{}, {x, doubled}, {"fc"});
  g.set_outputs({{"y", g.must_add(Pointwise{p0 + p1, DType::f32}, {y, b})}});

  const SplitGraph split = split_prepare(g);
  EXPECT_EQ(problem(verify(split.main)), "");
  EXPECT_EQ(problem(verify(split.prepare)), "");
  EXPECT_EQ(to_text(split.main),
            "graph \"net\" {\n"
            "  symbols: n in 0..2147483647\n"
            "  input %0 \"x\": f32[n, 8]\n"
            "  input %1 \"scale.pointwise\": f32[8, 4]\n"
            "  %2 = matmul(%0, %1; packed=false): f32[n, 4] from \"fc\"\n"
            "  %3 \"fc.bias\" = constant(; data=f32[4]{0.0, 0.0, 0.0, 0.0}): f32[4]\n"
            "  %4 = pointwise(%2, %3; value=`|p0: f32, p1: f32| p0 + p1`, dtype=f32): f32[n, 4]\n"
            "  output %4 \"y\"\n"
            "}\n");
  EXPECT_EQ(
      to_text(split.prepare),
      "graph \"net.prepare\" {\n"
      "  input %0 \"fc.weight\": f32[8, 4]\n"
      "  %1 = pointwise(%0; value=`|p0: f32| p0 * 2.0`, dtype=f32): f32[8, 4] from \"scale\"\n"
      "  output %1 \"scale.pointwise\"\n"
      "}\n");
  EXPECT_EQ(split.first_prepared, 1u);
  ASSERT_EQ(split.constants.size(), 1u);
  EXPECT_EQ(split.constants[0], to_constant(weights));
}

/// Runs prepare on the constants and main on the inputs and what it gave.
std::vector<Tensor> run_split(const SplitGraph& split, std::vector<Tensor> inputs) {
  std::vector<Tensor> constants;
  for (const ConstantData& data : split.constants) constants.push_back(*to_tensor(data));
  for (Tensor& value : run(split.prepare, constants)) inputs.push_back(std::move(value));
  return run(split.main, inputs);
}

// ---- Properties --------------------------------------------------------------------------------

// Folding rounds intermediate constants to f32 and sums are taken in another order; a chain of a
// dozen ops amplifies 6e-8 by some factor.
constexpr double kTolerance = 2e-4;

class RandomGraphs : public testing::TestWithParam<Pass> {};

TEST_P(RandomGraphs, KeepTheirMeaningAndAreDoneOnce) {
  const Pass pass = GetParam();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomGraph random = random_graph(seed);
    ASSERT_EQ(problem(verify(random.graph)), "") << "seed " << seed;
    const auto inputs = random_inputs(random, seed + 1000);
    const auto expected = run(random.graph, inputs);
    const std::string text = to_text(random.graph);
    auto records = run_passes(random.graph, std::span(&pass, 1), verifying());
    ASSERT_TRUE(records) << to_text(records.error());
    const auto got = run(random.graph, inputs);
    ASSERT_EQ(find_difference(expected, got, kTolerance), "") << "seed " << seed << "\n"
                                                              << text << to_text(random.graph);
    const std::string once = to_text(random.graph);
    ASSERT_TRUE(run_passes(random.graph, std::span(&pass, 1), verifying()));
    ASSERT_EQ(to_text(random.graph), once) << "seed " << seed << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, RandomGraphs, testing::ValuesIn(graph_passes()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(RandomGraphs, KeepTheirMeaningThroughThePipeline) {
  for (uint64_t seed = 100; seed < 300; ++seed) {
    RandomGraph random = random_graph(seed, {.steps = 20});
    const auto inputs = random_inputs(random, seed);
    const auto expected = run(random.graph, inputs);
    const std::string text = to_text(random.graph);
    auto records = run_passes(random.graph, graph_passes(), verifying());
    ASSERT_TRUE(records) << to_text(records.error());
    ASSERT_EQ(find_difference(expected, run(random.graph, inputs), kTolerance), "")
        << "seed " << seed << "\n"
        << text << to_text(random.graph);
    const SplitGraph split = split_prepare(random.graph);
    ASSERT_EQ(problem(verify(split.main)), "");
    ASSERT_EQ(problem(verify(split.prepare)), "");
    ASSERT_EQ(find_difference(expected, run_split(split, inputs), kTolerance), "") << seed;
  }
}

TEST(RandomGraphs, PrintAndReadBack) {
  for (uint64_t seed = 300; seed < 360; ++seed) {
    const RandomGraph random = random_graph(seed);
    std::map<std::string, ConstantData, std::less<>> constants;
    for (const NodeId id : random.graph.nodes()) {
      const auto* op = random.graph.node(id).op.as<Constant>();
      if (op != nullptr) constants[content_hash(op->data)] = op->data;
    }
    const std::string text = to_text(random.graph);
    const auto back = parse_graph(text, find_op, [&](std::string_view hash) {
      const auto found = constants.find(hash);
      return found == constants.end() ? std::nullopt : std::optional(found->second);
    });
    ASSERT_TRUE(back) << to_text(back.error()) << "\n" << text;
    ASSERT_EQ(to_text(*back), text);
  }
}

// ---- Size --------------------------------------------------------------------------------------

/// A chain of transposed, scaled, repeated ops, as deep as `steps`.
Graph deep_graph(int64_t steps) {
  Graph g;
  ExprPool& pool = g.pool();
  ValueId v = g.add_input(
      "x", TensorType{DType::f32, {pool.symbol("n"), pool.integer(4), pool.integer(6)}});
  Tensor scale(DType::f32, {4, 1});
  for (int64_t k = 0; k < 4; ++k) scale.set_real(k, 1 + static_cast<double>(k));
  const Expr p0 = pool.param(0, DType::f32);
  const Expr p1 = pool.param(1, DType::f32);
  for (int64_t k = 0; k < steps; ++k) {
    const ValueId a = g.must_add(Transpose{{0, 2, 1}}, {v}, {concat("t", k)});
    const ValueId b =
        g.must_add(Pointwise{max(p0, pool.real(0)), DType::f32}, {a}, {concat("r", k)});
    const ValueId c = g.must_add(Transpose{{0, 2, 1}}, {b}, {concat("u", k)});
    const ValueId w = g.add_constant(to_constant(scale));
    v = g.must_add(Pointwise{p0 * p1 + p0, DType::f32}, {c, w}, {concat("m", k)});
  }
  g.set_outputs({{"y", v}});
  return g;
}

TEST(Pipeline, TakesDeepGraphs) {
  Graph g = deep_graph(2500);  // 10,000 nodes that run
  const auto records = run_passes(g, graph_passes(), {});
  ASSERT_TRUE(records);
  // Every pair of transposes cancels, and the two pointwise ops of a step stay.
  EXPECT_EQ(g.node_count(), 2u * 2500 + 1);
}

}  // namespace
}  // namespace ingot
