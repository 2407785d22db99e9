// ops/sequence_erase_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(SequenceErase, TakesTheLastWithoutAPosition) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::i64, {}}));
  graph.set_outputs({{"y", graph.must_add(SequenceErase{}, {s})}});
  const Tensor two =
      Tensor::container({Tensor::scalar(DType::i64, 1), Tensor::scalar(DType::i64, 2)});
  const auto y = Interpreter(graph).run(std::vector{two});
  ASSERT_TRUE(y) << to_text(y.error());
  ASSERT_EQ((*y)[0].items().size(), 1u);
  EXPECT_EQ((*y)[0].items()[0].integer(0), 1);
  const auto none = Interpreter(graph).run(std::vector{Tensor::container({})});
  ASSERT_FALSE(none);
  EXPECT_EQ(to_text(none.error()), "sequence_erase: position -1 of 0 items");
}

TEST(SequenceErase, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(SequenceErase{}, pool, {"f32[2]"}),  // C1
            "sequence_erase: s: expected a sequence of tensors, got f32[2]");
  EXPECT_EQ(infer_text(SequenceErase{true}, pool, {"sequence(f32[])", "i64[1]"}),  // C2
            "sequence_erase: position: expected i64[], got i64[1]");
}

}  // namespace
}  // namespace ingot::ops
