// frontend/labels_test.cc: labels in tables of any size, and what the operators of maps refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "frontend/import.h"
#include "frontend/onnx/map_data.h"
#include "frontend/test_model.h"
#include "ir/graph.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::HasSubstr;

constexpr int64_t kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11;

std::string map_info(std::string_view name, int64_t key, int64_t value) {
  const Message tensor = Message().text(1, Message().number(1, value).bytes);
  const Message map = Message().number(1, key).text(2, tensor.bytes);
  return Message().text(1, name).text(2, Message().text(5, map.bytes).bytes).bytes;
}

/// A model of one node of ai.onnx.ml that reads x.
Result<ImportedModel> imported(std::string_view op, const std::string& input,
                               const Strings& attributes) {
  const std::string bytes = model({.nodes = {node(op, {"x"}, {"y"}, attributes, "n", "ai.onnx.ml")},
                                   .initializers = {},
                                   .inputs = {input},
                                   .outputs = {Message().text(1, "y").bytes},
                                   .value_infos = {}},
                                  17, {}, {opset("ai.onnx.ml", 2)});
  return import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx", {});
}

std::string refusal(std::string_view op, const std::string& input, const Strings& attributes) {
  const auto model = imported(op, input, attributes);
  if (!model) return to_text(model.error());
  const auto& list = model->summary.unsupported;
  return list.empty() ? "" : list[0].reason;
}

/// The graph of a table of so many keys.
Graph table_of(int64_t count) {
  Ints keys;
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k) {
    keys.push_back(k * k - 5);
    values.push_back(static_cast<float>(k));
  }
  auto model = imported("LabelEncoder", value_info("x", kInt64, {3}),
                        {attr_ints("keys_int64s", keys), attr_floats("values_floats", values)});
  EXPECT_TRUE(model) << to_text(model.error());
  return std::move(model->graph);
}

TEST(Labels, TakeNoMoreNodesWhateverTheirNumber) {
  const Graph some = table_of(100), many = table_of(100'000);
  EXPECT_EQ(many.nodes().size(), some.nodes().size());
  EXPECT_LE(many.nodes().size(), 20);
  const auto y = Interpreter(many).run(std::vector{Tensor::of_ints({99 * 99 - 5, 7, -5})});
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ((*y)[0].real(0), 99);
  EXPECT_EQ((*y)[0].real(1), 0);
  EXPECT_EQ((*y)[0].real(2), 0);
}

TEST(MapRefusals, ZipMap) {
  const auto zip = [](const std::vector<Dim>& dims, const Strings& attributes) {
    return refusal("ZipMap", value_info("x", kFloat, dims), attributes);
  };
  const std::string numbers = attr_ints("classlabels_int64s", {1, 2, 3});
  EXPECT_EQ(zip({"n", 3}, {numbers}), "");
  EXPECT_THAT(zip({"n", 4}, {numbers}), HasSubstr("expected 4 labels, one for each column, got 3"));
  EXPECT_THAT(zip({1, 1, 3}, {numbers}), HasSubstr("expected scores [N, C] or [C]"));
  const std::string either = "expected either classlabels_int64s or classlabels_strings";
  EXPECT_THAT(zip({"n", 3}, {}), HasSubstr(either));
  EXPECT_THAT(zip({"n", 3}, {numbers, attr_texts("classlabels_strings", {"a", "b", "c"})}),
              HasSubstr(either));
}

TEST(MapRefusals, MapsTakenApart) {
  const std::string words = attr_texts("string_vocabulary", {"a"});
  const std::string numbers = attr_ints("int64_vocabulary", {1});
  const std::string map = map_info("x", kString, kDouble);
  EXPECT_EQ(refusal("DictVectorizer", map, {words}), "");
  EXPECT_THAT(refusal("DictVectorizer", map, {numbers}),
              HasSubstr("expected a map from i64, got map(str, f64[])"));
  EXPECT_THAT(refusal("DictVectorizer", map, {words, numbers}),
              HasSubstr("expected either int64_vocabulary or string_vocabulary"));
  EXPECT_THAT(refusal("DictVectorizer", value_info("x", kFloat, {3}), {words}),
              HasSubstr("expected a map from str, got f32[3]"));
  const std::string from_numbers = map_info("x", kInt64, kFloat);
  EXPECT_EQ(refusal("CastMap", from_numbers, {}), "");
  EXPECT_EQ(refusal("CastMap", from_numbers, {attr_text("cast_to", "TO_STRING")}),
            "numbers of a map as text");
  EXPECT_THAT(
      refusal("CastMap", from_numbers, {attr_text("map_form", "SPARSE"), attr_int("max_map", -1)}),
      HasSubstr("'max_map': expected a size, got -1"));
  EXPECT_THAT(refusal("CastMap", map, {}), HasSubstr("expected a map from i64, got map(str"));
}

// ---- MapProto ----

std::string values_of(const Strings& tensors) {
  Message sequence = Message().number(2, 1);
  return sequence.texts(3, tensors).bytes;
}

std::string decoded(const std::string& bytes) {
  const auto map = onnx::decode_map(bytes, {});
  if (!map) return to_text(map.error());
  return concat(map->items()[0].size(), " ", map->items()[1].dtype());
}

TEST(MapProto, IsReadOrRefused) {
  const std::string one = floats("", {}, {1}), two = floats("", {2}, {1, 2});
  const auto map = [](int64_t key, const Strings& keys, const Strings& values) {
    return Message().number(2, key).texts(4, keys).text(5, values_of(values)).bytes;
  };
  EXPECT_EQ(decoded(map(kString, {"a", ""}, {one, one})), "2 f32");
  EXPECT_EQ(decoded(map(kString, {}, {})), "0 f32");
  EXPECT_EQ(decoded(Message().number(2, kInt64).number(3, 5).text(5, values_of({one})).bytes),
            "1 f32");
  EXPECT_THAT(decoded(map(kString, {"a"}, {one, one})),
              HasSubstr("expected 1 values, one for each key, got 2"));
  EXPECT_THAT(decoded(map(kString, {"a"}, {two})), HasSubstr("value 0: expected one f32, got 2"));
  EXPECT_THAT(decoded(map(kInt64, {"a"}, {one})),
              HasSubstr("expected numbers as keys, got strings"));
  EXPECT_THAT(decoded(map(kFloat, {}, {})), HasSubstr("a map from other keys than i64"));
  EXPECT_THAT(decoded("\x2A\x7F"), HasSubstr("map"));
}

}  // namespace
}  // namespace ingot
