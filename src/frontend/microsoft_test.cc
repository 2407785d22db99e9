// frontend/microsoft_test.cc: what of onnxruntime's own operators is refused, and in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/import.h"
#include "frontend/test_model.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::HasSubstr;

constexpr int64_t kF32 = 1, kU8 = 2, kI32 = 6, kI64 = 7;

/// An input of a node; one without a type is left out.
struct Input {
  int64_t type = 0;
  std::vector<Dim> dims = {};
};
const Input kNone = {};

struct Case {
  std::string op;
  std::vector<Input> inputs;
  Strings attributes;
  std::string words;  // of the refusal
  size_t outputs = 1;
};

/// Why a model of that node is not compiled, or is wrong.
std::string refusal(const Case& c, std::string_view domain = "com.microsoft") {
  GraphParts parts;
  Strings names, results;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const bool is_there = c.inputs[k].type != 0;
    names.push_back(is_there ? "x" + std::to_string(k) : "");
    if (is_there) parts.inputs.push_back(value_info(names[k], c.inputs[k].type, c.inputs[k].dims));
  }
  for (size_t k = 0; k < c.outputs; ++k) results.push_back("y" + std::to_string(k));
  parts.nodes = {node(c.op, names, results, c.attributes, "n", domain)};
  parts.outputs = {Message().text(1, "y0").bytes};
  const std::string bytes = model(parts, 17, {}, {opset(domain, 1)});
  const auto imported = import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx");
  if (!imported) return to_text(imported.error());
  if (imported->summary.unsupported.empty()) return "no error";
  return imported->summary.unsupported[0].reason;
}

void expect_refusals(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_THAT(refusal(c), HasSubstr(c.words)) << c.op;
}

TEST(Microsoft, WholeSearchesAndMachineLayoutsAreRefused) {
  EXPECT_THAT(refusal({"BeamSearch", {{kI32, {1, 2}}}, {}, {}}), HasSubstr("export the decoder"));
  EXPECT_THAT(refusal({"GreedySearch", {{kI32, {1, 2}}}, {}, {}}), HasSubstr("export the decoder"));
  EXPECT_THAT(refusal({"QMoE", {{kF32, {1, 2}}}, {}, {}}), HasSubstr("mixtures of experts"));
  EXPECT_THAT(refusal({"Conv", {{kF32, {1, 8, 4, 4}}}, {}, {}}, "com.microsoft.nchwc"),
              HasSubstr("graph_optimization_level = ORT_ENABLE_EXTENDED"));
  EXPECT_THAT(refusal({"Foo", {{kF32, {1}}}, {}, {}}),
              HasSubstr("no operator 'Foo' of domain 'com.microsoft' that is known"));
}

TEST(Microsoft, Products) {
  const Input a = {kF32, {2, 64}}, packed = {kU8, {3, 4, 8}}, scale = {kF32, {3, 4}};
  const auto with = [](int64_t block, Strings more) {
    more.insert(more.end(), {attr_int("K", 64), attr_int("N", 3), attr_int("block_size", block)});
    return more;
  };
  expect_refusals({
      {"FusedGemm",
       {{kF32, {2, 3}}, {kF32, {3, 2}}},
       {attr_text("activation", "Swoosh")},
       "the activation 'Swoosh'"},
      {"MatMulNBits", {a, packed, scale}, with(16, {attr_int("bits", 3)}), "numbers of 3 bits"},
      {"MatMulNBits", {a, packed, scale}, with(12, {}), "attribute 'block_size': got 12"},
      {"MatMulNBits", {a, packed, scale}, with(0, {}), "expected sizes of 1 or more, got 0"},
      {"MatMulNBits",
       {a, packed, scale},
       with(16, {attr_int("weight_prepacked", 1)}),
       "weights packed for a kernel"},
      {"MatMulNBits", {a, a, scale}, with(16, {}), "expected weights in bytes"},
      {"MatMulNBits",
       {a, packed, scale, {kU8, {3, 2}}, {kI32, {64}}},
       with(16, {}),
       "zero points beside an input g_idx"},
      {"MatMulNBits", {a, {kU8, {0, 4, 8}}, scale}, with(16, {}), "weights that are left out"},
      {"MatMulBnb4",
       {a, {kU8, {96}}, {kF32, {12}}},
       with(16, {attr_int("quant_type", 2)}),
       "a table of numbers of kind 2"},
      {"MatMulBnb4",
       {a, {kU8, {96}}, {kF32, {12}}},
       with(16, {attr_int("quant_type", 0), attr_int("transB", 0)}),
       "products of training"},
      {"GatherBlockQuantized",
       {{kU8, {4, 8}}, {kI32, {2}}, {kF32, {4, 1}}},
       {attr_int("gather_axis", 1)},
       "a gather along the axis of the blocks"},
      {"GatherBlockQuantized", {{kU8, {4, 8}}, {kI32, {2}}, {kF32, {4}}}, {}, "scales of rank 2"},
      {"GatherBlockQuantized", {{kF32, {4, 8}}, {kI32, {2}}, {kF32, {4, 1}}}, {}, "data of f32"},
      {"QGemm",
       {{kU8, {2, 3}}, {kF32, {}}, {kU8, {}}, {kU8, {3}}, {kF32, {}}, {kU8, {}}},
       {},
       "expected matrices"},
      {"ConvTransposeWithDynamicPads",
       {{kF32, {1, 2, 4}}, {kF32, {2, 3, 3}}, {kI64, {3}}},
       {},
       "input 'Pads': expected 2 numbers, got 3"},
      {"ConvTransposeWithDynamicPads",
       {{kF32, {1, 2, 4}}, {kF32, {2, 3, 3}}},
       {attr_text("auto_pad", "SAME_UPPER")},
       "auto_pad beside an input of pads"},
      {"NhwcMaxPool", {{kU8, {4, 4}}}, {attr_ints("kernel_shape", {2})}, "rank 3 or more"},
  });
}

