// ops/sequence_concat_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::string joined(SequenceConcat op, std::vector<Tensor> items) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::f32, {}}));
  graph.set_outputs({{"y", graph.must_add(op, {s})}});
  const auto y = Interpreter(graph).run(std::vector{Tensor::container(std::move(items))});
  return y ? concat((*y)[0].dims(), values_of((*y)[0])) : to_text(y.error());
}

TEST(SequenceConcat, JoinsAndStacks) {
  const Tensor a = tensor_of(DType::f32, {1, 2}, {1, 2});
  const Tensor b = tensor_of(DType::f32, {1, 1}, {3});
  EXPECT_EQ(joined({.axis = 1, .rank = 2}, {a, b}), "[1, 3][1, 2, 3]");
  EXPECT_EQ(joined({.axis = -1, .new_axis = true, .rank = 2}, {a, a}), "[1, 2, 2][1, 1, 2, 2]");
}

TEST(SequenceConcat, EndsTheRun) {
  const Tensor a = tensor_of(DType::f32, {1, 2}, {1, 2});
  EXPECT_EQ(joined({.rank = 2}, {}), "sequence_concat: the sequence is empty");
  EXPECT_EQ(joined({.rank = 2}, {a, tensor_of(DType::f32, {1, 1}, {3})}),
            "sequence_concat: expected items of one shape but for the axis, got "
            "[1, 2] and [1, 1]");
  EXPECT_EQ(joined({.rank = 2}, {Tensor::scalar(DType::f32, 1)}),
            "sequence_concat: expected items of rank 2, got 0");
}

TEST(SequenceConcat, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(SequenceConcat{}, pool, {"f32[2]"}),  // C1
            "sequence_concat: s: expected a sequence of tensors, got f32[2]");
  EXPECT_EQ(infer_text(SequenceConcat{.rank = 0}, pool, {"sequence(f32[])"}),  // C2
            "sequence_concat: expected a rank in 1..63, got 0");
  EXPECT_EQ(infer_text(SequenceConcat{.axis = 1}, pool, {"sequence(f32[])"}),  // C3
            "sequence_concat: expected an axis in [-1, 1), got 1");
}

}  // namespace
}  // namespace ingot::ops
