// frontend/import_test.cc: whole models, written by hand: what is built, and what is refused.
#include "frontend/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "frontend/test_model.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Result<ImportedModel> import(const std::string& bytes, const ImportOptions& options = {}) {
  return import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx", options);
}

std::string failure(const std::string& bytes, const ImportOptions& options = {}) {
  auto imported = import(bytes, options);
  return imported ? "no error" : to_text(imported.error());
}

std::vector<double> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto outputs = Interpreter(graph).run(inputs);
  if (!outputs) {
    ADD_FAILURE() << to_text(outputs.error());
    return {};
  }
  std::vector<double> values;
  for (int64_t k = 0; k < (*outputs)[0].size(); ++k) values.push_back((*outputs)[0].real(k));
  return values;
}

Tensor floats_of(std::vector<int64_t> dims, const std::vector<double>& values) {
  Tensor tensor(DType::f32, std::move(dims));
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

/// y = relu(x w + b) with w [[1, -1], [2, 0]], b [0.5, 0].
GraphParts mlp() {
  GraphParts parts;
  parts.inputs = {value_info("x", 1, {"batch", 2})};
  parts.outputs = {value_info("y", 1, {"batch", 2})};
  parts.initializers = {floats("w", {2, 2}, {1, -1, 2, 0}), floats("b", {2}, {0.5, 0})};
  parts.nodes = {node("MatMul", {"x", "w"}, {"h"}, {}, "dense"), node("Add", {"h", "b"}, {"s"}),
                 node("Relu", {"s"}, {"y"})};
  return parts;
}

GraphParts one_node(const std::string& bytes) {
  return {.nodes = {bytes},
          .initializers = {},
          .inputs = {value_info("x", 1, {2, 3})},
          .outputs = {Message().text(1, "y").bytes},
          .value_infos = {}};
}

TEST(Import, Mlp) {
  auto imported = import(model(mlp()));
  ASSERT_TRUE(imported) << to_text(imported.error());
  const Graph& graph = imported->graph;
  EXPECT_EQ(to_text(graph.type(graph.outputs()[0].value)), "f32[batch, 2]");
  EXPECT_THAT(run(graph, {floats_of({1, 2}, {1, 1})}), ElementsAre(3.5, 0));
  EXPECT_EQ(imported->summary.parameters, 6);
  EXPECT_THAT(imported->summary.unsupported, IsEmpty());
  EXPECT_THAT(to_text(imported->summary), HasSubstr("operator: MatMul (opset 17) x 1"));
}

TEST(Import, NodesInAnyOrder) {
  GraphParts parts = mlp();
  std::swap(parts.nodes[0], parts.nodes[2]);
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(run(imported->graph, {floats_of({1, 2}, {1, 1})}), ElementsAre(3.5, 0));
}

TEST(Import, DimsArePinnedRangedAndNamed) {
  ImportOptions pinned;
  pinned.dims["batch"] = {4, 4};
  auto four = import(model(mlp()), pinned);
  ASSERT_TRUE(four) << to_text(four.error());
  EXPECT_EQ(to_text(four->graph.type(four->graph.outputs()[0].value)), "f32[4, 2]");

  ImportOptions ranged;
  ranged.dims["batch"] = {1, 512};
  auto range = import(model(mlp()), ranged);
  ASSERT_TRUE(range);
  const auto symbol = range->graph.pool().find_symbol("batch");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(std::as_const(range->graph.pool()).symbol_info(*symbol).range, (Range{1, 512}));

  ImportOptions shaped;
  shaped.shapes["x"] = {3, std::nullopt};
  auto three = import(model(mlp()), shaped);
  ASSERT_TRUE(three);
  EXPECT_EQ(to_text(three->graph.type(three->graph.outputs()[0].value)), "f32[3, 2]");

  GraphParts unnamed = mlp();
  unnamed.inputs = {value_info("x", 1, {"", 2})};
  auto named = import(model(unnamed));
  ASSERT_TRUE(named);
  EXPECT_EQ(to_text(named->graph.type(named->graph.inputs()[0].value)), "f32[\"x.0\", 2]");
}

TEST(Import, QuestionMarksNameNoDim) {
  GraphParts parts = one_node(node("Relu", {"x"}, {"y"}));
  parts.inputs = {value_info("x", 1, {"?", "?"})};
  const auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(to_text(imported->graph.type(imported->graph.outputs()[0].value)),
            "f32[\"x.0\", \"x.1\"]");
}

TEST(Import, DimsMayBeFormulas) {
  GraphParts parts = one_node(node("Relu", {"x"}, {"y"}));
  parts.inputs = {value_info("x", 1, {"past + 2*(seq - 1)"}), value_info("z", 1, {"past"})};
  ImportOptions options;
  options.dims["past"] = {5, 5};
  auto imported = import(model(parts), options);
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(to_text(imported->graph.type(imported->graph.inputs()[0].value)), "f32[seq * 2 + 3]");
}

TEST(Import, OptionsMustFit) {
  ImportOptions options;
  options.dims["bathc"] = {1, 1};
  EXPECT_THAT(failure(model(mlp()), options), HasSubstr("no dim 'bathc'; it has batch"));
  options = {};
  options.dims["batch"] = {5, 4};
  EXPECT_THAT(failure(model(mlp()), options), HasSubstr("expected a range"));
  options = {};
  options.shapes["x"] = {1, 3};
  EXPECT_THAT(failure(model(mlp()), options), HasSubstr("dim 1 is 2 in the model, got 3"));
  options.shapes = {{"x", {1}}};
  EXPECT_THAT(failure(model(mlp()), options), HasSubstr("expected 2 dims, got 1"));
  options.shapes = {{"z", {1}}};
  EXPECT_THAT(failure(model(mlp()), options), HasSubstr("no input 'z'"));
  GraphParts two = mlp();
  two.inputs.push_back(value_info("x2", 1, {"batch"}));
  options.shapes = {{"x", {1, 2}}, {"x2", {2}}};
  EXPECT_THAT(failure(model(two), options), HasSubstr("is 1 for input 'x' and 2 for input 'x2'"));
}

TEST(Import, InputsBecomeConstants) {
  GraphParts parts = one_node(node("Reshape", {"x", "shape"}, {"y"}));
  parts.inputs.push_back(value_info("shape", 7, {1}));
  auto imported = import(model(parts));
  ASSERT_TRUE(imported);
  // A shape that is an input is read when the model runs.
  EXPECT_THAT(imported->summary.unsupported, ::testing::IsEmpty());

  ImportOptions options;
  ConstantData six;
  static constexpr int64_t kSix = 6;
  six.dtype = DType::i64;
  six.dims = {1};
  six.bytes = std::as_bytes(std::span(&kSix, 1));
  options.constants["shape"] = six;
  auto bound = import(model(parts), options);
  ASSERT_TRUE(bound) << to_text(bound.error());
  EXPECT_EQ(to_text(bound->graph.type(bound->graph.outputs()[0].value)), "f32[6]");
}

TEST(Import, ShapeArithmeticBecomesDims) {
  // y = reshape(x [batch, 4, 5], [Shape(x)[0], -1])
  GraphParts parts;
  parts.inputs = {value_info("x", 1, {"batch", 4, 5})};
  parts.outputs = {value_info("y", 1, {"batch", 20})};
  parts.initializers = {int64s("zero", {0}), int64s("rest", {-1})};
  parts.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"b"}),
                 node("Concat", {"b", "rest"}, {"t"}, {attr_int("axis", 0)}),
                 node("Reshape", {"x", "t"}, {"y"})};
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(to_text(imported->graph.type(imported->graph.outputs()[0].value)), "f32[batch, 20]");
}