TEST(Microsoft, Attention) {
  const Input x = {kF32, {2, 4, 6}}, w = {kF32, {6, 18}};
  const std::string heads = attr_int("num_heads", 2);
  const auto with = [&](const std::string& more) { return Strings{heads, more}; };
  expect_refusals({
      {"Attention", {x, w, kNone, {kI32, {5}}}, {heads}, "a mask of 5 numbers for a batch of 2"},
      {"Attention", {x, w, kNone, {kI32, {2, 1, 4, 4}}}, {heads}, "a mask of rank 4"},
      {"Attention", {x, w, kNone, {kF32, {2, 4}}}, {heads}, "expected a mask of integers"},
      {"Attention", {x, w}, with(attr_int("past_present_share_buffer", 1)), "in one buffer"},
      {"Attention", {x, w}, with(attr_int("do_rotary", 1)), "rotation inside of it"},
      {"Attention", {x, {kF32, {6, 17}}}, {heads}, "three projections of one size"},
      {"Attention", {x, w}, with(attr_ints("qkv_hidden_sizes", {6, 6, 7})), "make up the columns"},
      {"Attention", {x, w}, with(attr_ints("qkv_hidden_sizes", {6, 0, 12})), "expected sizes of 1"},
      {"Attention", {x, w, kNone, kNone, {kF32, {2, 2}}}, {heads}, "a past of rank 5, got 2"},
      {"Attention", {{kF32, {4, 6}}, w}, {heads}, "an input of rank 3 and weights of rank 2"},
      {"MultiHeadAttention", {x}, {heads}, "expected keys and values"},
      {"MultiHeadAttention", {{kF32, {2, 4, 2, 3, 3}}, x}, {heads}, "no keys beside packed ones"},
      {"MultiHeadAttention", {x, {kF32, {2, 4, 2, 2, 3}}, x}, {heads}, "no values beside packed"},
      {"MultiHeadAttention", {x, {kF32, {2, 6}}, x}, {heads}, "keys and values of rank 3 to 5"},
      {"MultiHeadAttention",
       {x, x, x, kNone, kNone, kNone, kNone, kNone, {kI32, {1}}},
       {heads},
       "in one buffer"},
      {"MultiHeadAttention",
       {x, x, x},
       with(attr_int("unidirectional", 1)),
       "its output of scores where some keys are hidden",
       4},
      {"RotaryEmbedding",
       {x, {kI64, {1}}, {kF32, {9, 3}}, {kF32, {9, 3}}},
       {attr_int("is_packed_batching", 1)},
       "several lengths in one row"},
      {"RotaryEmbedding",
       {x, {kI64, {1}}, {kF32, {9, 3, 1}}, {kF32, {9, 3}}},
       {},
       "expected a table of angles"},
      {"RotaryEmbedding",
       {{kF32, {6}}, {kI64, {1}}, {kF32, {9, 3}}, {kF32, {9, 3}}},
       {},
       "rank 3 or 4, got 1"},
  });
}

