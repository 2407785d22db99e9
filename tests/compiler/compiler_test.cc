// tests/compiler/compiler_test.cc: models in memory, custom operators and failures through the
// public face of the compiler; results are run.
#include "ingot/compiler.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "frontend/test_model.h"
#include "runtime/model.h"

namespace ingot::compiler {
namespace {

namespace t = ingot::testing;

constexpr std::string_view kDomain = "com.example";

/// y = Op(x...) for float inputs of dims [n, 3], and for y if `inner` an Add of x0 behind it.
std::string one_node(std::string_view op, size_t inputs, const t::Strings& attributes = {},
                     bool inner = false) {
  t::GraphParts parts;
  t::Strings names;
  for (size_t k = 0; k < inputs; ++k) {
    names.push_back(concat("x", k));
    parts.inputs.push_back(t::value_info(names.back(), 1, {"n", 3}));
  }
  parts.nodes.push_back(t::node(op, names, {inner ? "inside" : "y"}, attributes, "mine", kDomain));
  if (inner) parts.nodes.push_back(t::node("Add", {"inside", "x0"}, {"y"}));
  parts.outputs.push_back(t::value_info("y", 1, {"", ""}));
  return t::model(parts, 17, {}, {t::opset(kDomain, 1)});
}

/// Compiles models in memory in a folder of their own, and runs them.
class CompilerApi : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made) << to_text(made.error());
    folder.emplace(*std::move(made));
  }
  std::string path(std::string_view name) const { return (folder->path() / name).string(); }

  Outcome compile_bytes(const std::string& model, Options options) const {
    if (options.cxx.empty()) options.cxx = INGOT_TEST_CXX;
    return compile(std::as_bytes(std::span(model)), "test.onnx", path("model.so"), options);
  }

  /// The first output of [2, columns] for inputs of [2, 3].
  Result<std::vector<float>> run(std::vector<std::vector<float>> inputs, int64_t columns = 3,
                                 std::string_view name = "model.so") const {
    TRY(const LoadedModel model, LoadedModel::open(path(name)));
    std::vector<int64_t> dims = {2, 3};
    std::vector<int64_t> output_dims = {2, columns};
    std::vector<ingot_tensor> tensors;
    for (std::vector<float>& input : inputs) tensors.push_back(tensor(input, dims));
    std::vector<float> y(static_cast<size_t>(2 * columns));
    std::vector<ingot_tensor> outputs = {tensor(y, output_dims)};
    TRY_STATUS(model.run(tensors, outputs));
    return y;
  }

  static ingot_tensor tensor(std::vector<float>& values, std::vector<int64_t>& dims) {
    ingot_tensor result = INGOT_INIT(ingot_tensor);
    result.dtype = INGOT_FLOAT32;
    result.rank = static_cast<int32_t>(dims.size());
    result.dims = dims.data();
    result.data = values.data();
    return result;
  }

  std::optional<TempDir> folder;
};

CustomOperator operator_of(std::string name, std::variant<ElementBody, FunctionBody> body) {
  return {.domain = std::string(kDomain), .name = std::move(name), .body = std::move(body)};
}

/// y[i] = sum of row i of x, or an error for negative numbers.
constexpr const char* kRowSum = R"(
#include "ingot/custom.h"
int row_sum(const ingot_custom_tensor* in, int32_t inputs, const ingot_custom_tensor* out,
            int32_t outputs, const char** error) {
  if (inputs != 1 || outputs != 1 || in->rank != 2 || out->dims[1] != 1) return 1;
  const float* x = in->data;
  float* y = out->data;
  for (int64_t i = 0; i < in->dims[0]; ++i) {
    y[i] = 0;
    for (int64_t k = 0; k < in->dims[1]; ++k, ++x) {
      if (*x < 0) {
        *error = "a number below zero";
        return 1;
      }
      y[i] += *x;
    }
  }
  return 0;
}
)";

Inferred infer_row_sum(const CustomNode& node) {
  if (node.inputs[0].dims.size() != 2) return {{}, "expected a matrix"};
  return {{{1, {node.inputs[0].dims[0], "1"}}}};
}

CustomOperator row_sum() {
  CustomOperator op = operator_of("RowSum", FunctionBody{"row_sum", kRowSum});
  op.infer = infer_row_sum;
  return op;
}