TEST(Import, AllThatIsUnsupportedIsListedOnce) {
  GraphParts parts = mlp();
  parts.nodes = {node("Foo", {"x"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"r"}, {}, "blocked"),
                 node("Bar", {"r"}, {"c"}, {}, "second", "my.domain"),
                 node("Gelu", {"x"}, {"d"}, {}, "third"), node("Add", {"c", "d"}, {"y"})};
  auto imported = import(model(parts, 17, {}, {opset("my.domain", 3)}));
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto& list = imported->summary.unsupported;
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].node, "first");
  EXPECT_THAT(list[0].reason, HasSubstr("no operator 'Foo' at opset 17"));
  EXPECT_EQ(list[1].domain, "my.domain");
  EXPECT_EQ(list[1].opset, 3);
  EXPECT_THAT(list[2].reason, HasSubstr("it exists from opset 20 on, the model has 17"));
}

TEST(Import, FunctionsAreExpanded) {
  // leaky(x) = LeakyRelu(x, alpha = @slope), slope 0.5 unless the caller says otherwise.
  const std::string leaky = function(
      "leaky", {"a"}, {"r"}, {node("LeakyRelu", {"a"}, {"r"}, {attr_ref("alpha", "slope", 1)})},
      {attr_float("slope", 0.5F)});
  const std::string twice =
      function("twice", {"a"}, {"r"},
               {node("leaky", {"a"}, {"t"}, {}, "", "f"),
                node("leaky", {"t"}, {"r"}, {attr_float("slope", 0.25F)}, "", "f")});
  GraphParts parts = one_node(node("twice", {"x"}, {"y"}, {}, "call", "f"));
  parts.inputs = {value_info("x", 1, {2})};
  auto imported = import(model(parts, 17, {leaky, twice}, {opset("f", 1)}));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(run(imported->graph, {floats_of({2}, {-8, 3})}), ElementsAre(-1, 3));
}

