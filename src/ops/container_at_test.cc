// ops/container_at_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// What the reference says to an item of a sequence of two, of rank 1 and of rank 0.
std::string item_text(int64_t rank, double position) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::f32, {}}));
  const ValueId k = graph.add_input("k", TensorType{DType::i64, {}});
  graph.set_outputs({{"y", graph.must_add(ContainerAt{rank}, {s, k})}});
  const Tensor sequence =
      Tensor::container({tensor_of(DType::f32, {2}, {1, 2}), Tensor::scalar(DType::f32, 3)});
  const auto y =
      Interpreter(graph).run(std::vector{sequence, Tensor::scalar(DType::i64, position)});
  return y ? concat((*y)[0].dims(), values_of((*y)[0])) : to_text(y.error());
}

TEST(ContainerAt, CountsFromBothEnds) {
  EXPECT_EQ(item_text(1, 0), "[2][1, 2]");
  EXPECT_EQ(item_text(1, -2), "[2][1, 2]");
  EXPECT_EQ(item_text(0, -1), "[][3]");
}

TEST(ContainerAt, EndsTheRun) {
  EXPECT_EQ(item_text(1, 2), "container_at: position 2 of 2 items");
  EXPECT_EQ(item_text(1, -3), "container_at: position -3 of 2 items");
  EXPECT_EQ(item_text(1, 1), "container_at: expected an item of rank 1, got 0");
}

TEST(ContainerAt, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ContainerAt{}, pool, {"f32[2]", "i64[]"}),  // C1
            "container_at: x: expected a sequence or optional, got f32[2]");
  EXPECT_EQ(infer_text(ContainerAt{}, pool, {"sequence(f32[])", "i32[]"}),  // C2
            "container_at: position: expected i64[], got i32[]");
  EXPECT_EQ(infer_text(ContainerAt{65}, pool, {"sequence(f32[])", "i64[]"}),  // C3
            "container_at: expected a rank in 0..64, got 65");
}

}  // namespace
}  // namespace ingot::ops