TEST_F(CompilerApi, CompilesTheDigits) {
  const Outcome made = compile(INGOT_SOURCE_DIR "/examples/digits/digits.onnx", path("digits.so"));
  ASSERT_TRUE(made) << made.message;
  EXPECT_EQ(made.report.output, path("digits.so"));
  EXPECT_GT(made.report.kernels.size(), 5U);
  EXPECT_GE(made.report.steps, made.report.kernels.size());
  EXPECT_GT(made.report.weight_bytes, 4U * 70'000);
  EXPECT_GT(made.report.seconds_total, made.report.seconds_toolchain);
  const auto model = LoadedModel::open(path("digits.so"));
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_STREQ(model->input(0).name, "image");
}

TEST_F(CompilerApi, AnElementBodyIsFused) {
  const Outcome made =
      compile_bytes(one_node("SquarePlus", 2, {}, true),
                    {.operators = {operator_of("SquarePlus", ElementBody{"p0 * p0 + p1"})}});
  ASSERT_TRUE(made) << made.message;
  EXPECT_EQ(made.report.kernels.size(), 1U);  // one with the Add behind it
  const auto y = run({{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}});
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(*y, (std::vector<float>{12, 26, 42, 60, 80, 102}));  // x0 * x0 + x1 + x0, exact
}

TEST_F(CompilerApi, AnElementBodyKnowsTheAttributes) {
  const auto write = [](const CustomNode& node) {
    return concat("max(p0, 0.0) * ", std::get<double>(node.attributes.at("scale")), " - ",
                  std::get<int64_t>(node.attributes.at("shift")), ".0");
  };
  const Outcome made =
      compile_bytes(one_node("Scaled", 1, {t::attr_float("scale", 2.5F), t::attr_int("shift", 3)}),
                    {.operators = {operator_of("Scaled", ElementBody{write})}});
  ASSERT_TRUE(made) << made.message;
  const auto y = run({{-1, 2, 4, 0, -8, 10}});
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(*y, (std::vector<float>{-3, 2, 7, -3, -3, 22}));
}

TEST_F(CompilerApi, ACFunctionRunsInItsPlace) {
  const Outcome made = compile_bytes(one_node("RowSum", 1, {}, true), {.operators = {row_sum()}});
  ASSERT_TRUE(made) << made.message;
  const auto y = run({{1, 2, 3, 10, 20, 30}});
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(*y, (std::vector<float>{7, 8, 9, 70, 80, 90}));  // its [2, 1] broadcast, plus x
  const auto failed = run({{1, 2, 3, -1, 0, 0}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ingot::Code::kInvalidArgument);
  EXPECT_EQ(failed.error().message, "run: step 'row_sum' of mine: a number below zero");
}

TEST_F(CompilerApi, ACFunctionMayComeAsAnObject) {
  ASSERT_TRUE(write_atomically(folder->path() / "row.c", kRowSum));
  ASSERT_EQ(std::system(concat("cc -O1 -fPIC -I " INGOT_SOURCE_DIR "/include -c ", path("row.c"),
                               " -o ", path("row.o"))
                            .c_str()),
            0);
  CustomOperator op = row_sum();
  op.body = FunctionBody{.function = "row_sum", .object = path("row.o")};
  const Outcome made = compile_bytes(one_node("RowSum", 1), {.operators = {op}});
  ASSERT_TRUE(made) << made.message;
  const auto y = run({{1, 2, 3, 10, 20, 30}}, 1);
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(*y, (std::vector<float>{6, 60}));
}

TEST_F(CompilerApi, ReportsWhatIsWrong) {
  const std::string model = one_node("RowSum", 1);
  const auto refused = [&](const Options& options) {
    const Outcome made = compile_bytes(model, options);
    EXPECT_FALSE(std::filesystem::exists(path("model.so")));
    return std::pair(made.code, made.message);
  };
  Code code = Code::ok;
  std::string message;
  std::tie(code, message) = refused({});
  EXPECT_EQ(code, Code::unsupported);
  EXPECT_NE(message.find("RowSum"), std::string::npos) << message;

  CustomOperator wrong = row_sum();
  wrong.infer = [](const CustomNode&) { return Inferred{{{1, {"nowhere"}}}}; };
  std::tie(code, message) = refused({.operators = {wrong}});
  EXPECT_EQ(code, Code::invalid_model);
  EXPECT_NE(message.find("infer: 'f32[nowhere]': expected dims made of the inputs', got a new one"),
            std::string::npos)
      << message;

  std::tie(code, message) = refused({.operators = {operator_of("RowSum", ElementBody{"p0 +"})}});
  EXPECT_EQ(code, Code::invalid_model);
  EXPECT_NE(message.find("operator 'com.example::RowSum': expression"), std::string::npos)
      << message;

  std::tie(code, message) =
      refused({.operators = {operator_of("RowSum", FunctionBody{"row sum", kRowSum})}});
  EXPECT_EQ(code, Code::invalid_argument);
  EXPECT_EQ(message,
            "operator 'com.example::RowSum': expected the name of a C function, got 'row sum'");

  std::tie(code, message) = refused({.operators = {row_sum(), row_sum()}});
  EXPECT_EQ(code, Code::invalid_argument);
  EXPECT_EQ(message, "operator 'com.example::RowSum': is there twice");

  wrong = row_sum();
  wrong.body = FunctionBody{"absent", kRowSum};
  std::tie(code, message) = refused({.operators = {wrong}});
  EXPECT_EQ(code, Code::toolchain);
  EXPECT_NE(message.find("absent"), std::string::npos) << message;
}

TEST_F(CompilerApi, ChecksItsOptions) {
  const std::string model = one_node("RowSum", 1);
  EXPECT_EQ(compile_bytes(model, {.cpus = {"x86-64-v9"}}).code, Code::invalid_argument);
  EXPECT_EQ(compile_bytes(model, {.dims = {{"n", {5, 2}}}}).message,
            "dims: 'n': expected 0 <= min <= max <= 2147483647, got 5 and 2");
  EXPECT_EQ(compile_bytes(model, {.precision = "bf16"}).code, Code::unsupported);
  EXPECT_EQ(compile_bytes(model, {.cxx = "/no/such/compiler"}).code, Code::toolchain);
  EXPECT_EQ(compile("/no/such/model.onnx", path("model.so")).code, Code::io);
  EXPECT_EQ(compile_bytes("nonsense", {}).code, Code::invalid_model);
}

TEST_F(CompilerApi, ManyThreadsCompileAtOnce) {
  constexpr int kThreads = 4;
  std::vector<Outcome> outcomes(kThreads);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] {
      const std::string model = one_node("Scaled", 1, {}, true);
      Options options;
      options.cxx = INGOT_TEST_CXX;
      options.threads = 2;
      // The last one is told of no operator.
      if (k + 1 < kThreads) {
        options.operators = {operator_of("Scaled", ElementBody{concat("p0 * ", k + 1, ".0")})};
      }
      outcomes[static_cast<size_t>(k)] = compile(std::as_bytes(std::span(model)), "test.onnx",
                                                 path(concat("model", k, ".so")), options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(outcomes.back().code, Code::unsupported);
  for (int k = 0; k + 1 < kThreads; ++k) {
    const Outcome& outcome = outcomes[static_cast<size_t>(k)];
    ASSERT_TRUE(outcome) << outcome.message;
    const auto y = run({{1, 2, 3, 4, 5, 6}}, 3, concat("model", k, ".so"));
    ASSERT_TRUE(y) << to_text(y.error());
    const float f = static_cast<float>(k + 2);  // k + 1 times x, plus x
    EXPECT_EQ(*y, (std::vector<float>{f, 2 * f, 3 * f, 4 * f, 5 * f, 6 * f}));
  }
}

TEST_F(CompilerApi, ABranchThatCannotWorkFailsWhenItIsTaken) {
  // y = -x if c, and otherwise x + a constant of other dims.
  const auto branch = [](const std::string& each) {
    return t::graph({.nodes = {each},
                     .initializers = {t::floats("four", {4}, {1, 2, 3, 4})},
                     .inputs = {},
                     .outputs = {t::Message().text(1, "r").bytes},
                     .value_infos = {}});
  };
  t::GraphParts parts;
  parts.nodes = {
      t::node("If", {"c"}, {"y"},
              {t::attr_graph("then_branch", branch(t::node("Neg", {"x"}, {"r"}))),
               t::attr_graph("else_branch", branch(t::node("Add", {"x", "four"}, {"r"})))})};
  parts.inputs = {t::value_info("x", 1, {3}), t::value_info("c", 9, {})};
  parts.outputs = {t::value_info("y", 1, {3})};
  const Outcome outcome = compile_bytes(t::model(parts, 17), {});
  ASSERT_TRUE(outcome) << outcome.message;
  const auto model = LoadedModel::open(path("model.so"));
  ASSERT_TRUE(model) << to_text(model.error());
  std::vector<float> x = {1, 2, 3}, y(3);
  std::vector<int64_t> dims = {3};
  bool condition = true;
  ingot_tensor c = INGOT_INIT(ingot_tensor);
  c.dtype = INGOT_BOOL;
  c.data = &condition;
  std::vector<ingot_tensor> in = {tensor(x, dims), c}, out = {tensor(y, dims)};
  const Status taken = model->run(in, out);
  ASSERT_TRUE(taken) << to_text(taken.error());
  EXPECT_EQ(y, (std::vector<float>{-1, -2, -3}));
  condition = false;
  const Status failed = model->run(in, out);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ingot::Code::kInvalidArgument);
  EXPECT_NE(to_text(failed.error()).find("shapes [3] and [4] do not broadcast"), std::string::npos)
      << to_text(failed.error());
}

}  // namespace
}  // namespace ingot::compiler
