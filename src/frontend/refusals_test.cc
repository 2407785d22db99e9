// frontend/refusals_test.cc: what the operators of learning, sequences and states refuse, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/import.h"
#include "frontend/test_model.h"
#include "ir/graph.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::HasSubstr;

/// The error, or why the first node that is not supported is not, or nothing.
std::string refusal(const GraphParts& parts, int64_t version = 27) {
  const std::string bytes = model(
      parts, version, {},
      {opset("ai.onnx.ml", 5), opset("ai.onnx.preview", 1), opset("ai.onnx.preview.training", 1)});
  const auto imported = import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx", {});
  if (!imported) return to_text(imported.error());
  const auto& list = imported->summary.unsupported;
  return list.empty() ? "" : list[0].reason;
}

GraphParts one_node(const std::string& bytes, const Strings& inputs) {
  return {.nodes = {bytes},
          .initializers = {},
          .inputs = inputs,
          .outputs = {Message().text(1, "y").bytes},
          .value_infos = {}};
}

std::string ml(std::string_view op, const Strings& attributes) {
  return refusal(one_node(node(op, {"x"}, {"y"}, attributes, "n", "ai.onnx.ml"),
                          {value_info("x", 1, {2, 3})}));
}

TEST(Refusals, Features) {
  EXPECT_THAT(
      ml("LabelEncoder", {attr_texts("keys_strings", {"a"}), attr_floats("values_floats", {1})}),
      HasSubstr("expected keys of f32, got str"));
  EXPECT_THAT(
      ml("LabelEncoder", {attr_floats("keys_floats", {1}), attr_ints("values_int64s", {1, 2})}),
      HasSubstr("expected as many values as keys, got 2 and 1"));
  EXPECT_THAT(ml("OneHotEncoder", {attr_texts("cats_strings", {"a"})}),
              HasSubstr("expected categories of f32"));
  EXPECT_THAT(ml("CategoryMapper", {attr_texts("cats_strings", {"a"})}),
              HasSubstr("expected as many values as keys, got 1 and 0"));
  EXPECT_THAT(ml("Scaler", {attr_floats("scale", {1, 2})}),
              HasSubstr("expected 1 or 3 values, got 2"));
  EXPECT_THAT(ml("FeatureVectorizer", {attr_ints("inputdimensions", {1, 2})}),
              HasSubstr("'inputdimensions': expected 1 numbers, got 2"));
  EXPECT_THAT(ml("Imputer", {}), HasSubstr("expected values to impute"));
  EXPECT_THAT(ml("Normalizer", {attr_text("norm", "L3")}),
              HasSubstr("expected one of MAX, L1, L2"));
  EXPECT_THAT(ml("Unheard", {}),
              HasSubstr("no operator 'Unheard' of domain 'ai.onnx.ml' that is known"));
}

TEST(Refusals, LinearModelsAndMachines) {
  EXPECT_THAT(
      ml("LinearRegressor", {attr_floats("coefficients", {1, 2, 3}), attr_int("targets", 2)}),
      HasSubstr("3 numbers are no 2 rows"));
  EXPECT_THAT(ml("LinearRegressor",
                 {attr_floats("coefficients", {1, 2, 3}), attr_floats("intercepts", {1, 2})}),
              HasSubstr("expected 1 intercepts, got 2"));
  EXPECT_THAT(ml("LinearRegressor", {attr_int("targets", int64_t{1} << 40)}),
              HasSubstr("0 numbers are no 1099511627776 rows"));
  EXPECT_EQ(ml("LinearClassifier",
               {attr_floats("coefficients", {1, 2, 3}), attr_texts("classlabels_strings", {"a"})}),
            "one class with a name");
  EXPECT_THAT(ml("SVMRegressor", {}), HasSubstr("'rho': expected a number"));
  const Strings machine = {attr_floats("rho", {0.5F}), attr_ints("vectors_per_class", {1})};
  EXPECT_EQ(ml("SVMClassifier", machine), "one class of support vectors");
  Strings two = machine;
  two.push_back(attr_ints("classlabels_ints", {0, 1}));
  EXPECT_THAT(ml("SVMClassifier", two), HasSubstr("expected 2 classes of vectors"));
}