TEST(Import, FunctionsMayBeNestedDeeply) {
  // f0 doubles, each other negates and calls the one before: nesting needs no stack.
  constexpr int kDepth = 1000;
  const auto name = [](int k) { return concat("f", k); };
  Strings functions = {function(name(0), {"a"}, {"r"}, {node("Add", {"a", "a"}, {"r"})})};
  for (int k = 1; k < kDepth; ++k) {
    functions.push_back(
        function(name(k), {"a"}, {"r"},
                 {node("Neg", {"a"}, {"t"}), node(name(k - 1), {"t"}, {"r"}, {}, "", "f")}));
  }
  GraphParts parts = one_node(node(name(kDepth - 1), {"x"}, {"y"}, {}, "", "f"));
  parts.inputs = {value_info("x", 1, {2})};
  auto imported = import(model(parts, 17, functions, {opset("f", 1)}));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(run(imported->graph, {floats_of({2}, {-8, 3})}), ElementsAre(16, -6));
}

TEST(Import, FunctionsMustEnd) {
  const std::string loop =
      function("loop", {"a"}, {"r"}, {node("loop", {"a"}, {"r"}, {}, "", "f")});
  const GraphParts parts = one_node(node("loop", {"x"}, {"y"}, {}, "", "f"));
  EXPECT_THAT(failure(model(parts, 17, {loop}, {opset("f", 1)})), HasSubstr("calls itself"));

  // Each calls the one before ten times: 10^9 nodes from a kilobyte.
  Strings bombs = {function("f0", {"a"}, {"r"}, {node("Relu", {"a"}, {"r"})})};
  for (int k = 1; k < 10; ++k) {
    Strings calls;
    for (int j = 0; j < 10; ++j) {
      calls.push_back(
          node(concat("f", k - 1), {concat("t", j)}, {concat("t", j + 1)}, {}, "", "f"));
    }
    bombs.push_back(function(concat("f", k), {"t0"}, {"t10"}, calls));
  }
  const GraphParts bomb = one_node(node("f9", {"x"}, {"y"}, {}, "", "f"));
  EXPECT_THAT(failure(model(bomb, 17, bombs, {opset("f", 1)})), HasSubstr("expand to more than"));
}

TEST(Import, IfWithAKnownConditionIsInlined) {
  // Both branches read x from outside; then_branch gives x + 1, else_branch x - 1.
  const auto branch = [](std::string_view op) {
    return graph({.nodes = {node(op, {"x", "one"}, {"r"})},
                  .initializers = {floats("one", {}, {1})},
                  .inputs = {},
                  .outputs = {Message().text(1, "r").bytes},
                  .value_infos = {}});
  };
  GraphParts parts = one_node(
      node("If", {"c"}, {"y"},
           {attr_graph("then_branch", branch("Add")), attr_graph("else_branch", branch("Sub"))}));
  parts.inputs = {value_info("x", 1, {1})};
  parts.initializers = {raw_tensor("c", 9, {}, std::string_view("\0", 1))};
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(run(imported->graph, {floats_of({1}, {5})}), ElementsAre(4));

  parts.initializers.clear();
  parts.inputs.push_back(value_info("c", 9, {}));
  auto open = import(model(parts));
  ASSERT_TRUE(open) << to_text(open.error());
  EXPECT_THAT(open->summary.unsupported, ::testing::IsEmpty());
  const auto condition = [](double value) {
    Tensor c(DType::b8, {});
    c.set_integer(0, value != 0);
    return c;
  };
  EXPECT_THAT(run(open->graph, {floats_of({1}, {5}), condition(1)}), ElementsAre(6));
  EXPECT_THAT(run(open->graph, {floats_of({1}, {5}), condition(0)}), ElementsAre(4));
}

