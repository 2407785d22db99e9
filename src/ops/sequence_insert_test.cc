// ops/sequence_insert_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// The items behind an insertion of 9 into 1, 2.
std::string inserted(double position) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::i64, {}}));
  const ValueId x = graph.add_input("x", TensorType{DType::i64, {}});
  const ValueId k = graph.add_input("k", TensorType{DType::i64, {}});
  graph.set_outputs({{"y", graph.must_add(SequenceInsert{true}, {s, x, k})}});
  const auto number = [](double value) { return Tensor::scalar(DType::i64, value); };
  const auto y = Interpreter(graph).run(
      std::vector{Tensor::container({number(1), number(2)}), number(9), number(position)});
  if (!y) return to_text(y.error());
  std::string text;
  for (const Tensor& item : (*y)[0].items()) text += concat(item.integer(0), " ");
  return text;
}

TEST(SequenceInsert, CountsFromBothEnds) {
  EXPECT_EQ(inserted(0), "9 1 2 ");
  EXPECT_EQ(inserted(2), "1 2 9 ");
  EXPECT_EQ(inserted(-1), "1 9 2 ");
  EXPECT_EQ(inserted(-2), "9 1 2 ");
}

TEST(SequenceInsert, EndsTheRun) {
  EXPECT_EQ(inserted(3), "sequence_insert: position 3 of 2 items");
  EXPECT_EQ(inserted(-3), "sequence_insert: position -3 of 2 items");
}

TEST(SequenceInsert, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(SequenceInsert{}, pool, {"optional(f32[])", "f32[]"}),  // C1
            "sequence_insert: s: expected a sequence of tensors, got "
            "optional(f32[])");
  EXPECT_EQ(infer_text(SequenceInsert{}, pool, {"sequence(f32[])", "i64[2]"}),  // C1
            "sequence_insert: x: expected a tensor of f32, got i64[2]");
  EXPECT_EQ(infer_text(SequenceInsert{true}, pool, {"sequence(f32[])", "f32[2]"}),  // C2
            "sequence_insert: expected 3 inputs, got 2");
}

}  // namespace
}  // namespace ingot::ops