TEST(Refusals, NumbersOfSupportVectors) {
  for (const int64_t count : {int64_t{-1}, int64_t{1} << 62}) {
    EXPECT_THAT(ml("SVMClassifier",
                   {attr_ints("vectors_per_class", {1, count}), attr_floats("rho", {0}),
                    attr_ints("classlabels_ints", {0, 1}), attr_floats("coefficients", {1, 2}),
                    attr_floats("support_vectors", {1, 2, 3, 4, 5, 6})}),
                HasSubstr("'vectors_per_class': expected 0 to 2147483647, got"));
  }
}

TEST(Refusals, Trees) {
  const auto trees = [](const Ints& yes, const Ints& no, const Strings& modes, int64_t target) {
    const Ints ids = {0, 1, 2};
    return ml("TreeEnsembleRegressor",
              {attr_ints("nodes_treeids", {0, 0, 0}), attr_ints("nodes_nodeids", ids),
               attr_ints("nodes_featureids", {0, 0, 0}), attr_floats("nodes_values", {0, 0, 0}),
               attr_ints("nodes_truenodeids", yes), attr_ints("nodes_falsenodeids", no),
               attr_texts("nodes_modes", modes), attr_ints("target_treeids", {0, 0}),
               attr_ints("target_nodeids", {1, 2}), attr_ints("target_ids", {0, target}),
               attr_floats("target_weights", {1, 2}), attr_int("n_targets", 1)});
  };
  const Strings modes = {"BRANCH_LEQ", "LEAF", "LEAF"};
  EXPECT_EQ(trees({1, 0, 0}, {2, 0, 0}, modes, 0), "");
  EXPECT_THAT(trees({1, 0, 0}, {7, 0, 0}, modes, 0), HasSubstr("node 0: there is no node -1"));
  EXPECT_THAT(trees({1, 0, 0}, {0, 0, 0}, modes, 0), HasSubstr("form a ring"));
  EXPECT_THAT(trees({1, 0, 0}, {2, 0, 0}, modes, 5), HasSubstr("expected a target below 1, got 5"));
  EXPECT_THAT(trees({1, 0, 0}, {2, 0, 0}, {"BRANCH", "LEAF", "LEAF"}, 0),
              HasSubstr("unknown mode 'BRANCH'"));
  EXPECT_THAT(trees({1, 0, 0}, {2, 0, 0}, {"LEAF", "LEAF"}, 0),
              HasSubstr("expected 2 values, got 3"));
}

TEST(Refusals, TreesOfTooManyTargets) {
  const auto trees = [](int64_t targets, std::string_view how) {
    return ml(
        "TreeEnsembleRegressor",
        {attr_ints("nodes_treeids", {0, 0, 0}), attr_ints("nodes_nodeids", {0, 1, 2}),
         attr_ints("nodes_featureids", {0, 0, 0}), attr_floats("nodes_values", {0, 0, 0}),
         attr_ints("nodes_truenodeids", {1, 0, 0}), attr_ints("nodes_falsenodeids", {2, 0, 0}),
         attr_texts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
         attr_ints("target_treeids", {0, 0}), attr_ints("target_nodeids", {1, 2}),
         attr_ints("target_ids", {0, 0}), attr_floats("target_weights", {1, 2}),
         attr_int("n_targets", targets), attr_text("aggregate_function", how)});
  };
  for (const std::string_view how : {"SUM", "MIN"}) {
    EXPECT_EQ(trees(1000, how), "");
    for (const int64_t targets : {int64_t{-1}, int64_t{1} << 31, int64_t{1} << 62}) {
      EXPECT_THAT(trees(targets, how), HasSubstr("expected targets from 0 to 2147483647, got"));
    }
  }
  EXPECT_EQ(trees(1 << 28, "SUM"), "a table of 1 trees and 268435456 targets");
  EXPECT_EQ(trees(1 << 28, "MIN"), "a table of 3 nodes and 268435456 targets");
}

TEST(Refusals, TreesThatAreTooDeep) {
  constexpr int64_t kNodes = 2 * 300 + 1;  // a leaf beside each of 300 nodes, and one below
  Ints trees(kNodes, 0), ids, yes, no;
  Strings modes;
  for (int64_t k = 0; k < kNodes; ++k) {
    ids.push_back(k);
    const bool leaf = k % 2 == 1 || k + 1 == kNodes;
    modes.push_back(leaf ? "LEAF" : "BRANCH_LT");
    yes.push_back(leaf ? 0 : k + 1);
    no.push_back(leaf ? 0 : k + 2);
  }
  EXPECT_EQ(ml("TreeEnsembleRegressor",
               {attr_ints("nodes_treeids", trees), attr_ints("nodes_nodeids", ids),
                attr_ints("nodes_featureids", trees), attr_ints("nodes_truenodeids", yes),
                attr_floats("nodes_values", std::vector<float>(kNodes, 0)),
                attr_ints("nodes_falsenodeids", no), attr_texts("nodes_modes", modes)}),
            "trees of more than 256 levels");
}