TEST(Import, BranchesOfTwoRanksAreSettledByTheirCondition) {
  // As exporters write a squeeze of a dim that may be 1: if shape(x)[0] == 1, squeeze(x), else x.
  const auto branch = [](const std::string& each) {
    return graph({.nodes = {each},
                  .initializers = {int64s("axes", {0})},
                  .inputs = {},
                  .outputs = {Message().text(1, "r").bytes},
                  .value_infos = {}});
  };
  GraphParts parts =
      one_node(node("If", {"is_one"}, {"y"},
                    {attr_graph("then_branch", branch(node("Squeeze", {"x", "axes"}, {"r"}))),
                     attr_graph("else_branch", branch(node("Identity", {"x"}, {"r"})))}));
  parts.nodes = {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "zero"}, {"dim"}),
                 node("Equal", {"dim", "one"}, {"is_one"}), parts.nodes[0]};
  parts.initializers = {int64s("zero", {0}), int64s("one", {1})};
  parts.inputs = {value_info("x", 1, {"n", 2})};
  const auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(imported->summary.warnings, ElementsAre(HasSubstr("then_branch is taken")));
  EXPECT_THAT(run(imported->graph, {floats_of({1, 2}, {5, 6})}), ElementsAre(5, 6));
  const auto two = Interpreter(imported->graph).run(std::vector{floats_of({2, 2}, {5, 6, 7, 8})});
  ASSERT_FALSE(two);
  EXPECT_THAT(to_text(two.error()), HasSubstr("the condition: expected n == 1, got 2 and 1"));

  // With 2 rows it is known that x stays.
  ImportOptions options;
  options.dims["n"] = {2, 2};
  const auto pinned = import(model(parts), options);
  ASSERT_TRUE(pinned) << to_text(pinned.error());
  EXPECT_THAT(pinned->summary.warnings, ::testing::IsEmpty());
  EXPECT_THAT(run(pinned->graph, {floats_of({2, 2}, {5, 6, 7, 8})}), ElementsAre(5, 6, 7, 8));
}

TEST(Import, BranchesThatCannotWorkFailWhenTheyAreTaken) {
  const auto branch = [](const std::string& each) {
    return graph({.nodes = {each},
                  .initializers = {floats("three", {3}, {1, 2, 3})},
                  .inputs = {},
                  .outputs = {Message().text(1, "r").bytes},
                  .value_infos = {}});
  };
  GraphParts parts =
      one_node(node("If", {"c"}, {"y"},
                    {attr_graph("then_branch", branch(node("Neg", {"x"}, {"r"}))),
                     attr_graph("else_branch", branch(node("Add", {"x", "three"}, {"r"})))}));
  parts.inputs = {value_info("x", 1, {2}), value_info("c", 9, {})};
  const auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(imported->summary.warnings,
              ElementsAre(HasSubstr("runs that take this branch fail")));
  const auto condition = [](double value) {
    Tensor c(DType::b8, {});
    c.set_integer(0, value != 0);
    return c;
  };
  EXPECT_THAT(run(imported->graph, {floats_of({2}, {5, 6}), condition(1)}), ElementsAre(-5, -6));
}

TEST(Import, SubgraphsHaveAnEnd) {
  std::string inner = graph({.nodes = {node("Relu", {"x"}, {"r"})},
                             .initializers = {},
                             .inputs = {},
                             .outputs = {Message().text(1, "r").bytes},
                             .value_infos = {}});
  for (int k = 0; k < 80; ++k) {
    inner = graph({.nodes = {node("If", {"c"}, {"r"}, {attr_graph("then_branch", inner)})},
                   .initializers = {},
                   .inputs = {},
                   .outputs = {Message().text(1, "r").bytes},
                   .value_infos = {}});
  }
  GraphParts parts = one_node(node("If", {"c"}, {"y"}, {attr_graph("then_branch", inner)}));
  parts.initializers = {raw_tensor("c", 9, {}, "\x01")};
  EXPECT_THAT(failure(model(parts)), HasSubstr("nested more than 64 deep"));
}

TEST(Import, InitializersThatAreInputsAreConstants) {
  GraphParts parts = mlp();
  parts.inputs.push_back(value_info("w", 1, {2, 2}));
  auto imported = import(model(parts));
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->graph.inputs().size(), 1u);
  parts.inputs.back() = value_info("w", 1, {3, 2});
  EXPECT_THAT(failure(model(parts)), HasSubstr("declares dims [3, 2], but it is f32[2, 2]"));
}

