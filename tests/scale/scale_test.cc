// tests/scale/scale_test.cc: models of many nodes and of many functions compile and give what they
// should; many runs in changing shapes leave the memory as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "codegen/compile.h"
#include "frontend/import.h"
#include "frontend/test_model.h"
#include "runtime/model.h"

namespace ingot {
namespace {

namespace t = ingot::testing;

ingot_tensor view(std::vector<float>& values, std::vector<int64_t>& dims) {
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.dtype = INGOT_FLOAT32;
  tensor.rank = static_cast<int32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = values.data();
  return tensor;
}

/// Compiles models in a folder of their own, and runs them on x and y of the same dims.
class Scale : public ::testing::Test {
 protected:
  void compile_model(const std::string& bytes) {
    auto made = TempDir::create();
    ASSERT_TRUE(made) << to_text(made.error());
    folder.emplace(*std::move(made));
    auto imported = import_model_bytes(std::as_bytes(std::span(bytes)), "large.onnx");
    ASSERT_TRUE(imported) << to_text(imported.error());
    CompileOptions options;
    options.target.levels = {host_level()};
    auto toolchain = find_toolchain(INGOT_TEST_CXX);
    ASSERT_TRUE(toolchain) << to_text(toolchain.error());
    options.toolchain = *toolchain;
    const auto path = folder->path() / "model.so";
    const auto report = compile(std::move(imported->graph), path, options);
    ASSERT_TRUE(report) << to_text(report.error());
    auto loaded = LoadedModel::open(path.string());
    ASSERT_TRUE(loaded) << to_text(loaded.error());
    model.emplace(*std::move(loaded));
  }

  std::vector<float> run(std::vector<float> x, std::vector<int64_t> dims) {
    std::vector<float> y(x.size(), NAN);
    std::vector<ingot_tensor> in = {view(x, dims)}, out = {view(y, dims)};
    const Status done = model->run(in, out);
    EXPECT_TRUE(done) << to_text(done.error());
    return y;
  }

  std::optional<TempDir> folder;
  std::optional<LoadedModel> model;
};

/// x + 1 ten thousand times over.
TEST_F(Scale, AChainOfTenThousandNodes) {
  constexpr int kNodes = 10000;
  t::GraphParts parts;
  parts.inputs = {t::value_info("v0", 1, {"n", 1})};
  parts.initializers = {t::floats("one", {1}, {1})};
  for (int k = 0; k < kNodes; ++k) {
    parts.nodes.push_back(t::node("Add", {concat("v", k), "one"}, {concat("v", k + 1)}));
  }
  parts.outputs = {t::value_info(concat("v", kNodes), 1, {"n", 1})};
  compile_model(t::model(parts, 17));
  EXPECT_EQ(run({-10000, 0, 0.5}, {3, 1}), (std::vector<float>{0, 10000, 10000.5}));
}

/// Rows of eight, so that writing a reduction out again looks cheap each time.
TEST_F(Scale, AChainOfReductions) {
  constexpr int kPairs = 200;
  t::GraphParts parts;
  parts.inputs = {t::value_info("v0", 1, {"n", 8})};
  parts.initializers = {t::floats("one", {1}, {1})};
  for (int k = 0; k < kPairs; ++k) {
    const std::string from = concat("v", k), added = concat("a", k), to = concat("v", k + 1);
    parts.nodes.push_back(t::node("Add", {from, "one"}, {added}));
    parts.nodes.push_back(t::node("Softmax", {added}, {to}));
  }
  parts.outputs = {t::value_info(concat("v", kPairs), 1, {"n", 8})};
  compile_model(t::model(parts, 17));
  // A softmax of small differences divides them by 8, so that all become 1 / 8.
  for (const float y : run({0, 1, 2, 3, 4, 5, 6, 7}, {1, 8})) EXPECT_FLOAT_EQ(y, 1.F / 8);
}

TEST_F(Scale, AThousandFunctionsInEachOther) {
  const auto name = [](size_t k) { return concat("f", k); };
  t::Strings functions = {t::function(name(0), {"a"}, {"r"}, {t::node("Abs", {"a"}, {"r"})})};
  for (size_t k = 1; k < 1000; ++k) {
    functions.push_back(t::function(
        name(k), {"a"}, {"r"},
        {t::node(name(k - 1), {"a"}, {"s"}, {}, "", "f"), t::node("Add", {"s", "a"}, {"r"})}));
  }
  t::GraphParts parts;
  parts.inputs = {t::value_info("x", 1, {"n"})};
  parts.nodes = {t::node(name(999), {"x"}, {"y"}, {}, "call", "f")};
  parts.outputs = {t::value_info("y", 1, {"n"})};
  compile_model(t::model(parts, 17, functions, {t::opset("f", 1)}));
  // |x| + 999 x.
  EXPECT_EQ(run({2, -1}, {2}), (std::vector<float>{2000, -998}));
}

/// RssAnon of this process in KiB.
double anonymous_memory() {
  double found = 0;
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return found;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::sscanf(line, "RssAnon: %lf", &found);
  }
  std::fclose(file);
  return found;
}

TEST_F(Scale, FiftyThousandRunsLeaveTheMemoryAsItIs) {
  // 1 / m after the rows' softmax, 1 / n after the columns'; what lies between is in the arena.
  t::GraphParts parts;
  parts.inputs = {t::value_info("x", 1, {"n", "m"})};
  parts.nodes = {t::node("Softmax", {"x"}, {"rows"}, {t::attr_int("axis", 1)}),
                 t::node("Softmax", {"rows"}, {"y"}, {t::attr_int("axis", 0)})};
  parts.outputs = {t::value_info("y", 1, {"n", "m"})};
  compile_model(t::model(parts, 17));
  constexpr int kShapes = 50;
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<std::vector<int64_t>> dims;
  for (int64_t k = 0; k < kShapes; ++k) {
    dims.push_back({1 + k % 7, 1 + 3 * k});
    inputs.emplace_back(static_cast<size_t>(dims.back()[0] * dims.back()[1]), 0.F);
    outputs.push_back(inputs.back());
  }
  double before = 0;
  // The first half touches what there is to touch: stacks, the allocator's pages.
  for (int run = 0; run < 100000; ++run) {
    if (run == 50000) before = anonymous_memory();
    const auto k = static_cast<size_t>(run * 7 % kShapes);
    ingot_tensor in = view(inputs[k], dims[k]), out = view(outputs[k], dims[k]);
    const Status done = model->run({&in, 1}, {&out, 1});
    ASSERT_TRUE(done) << to_text(done.error());
  }
#ifdef INGOT_SANITIZED
  constexpr double kQuarantine = 256 << 10;  // what AddressSanitizer keeps of what was freed
#else
  constexpr double kQuarantine = 0;
#endif
  EXPECT_GT(before, 0);
  EXPECT_LT(anonymous_memory(), 1.01 * before + kQuarantine);
  EXPECT_FLOAT_EQ(outputs[48][0], 1.F / 7);
}

}  // namespace
}  // namespace ingot