TEST(Refusals, Sequences) {
  const auto words = [](int64_t dtype, const Strings& more, int64_t skipped = 0,
                        const Dim& length = 5) {
    Strings attributes = {attr_text("mode", "TF"),           attr_int("min_gram_length", 1),
                          attr_int("max_gram_length", 2),    attr_int("max_skip_count", skipped),
                          attr_ints("ngram_counts", {0, 1}), attr_ints("ngram_indexes", {0, 1})};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return refusal(one_node(node("TfIdfVectorizer", {"x"}, {"y"}, attributes),
                            {value_info("x", dtype, {length})}));
  };
  EXPECT_EQ(words(7, {attr_ints("pool_int64s", {1, 2, 3})}), "");
  EXPECT_EQ(words(7, {attr_ints("pool_int64s", {1, 2, 3})}, std::numeric_limits<int64_t>::max()),
            "");  // of five words
  EXPECT_EQ(words(7, {attr_ints("pool_int64s", {1, 2, 3})}, 257, "C"),
            "more than 256 words skipped");
  EXPECT_THAT(words(7, {attr_texts("pool_strings", {"a"})}), HasSubstr("expected words of i64"));
  EXPECT_THAT(words(8, {attr_ints("pool_int64s", {1, 2, 3})}), HasSubstr("expected words of str"));
  EXPECT_THAT(words(7, {attr_ints("pool_int64s", {1, 2})}), HasSubstr("are no sequences of 2"));
  EXPECT_THAT(words(7, {attr_ints("pool_int64s", {1, 2, 3, 4, 5})}),
              HasSubstr("expected an output of sequence 2"));
}

TEST(Refusals, States) {
  const auto attention = [](const Strings& attributes, bool decay) {
    Strings names = {"q", "k", "v"};
    Strings inputs;
    for (const std::string& name : names) inputs.push_back(value_info(name, 1, {1, 4, 6}));
    if (decay) {
      names.insert(names.end(), {"", "q"});
    }
    return refusal(one_node(node("LinearAttention", names, {"y"}, attributes), inputs));
  };
  const std::string linear = attr_text("update_rule", "linear");
  const std::string heads = attr_int("q_num_heads", 2);
  EXPECT_EQ(attention({linear, heads, attr_int("kv_num_heads", 2)}, false), "");
  EXPECT_THAT(attention({linear, heads, attr_int("kv_num_heads", 4)}, false),
              HasSubstr("expected heads of keys that divide those of queries, got 4 and 2"));
  EXPECT_THAT(attention({linear, heads, attr_int("kv_num_heads", 2)}, true),
              HasSubstr("update_rule 'linear': expected no decay and no beta"));
  const auto conv = [](const std::vector<Dim>& weight) {
    return refusal(one_node(node("CausalConvWithState", {"x", "w"}, {"y"}),
                            {value_info("x", 1, {1, 4, 6}), value_info("w", 1, weight)}));
  };
  EXPECT_EQ(conv({4, 1, 3}), "");
  EXPECT_EQ(conv({4, 1, "taps"}), "a kernel of unknown size");
  EXPECT_THAT(conv({4, 2, 3}), HasSubstr("a weight [C, 1, K]"));
}

TEST(Refusals, PicturesAndAttention) {
  const auto decoder = [](int64_t dtype, const Strings& attributes) {
    return refusal(
        one_node(node("ImageDecoder", {"x"}, {"y"}, attributes), {value_info("x", dtype, {9})}));
  };
  EXPECT_EQ(decoder(2, {attr_text("pixel_format", "BGR")}), "");
  EXPECT_THAT(decoder(3, {}),
              HasSubstr("input 'encoded_stream': expected u8 of rank 1, got i8[9]"));
  EXPECT_THAT(decoder(2, {attr_text("pixel_format", "CMYK")}), HasSubstr("RGB, BGR, Grayscale"));
  const auto attention = [](const Strings& attributes, const std::vector<Dim>& mask) {
    const std::vector<Dim> dims = {1, 2, 3, 4};
    return refusal(one_node(node("Attention", {"q", "q", "q", "m"}, {"y"}, attributes),
                            {value_info("q", 1, dims), value_info("m", 1, mask)}));
  };
  EXPECT_EQ(attention({attr_int("left_window_size", 1)}, {3}), "");
  EXPECT_THAT(attention({attr_int("right_window_size", -2)}, {3}),
              HasSubstr("expected windows of -1 or more, got -1 and -2"));
  EXPECT_THAT(attention({}, {1, 1, 1, 1, 3}),
              HasSubstr("'attn_mask': expected rank 1 to 4, got 5"));
}

