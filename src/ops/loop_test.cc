// ops/loop_test.cc: literal cases and the numbered constraints.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ops/control.h"
#include "ops/pointwise.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// v = 2 v while v < 20; every v is stacked.
Loop doubling(const std::shared_ptr<ExprPool>& pool) {
  auto body = std::make_shared<Graph>(pool);
  body->add_input("turn", TensorType{DType::i64, {}});
  body->add_input("condition", TensorType{DType::b8, {}});
  const ValueId v = body->add_input("v", TensorType{DType::f32, {}});
  const Expr p0 = pool->param(0, DType::f32);
  const ValueId next = body->must_add(Pointwise{p0 + p0, DType::f32}, {v});
  const ValueId more = body->must_add(Pointwise{less(p0, pool->real(20)), DType::b8}, {next});
  body->set_outputs({{"more", more}, {"v", next}, {"each", next}});
  return {.body = body, .carried = 1};
}

std::vector<std::vector<double>> run(double trips, double condition) {
  const auto pool = std::make_shared<ExprPool>();
  Graph graph(pool);
  std::vector<ValueId> inputs = {graph.add_input("trips", TensorType{DType::i64, {}}),
                                 graph.add_input("condition", TensorType{DType::b8, {}}),
                                 graph.add_input("v", TensorType{DType::f32, {}})};
  const auto outputs = graph.add(make_op(doubling(pool)), inputs);
  EXPECT_TRUE(outputs);
  graph.set_outputs({{"v", (*outputs)[0]}, {"each", (*outputs)[1]}});
  const std::vector<Tensor> given = {tensor_of(DType::i64, {}, {trips}),
                                     tensor_of(DType::b8, {}, {condition}),
                                     tensor_of(DType::f32, {}, {3})};
  const auto results = Interpreter(graph).run(given);
  EXPECT_TRUE(results) << to_text(results.error());
  return {values_of((*results)[0]), values_of((*results)[1])};
}

TEST(Loop, EndsByTripsOrByItsCondition) {
  EXPECT_EQ(run(2, 1), (std::vector<std::vector<double>>{{12}, {6, 12}}));
  EXPECT_EQ(run(99, 1), (std::vector<std::vector<double>>{{24}, {6, 12, 24}}));
  EXPECT_EQ(run(0, 1), (std::vector<std::vector<double>>{{3}, {}}));
  EXPECT_EQ(run(99, 0), (std::vector<std::vector<double>>{{3}, {}}));
}

TEST(Loop, Infer) {
  const auto pool = std::make_shared<ExprPool>();
  Loop op = doubling(pool);
  EXPECT_EQ(infer_text(op, *pool, {"i64[1]", "b8[]", "f32[]"}),  // C1, C2
            "loop: input 0: expected a tensor like i64[], got i64[1]");
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f16[]"}),  // C2
            "loop: input 2: expected a tensor like f32[], got f16[]");
  op.trip_count = {pool->symbol("n")};
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f32[]"}), "f32[], f32[n]");
  op.carried = 2;
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f32[]"}),
            "loop: expected at least 2 inputs and 2 carried values, got 3 inputs");
}

}  // namespace
}  // namespace ingot::ops