TEST(Import, NamesMustMakeSense) {
  GraphParts parts = mlp();
  parts.nodes[2] = node("Relu", {"s"}, {"h"});
  EXPECT_THAT(failure(model(parts)), HasSubstr("'h' is already defined by node 'dense' (MatMul)"));
  parts = mlp();
  parts.nodes[1] = node("Add", {"y", "b"}, {"s"}, {}, "back");
  EXPECT_THAT(failure(model(parts)), HasSubstr("cycle of 2 nodes: node 'back' (Add) <- "));
  parts = mlp();
  parts.nodes[1] = node("Add", {"h", "nothing"}, {"s"});
  EXPECT_THAT(failure(model(parts)), HasSubstr("node of 's' (Add): input 'nothing': no node"));
  parts = mlp();
  parts.nodes[0] = node("MatMul", {"x", "w"}, {"w"});
  EXPECT_THAT(failure(model(parts)), Not(HasSubstr("no error")));
  parts = mlp();
  parts.initializers.push_back(floats("w", {1}, {1}));
  EXPECT_THAT(failure(model(parts)), HasSubstr("'w' is defined twice"));
  parts = mlp();
  parts.inputs.push_back(parts.inputs[0]);
  EXPECT_THAT(failure(model(parts)), HasSubstr("input 'x' is defined twice"));
  parts = mlp();
  parts.outputs = {value_info("q", 1, {1})};
  EXPECT_THAT(failure(model(parts)), HasSubstr("output 'q': no node"));
  parts.outputs.clear();
  EXPECT_THAT(failure(model(parts)), HasSubstr("no outputs"));
}

TEST(Import, DeclaredTypesMustAgree) {
  GraphParts parts = mlp();
  parts.outputs = {value_info("y", 1, {"batch", 3})};
  EXPECT_THAT(failure(model(parts)),
              HasSubstr("output 'y': the model declares dims [batch, 3], but it is f32[batch, 2]"));
  parts.outputs = {value_info("y", 7, {"batch", 2})};
  EXPECT_THAT(failure(model(parts)), HasSubstr("declares i64"));
  parts = mlp();
  parts.value_infos = {value_info("h", 1, {"batch"})};
  EXPECT_THAT(failure(model(parts)), HasSubstr("value 'h': the model declares dims [batch]"));
}

TEST(Import, ErrorsNameFileNodeAndOperator) {
  const std::string bytes =
      model(one_node(node("Transpose", {"x"}, {"y"}, {attr_ints("perm", {0, 2})}, "turn\n*/\"")));
  EXPECT_EQ(failure(bytes),
            "m.onnx: node 'turn?* /\"' (Transpose): axes: expected axes in [-2, 2), got 2");
}

TEST(Import, AttributesAreChecked) {
  const auto with = [](const std::string& attribute) {
    return model(one_node(node("Softmax", {"x"}, {"y"}, {attribute})));
  };
  EXPECT_THAT(failure(with(attr_float("axis", 1))),
              HasSubstr("'axis': expected an int, got a float"));
  EXPECT_THAT(failure(with(attr_int("axis", 2))), HasSubstr("expected an axis in [-2, 2), got 2"));
  const std::string flag = node("ReduceMax", {"x"}, {"y"}, {attr_int("keepdims", 2)});
  EXPECT_THAT(failure(model(one_node(flag))), HasSubstr("'keepdims': expected 0 or 1, got 2"));
  auto imported = import(with(attr_int("axle", 1)));
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->summary.warnings.size(), 1u);
  EXPECT_THAT(imported->summary.warnings[0], HasSubstr("attribute 'axle' is not known"));
}

TEST(Import, BitCastKeepsTheBits) {
  const auto with = [](int dtype, int to) {
    GraphParts parts = one_node(node("BitCast", {"x"}, {"y"}, {attr_int("to", to)}));
    parts.inputs = {value_info("x", dtype, {2, 3})};
    return model(parts, 26);
  };
  const auto refusal = [&](int dtype, int to) {
    const auto imported = import(with(dtype, to));
    return imported ? imported->summary.unsupported.at(0).reason : to_text(imported.error());
  };
  EXPECT_THAT(failure(with(1, 7)), HasSubstr("expected elements of 64 bits as in i64, got f32"));
  EXPECT_EQ(refusal(14, 7), "the bits of complex numbers");
  EXPECT_EQ(refusal(2, 9), "bits of numbers as truth values");
}

