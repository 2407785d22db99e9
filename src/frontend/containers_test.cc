// frontend/containers_test.cc: what the operators of strings, sequences and optionals refuse, and
// why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/import.h"
#include "frontend/test_model.h"
#include "ir/graph.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers
using ::testing::HasSubstr;

constexpr int64_t kFloat = 1, kInt64 = 7, kString = 8;

/// The TypeProto of a sequence (or optional) of tensors, whose rank it says if it is not negative.
std::string container_type(int64_t dtype, int64_t rank = -1, bool optional = false) {
  Message tensor = Message().number(1, dtype);
  if (rank >= 0) {
    tensor.text(2, Message().texts(1, Strings(static_cast<size_t>(rank))).bytes);
  }
  const Message element = Message().text(1, Message().text(1, tensor.bytes).bytes);
  return Message().text(optional ? 9 : 4, element.bytes).bytes;
}
std::string container_info(std::string_view name, int64_t dtype, int64_t rank = -1) {
  return Message().text(1, name).text(2, container_type(dtype, rank)).bytes;
}

/// The error, or why the node is not supported, or nothing. It may read a tensor x, numbers i and
/// n, strings t, a sequence s of tensors of unknown rank and one r of lists.
std::string refusal(const std::string& bytes) {
  const std::string whole =
      model({.nodes = {bytes},
             .initializers = {},
             .inputs = {value_info("x", kFloat, {3}), value_info("i", kInt64, {}),
                        value_info("t", kString, {3}), container_info("s", kFloat),
                        container_info("r", kFloat, 1)},
             .outputs = {Message().text(1, "y").bytes},
             .value_infos = {}},
            24);
  const auto imported = import_model_bytes(std::as_bytes(std::span(whole)), "m.onnx", {});
  if (!imported) return to_text(imported.error());
  const auto& list = imported->summary.unsupported;
  return list.empty() ? "" : list[0].reason;
}

std::string one(std::string_view op, const Strings& inputs, const Strings& attributes = {}) {
  return refusal(node(op, inputs, {"y"}, attributes));
}

TEST(ContainerRefusals, Sequences) {
  EXPECT_EQ(one("SequenceAt", {"r", "i"}), "");
  EXPECT_THAT(one("SequenceAt", {"s", "i"}), HasSubstr("whose rank is not known or differs"));
  EXPECT_THAT(one("SequenceAt", {"x", "i"}), HasSubstr("expected a sequence, got f32[3]"));
  EXPECT_THAT(one("SequenceAt", {"r", "x"}), HasSubstr("input 1: expected an integer, got f32"));
  EXPECT_EQ(one("SequenceInsert", {"s", "x"}), "");
  EXPECT_THAT(one("SequenceInsert", {"s", "s"}),
              HasSubstr("input 1: expected a tensor, got sequence(f32[])"));
  EXPECT_THAT(one("SequenceInsert", {"s", "t"}), HasSubstr("f32"));
  EXPECT_THAT(one("SequenceConstruct", {"x", "s"}), HasSubstr("input 1: expected a tensor"));
  EXPECT_EQ(one("ConcatFromSequence", {"r"}, {attr_int("axis", 0)}), "");
  EXPECT_THAT(one("ConcatFromSequence", {"s"}, {attr_int("axis", 0)}),
              HasSubstr("whose items' rank is not known or differs"));
  EXPECT_THAT(one("ConcatFromSequence", {"r"}, {attr_int("axis", 1)}), HasSubstr("[-1, 1), got 1"));
  EXPECT_THAT(one("SplitToSequence", {"x", "x"}), HasSubstr("expected integers, got f32"));
  EXPECT_THAT(one("Relu", {"s"}), HasSubstr("inputs of type sequence(f32[])"));
}

TEST(ContainerRefusals, SequenceMap) {
  const auto map = [](const Strings& inputs, int64_t body_inputs) {
    GraphParts body;
    for (int64_t k = 0; k < body_inputs; ++k) {
      body.inputs.push_back(Message().text(1, "v" + std::to_string(k)).bytes);
    }
    body.nodes = {node("Relu", {"v0"}, {"z"})};
    body.outputs = {value_info("z", kFloat, {""})};
    return one("SequenceMap", inputs, {attr_graph("body", graph(body))});
  };
  EXPECT_EQ(map({"r"}, 1), "");
  EXPECT_EQ(map({"r", "x"}, 2), "");
  EXPECT_THAT(map({"s"}, 1), HasSubstr("items of input 0, whose rank is not known or differs"));
  EXPECT_THAT(map({"x"}, 1), HasSubstr("input 0: expected a sequence of tensors, got f32[3]"));
  EXPECT_THAT(map({"r", "x"}, 1), HasSubstr("body: expected 2 inputs and 1 outputs, got 1 and 1"));
}

TEST(ContainerRefusals, Optionals) {
  const auto type = [](const std::string& of) {
    return Message().text(1, "type").text(14, of).number(20, 13).bytes;
  };
  EXPECT_EQ(one("Optional", {}, {type(container_type(kFloat))}), "");
  EXPECT_EQ(one("Optional", {"s"}), "");
  EXPECT_THAT(one("Optional", {}), HasSubstr("'type'"));
  EXPECT_THAT(one("Optional", {}, {type(container_type(kFloat, -1, true))}),
              HasSubstr("optionals of other things than tensors and sequences of tensors"));
}

TEST(ContainerRefusals, Strings) {
  EXPECT_EQ(one("StringConcat", {"t", "t"}), "");
  EXPECT_THAT(one("StringConcat", {"t", "x"}), HasSubstr("input 1: expected strings, got f32"));
  EXPECT_THAT(one("StringNormalizer", {"t"}, {attr_text("locale", "tr_TR")}),
              HasSubstr("the upper and lower case of the language 'tr_TR'"));
  EXPECT_THAT(one("RegexFullMatch", {"t"}, {attr_text("pattern", "(a")}),
              HasSubstr("a group without an end at byte 2"));
  EXPECT_THAT(one("RegexFullMatch", {"t"}, {attr_text("pattern", "\\pL")}),
              HasSubstr("a Unicode property at byte 1"));
  EXPECT_THAT(one("Add", {"t", "t"}), HasSubstr("str"));
}

}  // namespace
}  // namespace ingot
