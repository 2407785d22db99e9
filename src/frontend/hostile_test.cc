// frontend/hostile_test.cc: damaged and malicious models end in an Error, never in a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "frontend/import.h"
#include "frontend/test_model.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::HasSubstr;

Result<ImportedModel> import(std::string_view bytes) {
  return import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx");
}

/// A model that uses most of the format: functions, subgraphs, shape arithmetic, every attribute.
std::string rich_model() {
  const std::string branch = graph({.nodes = {node("Neg", {"r"}, {"n"})},
                                    .initializers = {},
                                    .inputs = {},
                                    .outputs = {Message().text(1, "n").bytes},
                                    .value_infos = {}});
  const std::string twice =
      function("twice", {"a"}, {"r"}, {node("Elu", {"a"}, {"r"}, {attr_ref("alpha", "k", 1)})},
               {attr_float("k", 2)});
  GraphParts parts;
  parts.inputs = {value_info("x", 1, {"batch", 3, "h", 8})};
  parts.outputs = {value_info("y", 1, {"batch", ""})};
  parts.value_infos = {value_info("c", 1, {"batch", 4, "", ""})};
  parts.initializers = {floats("w", {4, 3, 1, 1}, std::vector<float>(12, 0.5F)),
                        int64s("minus", {-1}),
                        int64s("zero", {0}),
                        int64s("starts", {0, 1}),
                        int64s("ends", {2, 1000}),
                        raw_tensor("yes", 9, {}, "\x01")};
  parts.nodes = {
      node("Conv", {"x", "w"}, {"c"},
           {attr_ints("strides", {1, 2}), attr_text("auto_pad", "VALID")}),
      node("twice", {"c"}, {"r"}, {attr_float("k", 0.5F)}, "call", "f"),
      node("If", {"yes"}, {"n"},
           {attr_graph("then_branch", branch), attr_graph("else_branch", branch)}),
      node("Slice", {"n", "starts", "ends"}, {"s"}),
      node("MaxPool", {"n"}, {"p"}, {attr_ints("kernel_shape", {2, 2}), attr_int("ceil_mode", 1)}),
      node("Shape", {"p"}, {"sh"}),
      node("Gather", {"sh", "zero"}, {"b"}),
      node("Concat", {"b", "minus"}, {"t"}, {attr_int("axis", 0)}),
      node("Reshape", {"p", "t"}, {"flat"}),
      node("Softmax", {"flat"}, {"y"}),
      node("Mystery", {"s"}, {"unused"})};
  return model(parts, 17, {twice}, {opset("f", 1)});
}

TEST(Hostile, TheModelItselfIsFine) {
  auto imported = import(rich_model());
  ASSERT_TRUE(imported) << to_text(imported.error());
}

TEST(Hostile, TruncatedAnywhere) {
  const std::string whole = rich_model();
  for (size_t k = 0; k < 64; ++k) {
    auto imported = import(std::string_view(whole).substr(0, whole.size() * k / 64));
    if (imported) continue;
    EXPECT_THAT(to_text(imported.error()), HasSubstr("m.onnx: ")) << k;
  }
}

TEST(Hostile, FlippedBits) {
  const std::string whole = rich_model();
  Random rng(2026);
  int failed = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    const int64_t flips = rng.range(1, 4);
    for (int64_t k = 0; k < flips; ++k) {
      char& byte = bytes[static_cast<size_t>(rng.range(0, static_cast<int64_t>(bytes.size()) - 1))];
      byte = static_cast<char>(byte ^ (1 << rng.range(0, 7)));
    }
    auto imported = import(bytes);
    if (imported) continue;
    ++failed;
    EXPECT_NE(imported.error().code, Code::kInternal) << to_text(imported.error());
  }
  EXPECT_GT(failed, 0);
}

TEST(Hostile, NamesThatWouldBreakText) {
  const Strings names = {"a\nb",
                         "\"quoted\"",
                         "*/ evil /*",
                         std::string("nul\0byte", 8),
                         std::string(100000, 'x'),
                         "\\",
                         "%s%n",
                         "\xff\xfe",
                         "a b",
                         "//"};
  for (const std::string& name : names) {
    GraphParts parts;
    parts.inputs = {value_info(name, 1, {name, ""})};
    parts.outputs = {value_info(name + "y", 1, {name, 3})};
    parts.nodes = {node("Relu", {name}, {name + "y"}, {}, name)};
    auto imported = import(model(parts));
    ASSERT_TRUE(imported) << to_text(imported.error());
    parts.nodes = {node(name, {name}, {name + "y"}, {}, name)};
    auto placeholder = import(model(parts));
    ASSERT_TRUE(placeholder) << to_text(placeholder.error());
    EXPECT_EQ(placeholder->summary.unsupported.size(), 1u);
    EXPECT_LT(to_text(placeholder->summary).size(), 4000u);
  }
}

TEST(Hostile, EnormousShapesCostNothing) {
  GraphParts parts;
  parts.outputs = {Message().text(1, "y").bytes};
  parts.initializers = {int64s("dims", {1'000'000, 1'000'000})};
  parts.nodes = {node("ConstantOfShape", {"dims"}, {"y"})};
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());

  parts.initializers = {int64s("dims", {2'000'000'000, 2'000'000'000, 2'000'000'000})};
  EXPECT_FALSE(import(model(parts)));
  parts.initializers = {int64s("dims", {int64_t{1} << 40})};
  EXPECT_FALSE(import(model(parts)));
  parts.initializers = {int64s("dims", {-5})};
  EXPECT_FALSE(import(model(parts)));

  parts.initializers.clear();
  parts.nodes = {node("Relu", {"x"}, {"y"})};
  parts.inputs = {value_info("x", 1, {int64_t{1} << 40})};
  auto too_large = import(model(parts));
  ASSERT_FALSE(too_large);
  EXPECT_THAT(to_text(too_large.error()), HasSubstr("beyond 2147483647"));
}

TEST(Hostile, LongChains) {
  GraphParts parts;
  parts.inputs = {value_info("x0", 1, {"n"})};
  constexpr int kLength = 20000;
  for (int k = 0; k < kLength; ++k) {
    parts.nodes.push_back(node("Relu", {concat("x", k)}, {concat("x", k + 1)}));
  }
  parts.outputs = {value_info(concat("x", kLength), 1, {"n"})};
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->graph.nodes().size(), static_cast<size_t>(kLength));

  // A dim that is computed by the chain: given up, not followed for ever.
  GraphParts dims = parts;
  dims.inputs = {value_info("x", 1, {"n"})};
  dims.initializers = {int64s("one", {1})};
  dims.nodes = {node("Shape", {"x"}, {"x0"})};
  for (int k = 0; k < kLength; ++k) {
    dims.nodes.push_back(
        node(k % 2 == 0 ? "Mul" : "Add", {concat("x", k), concat("x", k)}, {concat("x", k + 1)}));
  }
  dims.nodes.push_back(node("ConstantOfShape", {concat("x", kLength)}, {"y"}));
  dims.outputs = {Message().text(1, "y").bytes};
  (void)import(model(dims));
}

TEST(Hostile, ManyEmptyFields) {
  // A megabyte of empty nodes is refused at the first one.
  std::string nodes;
  for (int k = 0; k < 500000; ++k) nodes += Message().text(1, "").bytes;
  const std::string bytes = Message().number(1, 8).text(7, nodes).text(8, opset("", 17)).bytes;
  auto imported = import(bytes);
  ASSERT_FALSE(imported);
  EXPECT_THAT(to_text(imported.error()), HasSubstr("which operator"));
}

}  // namespace
}  // namespace ingot