TEST(Import, MaxRoiPoolIsChecked) {
  const auto with = [](const std::vector<int64_t>& pooled, int64_t columns) {
    GraphParts parts =
        one_node(node("MaxRoiPool", {"x", "rois"}, {"y"}, {attr_ints("pooled_shape", pooled)}));
    parts.inputs = {value_info("x", 1, {1, 2, 3, 4}), value_info("rois", 1, {2, columns})};
    return failure(model(parts));
  };
  EXPECT_THAT(with({2, 2}, 4), HasSubstr("expected X of rank 4 and rois [R, 5]"));
  EXPECT_THAT(with({2}, 5), HasSubstr("'pooled_shape': expected two numbers of 1 or more, got"));
  EXPECT_THAT(with({2, 0}, 5), HasSubstr("'pooled_shape': expected two numbers of 1 or more"));
}

TEST(Import, VersionsAreChecked) {
  EXPECT_THAT(failure(model(mlp(), 29)), HasSubstr("opset 29 is newer than 28"));
  EXPECT_THAT(failure(model(mlp(), 0)), HasSubstr("expected an opset of 1 or more"));
  EXPECT_THAT(failure(Message().number(1, 99).text(7, graph(mlp())).bytes),
              HasSubstr("IR version 99 is newer"));
  EXPECT_THAT(failure(Message().number(1, 8).bytes), HasSubstr("no graph"));
  EXPECT_THAT(failure(model(one_node(node("Foo", {"x"}, {"y"}, {}, "", "other")))),
              HasSubstr("domain 'other' without importing it"));
}

TEST(Import, SparseInitializersAreRefused) {
  std::string bytes = graph(mlp());
  bytes += Message().text(15, Message().text(1, floats("sp", {1}, {1})).bytes).bytes;
  const std::string whole = Message().number(1, 8).text(7, bytes).text(8, opset("", 17)).bytes;
  EXPECT_THAT(failure(whole), HasSubstr("initializer 'sp' is sparse"));
}

TEST(Import, OtherFormatsAreNamed) {
  EXPECT_THAT(failure(""), HasSubstr("the file is empty"));
  EXPECT_THAT(failure("\x7f"
                      "ELF...."),
              HasSubstr("an ELF file"));
  EXPECT_THAT(failure("PK\x03\x04...."), HasSubstr("zip archive"));
  EXPECT_THAT(failure("GGUF...."), HasSubstr("a GGUF file"));
  EXPECT_THAT(failure(std::string("\x10\0\0\0\0\0\0\0{\"a\"", 12)), HasSubstr("safetensors"));
  EXPECT_THAT(failure("<!DOCTYPE html>"), HasSubstr("web page"));
  EXPECT_THAT(failure("hello, world"), HasSubstr("m.onnx: "));
  EXPECT_THAT(failure(std::string(100, '\0')), HasSubstr("damaged"));
}

TEST(Import, FilesAndFolders) {
  auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto folder = import_model(dir->path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::kIo);
  auto missing = import_model(dir->path() / "absent.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kIo);

  ASSERT_TRUE(write_atomically(dir->path() / "m.onnx", model(mlp())));
  auto graph = import_model(dir->path() / "m.onnx");
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_THAT(run(*graph, {floats_of({1, 2}, {1, 1})}), ElementsAre(3.5, 0));
  auto summary = summarize_model(dir->path() / "m.onnx");
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->operators.size(), 3u);
}

TEST(Import, ExternalDataBesideTheModel) {
  auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  const float weights[] = {9, 1, -1, 2, 0};
  ASSERT_TRUE(write_atomically(dir->path() / "w.bin", std::as_bytes(std::span(weights))));
  GraphParts parts = mlp();
  const auto pair = [](std::string_view key, std::string_view value) {
    return Message().text(1, key).text(2, value).bytes;
  };
  parts.initializers[0] = Message()
                              .numbers(1, {2, 2})
                              .number(2, 1)
                              .text(8, "w")
                              .text(13, pair("location", "w.bin"))
                              .text(13, pair("offset", "4"))
                              .number(14, 1)
                              .bytes;
  ASSERT_TRUE(write_atomically(dir->path() / "m.onnx", model(parts)));
  auto graph = import_model(dir->path() / "m.onnx");
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_THAT(run(*graph, {floats_of({1, 2}, {1, 1})}), ElementsAre(3.5, 0));
  EXPECT_THAT(failure(model(parts)), HasSubstr("initializer 'w': external data 'w.bin'"));
}

}  // namespace
}  // namespace ingot