TEST(Microsoft, GroupQueryAttention) {
  const Input q = {kF32, {2, 4, 8}}, kv = {kF32, {2, 4, 4}}, past = {kF32, {2, 1, 3, 4}};
  const Input last = {kI32, {2}}, total = {kI32, {}};
  const auto with = [](Strings more) {
    more.insert(more.end(), {attr_int("num_heads", 2), attr_int("kv_num_heads", 1)});
    return more;
  };
  const auto inputs = [&](std::vector<Input> more, size_t first) {
    std::vector<Input> all = {q, kv, kv, past, past, last, total};
    all.resize(std::max(all.size(), first));
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string op = "GroupQueryAttention";
  expect_refusals({
      {op, inputs({{kF32, {1}}}, 12), with({}), "quantized keys and values"},
      {op, inputs({}, 0), with({attr_text("k_quant_type", "PER_TENSOR")}), "quantized keys"},
      {op, inputs({{kF32, {4}}, {kF32, {4}}}, 14), with({}), "a norm inside of it"},
      {op, inputs({{kI32, {2}}}, 16), with({}), "queries of several lengths"},
      {op, inputs({}, 0), with({attr_int("sliding_window_cache", 1)}), "as large as its window"},
      {op, inputs({}, 0), with({attr_int("qk_output", 1)}), "its output of scores"},
      {op, {q, kv, kv, past, past, kNone, total}, with({}), "input 5 is missing"},
      {op, {q, kv, kv, past, kNone, last, total}, with({}), "expected past keys and values"},
      {op, {q, kv, kNone, kNone, kNone, last, total}, with({}), "expected values beside keys"},
      {op, {past, kv, kv, kNone, kNone, last, total}, with({}), "a query of rank 3, got 4"},
      {op, {q, past, past, kNone, kNone, last, total}, with({}), "keys and values of rank 3"},
      {op, {q, kv, kv, q, q, last, total}, with({}), "a past of rank 4, got 3"},
      {op, inputs({}, 0), with({attr_int("do_rotary", 1)}), "expected tables of angles"},
      {op, inputs({{kF32, {4, 4}}}, 10), with({}), "a bias of rank 4, got 2"},
      {op, inputs({{kF32, {2, 1}}}, 11), with({}), "expected a sink for each head"},
      {op, inputs({}, 0), {attr_int("num_heads", 2), attr_int("kv_num_heads", 0)}, "one head or"},
  });
}

TEST(Microsoft, NormsAndOthers) {
  const Input x = {kF32, {2, 3, 6}}, c = {kF32, {6}};
  const Strings groups = {attr_int("groups", 4), attr_int("activation", 0)};
  expect_refusals({
      {"SkipLayerNormalization", {x, x, c}, {}, "outputs of training", 2},
      {"SkipLayerNormalization", {x, {kF32, {4, 2, 3, 6}}, c}, {}, "repeated over the input"},
      {"EmbedLayerNormalization", {{kI32, {2, 3}}}, {}, "input 2 is missing"},
      {"EmbedLayerNormalization",
       {{kI32, {2}}, kNone, {kF32, {9, 6}}, {kF32, {9, 6}}, kNone, c, c},
       {},
       "expected ids [B, S], got rank 1"},
      {"GroupNorm", {x, c, c}, groups, "'groups': 4 does not divide the channels"},
      {"GroupNorm", {{kF32, {2, 6}}, c, c}, groups, "an input of rank 3 or more"},
      {"BiasSoftmax",
       {x, {kF32, {4, 2, 3, 6}}},
       {attr_int("is_inner_broadcast", 0)},
       "a bias that is repeated over the data"},
      {"IsAllFinite", {x}, {attr_int("isnan_only", 1), attr_int("isinf_only", 1)}, "exclude each"},
      {"QLinearConcat",
       {c, {kU8, {}}, {kU8, {2}}, c, {kU8, {}}, c},
       {attr_int("axis", 0)},
       "three"},
      {"QLinearWhere", {c, c, c, c, c, c, c, c, c}, {}, "a condition of booleans"},
      {"QLinearSoftmax", {{kU8, {2}}, c}, {attr_int("opset", 0)}, "'opset': expected 1 or more"},
      {"QLinearAdd", {{kU8, {2}}, {kF32, {}}}, {}, "input 3 is missing"},
      {"CDist", {x, x}, {}, "expected matrices"},
      {"CDist", {c, c}, {attr_text("metric", "cosine")}, "this measure of distance"},
      {"Inverse", {{kF32, {40, 40}}}, {}, "square matrices of a known size up to 32"},
      {"Inverse", {c}, {}, "expected matrices, got rank 1"},
      {"NGramRepeatBlock",
       {{kI64, {2, 5}}, {kF32, {2, 9}}},
       {attr_int("ngram_size", 65)},
       "of 1 to"},
      {"UnfoldTensor", {x}, {attr_int("size", 0)}, "a size and a step of 1 or more"},
      {"Rfft", {x}, {attr_int("signal_ndim", 2)}, "one-sided ones of one dim"},
      {"Irfft", {x}, {}, "a last dim of 1 or 2"},
      {"CropAndResize", {x, c, c, {kI32, {2}}}, {}, "depends on run-time dims"},
  });
}

}  // namespace
}  // namespace ingot