TEST(Refusals, Seeds) {
  EXPECT_THAT(refusal(one_node(node("Bernoulli", {"x"}, {"y"}, {attr_float("seed", NAN)}),
                               {value_info("x", 1, {2})})),
              HasSubstr("attribute 'seed': got nan"));
}

TEST(Refusals, DeformableConvolutions) {
  const auto deform = [](const std::vector<Dim>& weight, int64_t offsets) {
    return refusal(one_node(node("DeformConv", {"x", "w", "o"}, {"y"}),
                            {value_info("x", 1, {1, 2, 5, 5}), value_info("w", 1, weight),
                             value_info("o", 1, {1, offsets, 4, 4})}));
  };
  EXPECT_EQ(deform({3, 2, 2, 2}, 8), "");
  EXPECT_EQ(deform({3, 2, "h", 2}, 8), "a kernel of unknown size");
  EXPECT_THAT(deform({3, 2, 2, 2}, 9), HasSubstr("expected offsets of 8 channels, got 9"));
}

TEST(Refusals, StepsOfTraining) {
  const auto adam = [](const Strings& names) {
    Strings inputs;
    for (const std::string& name : names) inputs.push_back(value_info(name, 1, {}));
    return refusal(
        one_node(node("Adam", names, {"y"}, {}, "n", "ai.onnx.preview.training"), inputs));
  };
  EXPECT_EQ(adam({"r", "t", "x", "g", "v", "h"}), "");
  EXPECT_THAT(adam({"r", "t", "x", "g"}), HasSubstr("4 inputs for each tensor, got 4"));
}

/// A loop whose body gives `nodes` value z.
std::string loop_of(const Strings& nodes) {
  GraphParts body;
  body.inputs = {value_info("i", 7, {}), value_info("c", 9, {}), value_info("v", 1, {3})};
  body.nodes = nodes;
  body.nodes.push_back(node("Identity", {"c"}, {"d"}));
  body.outputs = {value_info("d", 9, {}), value_info("z", 1, {3})};
  return node("Loop", {"n", "", "x"}, {"y"}, {attr_graph("body", graph(body))});
}

TEST(Refusals, RandomNumbersInLoops) {
  const std::string draws = node("RandomNormalLike", {"v"}, {"z"});
  const Strings inputs = {value_info("n", 7, {}), value_info("x", 1, {3})};
  EXPECT_EQ(refusal(one_node(loop_of({draws}), inputs)), "");
  GraphParts branch;
  branch.nodes = {node("RandomNormalLike", {"v"}, {"w"})};
  branch.outputs = {value_info("w", 1, {3})};
  const std::string chosen =
      node("If", {"c"}, {"z"},
           {attr_graph("then_branch", graph(branch)), attr_graph("else_branch", graph(branch))});
  EXPECT_THAT(refusal(one_node(loop_of({chosen}), inputs)),
              HasSubstr("random numbers in a branch or loop inside of a loop"));
}

TEST(Refusals, DirectionsOfScans) {
  GraphParts body;
  body.inputs = {value_info("e", 1, {3})};
  body.nodes = {node("Neg", {"e"}, {"o"})};
  body.outputs = {value_info("o", 1, {3})};
  const auto scan = [&](int64_t direction) {
    const Strings attributes = {attr_graph("body", graph(body)), attr_int("num_scan_inputs", 1),
                                attr_ints("scan_input_directions", {direction})};
    return refusal(one_node(node("Scan", {"x"}, {"y"}, attributes), {value_info("x", 1, {2, 3})}));
  };
  EXPECT_EQ(scan(1), "");
  EXPECT_THAT(scan(2), HasSubstr("'scan_input_directions': expected 0 or 1, got 2"));
}

}  // namespace
}  // namespace ingot
