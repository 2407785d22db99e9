// ops/loop_test.cc: literal cases and the numbered constraints.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ops/concat.h"
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

/// What three turns fail with whose carried list gets two elements longer in each, from two of
/// them. It may be stacked, or added to a list that does not grow.
std::string failure_of_growing(bool stacks, bool adds) {
  const auto pool = std::make_shared<ExprPool>();
  auto body = std::make_shared<Graph>(pool);
  body->add_input("turn", TensorType{DType::i64, {}});
  const ValueId go = body->add_input("go", TensorType{DType::b8, {}});
  const TensorType list{DType::f32, {pool->fresh_symbol("length", true)}};
  const ValueId before = body->add_input("list", list);
  const ValueId pair = body->add_input("pair", *parse_type("f32[2]", *pool));
  const ValueId more = body->must_add(Concat{.axis = 0}, {before, pair});
  std::vector<GraphOutput> outputs = {{"go", go}, {"list", more}};
  if (stacks) outputs.push_back({"each", more});
  if (adds) {
    const Pointwise add{pool->param(0, DType::f32) + pool->param(1, DType::f32), DType::f32};
    outputs.push_back({"sum", body->must_add(add, {before, pair})});
  }
  body->set_outputs(std::move(outputs));
  Graph graph(pool);
  const auto results = graph.add(make_op(Loop{.body = body, .carried = 1}),
                                 {graph.add_input("trips", TensorType{DType::i64, {}}),
                                  graph.add_input("go", TensorType{DType::b8, {}}),
                                  graph.add_input("start", *parse_type("f32[s]", *pool)),
                                  graph.add_input("pair", *parse_type("f32[2]", *pool))},
                                 {"the_loop"});
  EXPECT_TRUE(results) << to_text(results.error());
  graph.set_outputs({{"list", (*results)[0]}});
  const std::vector<Tensor> given = {tensor_of(DType::i64, {}, {3}), tensor_of(DType::b8, {}, {1}),
                                     tensor_of(DType::f32, {2}, {0, 0}),
                                     tensor_of(DType::f32, {2}, {1, 2})};
  const auto got = Interpreter(graph).run(given);
  return got ? "" : to_text(got.error());
}

TEST(Loop, FailsAsItsBodyDoes) {
  EXPECT_EQ(failure_of_growing(false, false), "");
  EXPECT_EQ(
      failure_of_growing(true, false),
      "node 'the_loop': loop: scan output 0: expected dims [4] as in the first turn, got [6]");
  EXPECT_EQ(
      failure_of_growing(false, true),
      "node 'the_loop': loop: turn 1: pointwise: broadcast dims are equal: expected length == "
      "2, got 4 and 2");
}

TEST(Loop, Infer) {
  const auto pool = std::make_shared<ExprPool>();
  Loop op = doubling(pool);
  EXPECT_EQ(infer_text(op, *pool, {"i64[1]", "b8[]", "f32[]"}),  // C1, C2
            "loop: input 0: expected one like i64[], got i64[1]");
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f16[]"}),  // C2
            "loop: input 2: expected one like f32[], got f16[]");
  op.trip_count = {pool->symbol("n")};
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f32[]"}), "f32[], f32[n]");
  op.carried = 2;
  EXPECT_EQ(infer_text(op, *pool, {"i64[]", "b8[]", "f32[]"}),
            "loop: expected at least 2 inputs and 2 carried values, got 3 inputs");
}

}  // namespace
}  // namespace ingot::ops
