// ops/if_test.cc: literal cases and the numbered constraints.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ops/control.h"
#include "ops/pointwise.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// y = x + addend for x of the given type.
GraphRef adds(const std::shared_ptr<ExprPool>& pool, double addend, std::string_view type) {
  auto body = std::make_shared<Graph>(pool);
  const ValueId x = body->add_input("x", *parse_type(type, *pool));
  const Expr p0 = pool->param(0, DType::f32);
  body->set_outputs({{"y", body->must_add(Pointwise{p0 + pool->real(addend), DType::f32}, {x})}});
  return body;
}

TEST(If, RunsOneBody) {
  const auto pool = std::make_shared<ExprPool>();
  const If op{adds(pool, 1, "f32[2]"), adds(pool, 10, "f32[2]")};
  const Tensor x = tensor_of(DType::f32, {2}, {5, 6});
  EXPECT_EQ(values_of(run_reference(op, pool, {tensor_of(DType::b8, {}, {1}), x})),
            (std::vector<double>{6, 7}));
  EXPECT_EQ(values_of(run_reference(op, pool, {tensor_of(DType::b8, {}, {0}), x})),
            (std::vector<double>{15, 16}));
}

TEST(If, FailsAsItsBodyDoes) {
  const auto pool = std::make_shared<ExprPool>();
  auto sum = std::make_shared<Graph>(pool), first = std::make_shared<Graph>(pool);
  for (Graph* body : {sum.get(), first.get()}) {
    body->add_input("x", *parse_type("f32[n]", *pool));
    body->add_input("y", *parse_type("f32[m]", *pool));
  }
  const ValueId x = sum->inputs()[0].value, y = sum->inputs()[1].value;
  const Pointwise add{pool->param(0, DType::f32) + pool->param(1, DType::f32), DType::f32};
  sum->set_outputs({{"z", sum->must_add(add, {x, y})}});
  first->set_outputs({{"z", first->inputs()[0].value}});
  Graph graph(pool);
  const ValueId condition = graph.add_input("condition", TensorType{DType::b8, {}});
  const ValueId a = graph.add_input("a", *parse_type("f32[n]", *pool));
  const ValueId b = graph.add_input("b", *parse_type("f32[m]", *pool));
  graph.set_outputs({{"z", graph.must_add(If{sum, first}, {condition, a, b}, {"the_branch"})}});
  const auto run = [&](double chosen) {
    const std::vector<Tensor> given = {tensor_of(DType::b8, {}, {chosen}),
                                       tensor_of(DType::f32, {2}, {5, 6}),
                                       tensor_of(DType::f32, {3}, {7, 8, 9})};
    return Interpreter(graph).run(given);
  };
  const auto failed = run(1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(to_text(failed.error()),
            "node 'the_branch': if: pointwise: broadcast dims are equal: expected n == m, got 2 "
            "and 3");
  EXPECT_TRUE(run(0));
}

TEST(If, Infer) {
  const auto pool = std::make_shared<ExprPool>();
  const GraphRef body = adds(pool, 1, "f32[n]");
  EXPECT_EQ(infer_text(If{body, body}, *pool, {"b8[]", "f32[n]"}), "f32[n]");
  EXPECT_EQ(infer_text(If{body, body}, *pool, {"b8[1]", "f32[n]"}),  // C1
            "if: condition: expected one b8, got b8[1]");
  EXPECT_EQ(infer_text(If{body, nullptr}, *pool, {"b8[]", "f32[n]"}),  // C2
            "if: expected a else_body, got none");
  EXPECT_EQ(infer_text(If{body, body}, *pool, {"b8[]", "f32[3, 3]"}),  // C2
            "if: then_body: expected input 0 of type f32[n], got f32[3, 3]");
}

}  // namespace
}  // namespace ingot::ops
