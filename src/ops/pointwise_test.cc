// ops/pointwise_test.cc: literal cases and the numbered constraints.
#include "ops/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Pointwise, BroadcastsItsOperands) {
  const auto pool = std::make_shared<ExprPool>();
  const Expr p0 = pool->param(0, DType::f32);
  const Expr p1 = pool->param(1, DType::f32);
  const Tensor a = tensor_of(DType::f32, {2, 1}, {1, 2});
  const Tensor b = tensor_of(DType::f16, {3}, {10, 20, 30});
  EXPECT_EQ(values_of(run_reference(Pointwise{p0 + p1, DType::f32}, pool, {a, b})),
            (std::vector<double>{11, 21, 31, 12, 22, 32}));
}

TEST(Pointwise, CastsItsResult) {
  const auto pool = std::make_shared<ExprPool>();
  const Expr p0 = pool->param(0, DType::f32);
  const Tensor x = tensor_of(DType::f32, {4}, {1.9, -1.9, 1e20, NAN});
  EXPECT_EQ(values_of(run_reference(Pointwise{p0, DType::i8}, pool, {x})),
            (std::vector<double>{1, -1, 127, 0}));
}

TEST(Pointwise, KnowsTheSymbols) {
  const auto pool = std::make_shared<ExprPool>();
  Graph graph(pool);
  const Expr n = pool->symbol("n");
  const ValueId x = graph.add_input("x", TensorType{DType::f32, {n}});
  const Expr mean = pool->param(0, DType::f32) / cast(n, DType::f32);
  graph.set_outputs({{"y", graph.must_add(Pointwise{mean, DType::f32}, {x})}});
  const auto y = Interpreter(graph).run(std::vector{tensor_of(DType::f32, {2}, {3, 5})});
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(values_of((*y)[0]), (std::vector<double>{1.5, 2.5}));
}

TEST(Pointwise, Infer) {
  ExprPool pool;
  const Expr p0 = pool.param(0, DType::f32);
  const Expr p1 = pool.param(1, DType::f32);
  const Pointwise add{p0 + p1, DType::f32};
  EXPECT_EQ(infer_text(add, pool, {"f16[n, 1]", "f32[3]"}), "f32[n, 3]");
  EXPECT_EQ(infer_text(add, pool, {"f32[n]", "f32[m]"}), "f32[n]; n == m");
  EXPECT_EQ(infer_text(Pointwise{pool.real(1), DType::f32}, pool, {}), "f32[]");
  EXPECT_EQ(infer_text(add, pool, {"c64[2]", "f32[2]"}),  // C1
            "pointwise: expected input 0 of numbers, booleans or strings, got c64");
  EXPECT_EQ(infer_text(Pointwise{p0, DType::c64}, pool, {"f32[2]"}),  // C1
            "pointwise: expected a result of numbers, booleans or strings, got c64");
  EXPECT_TRUE(infer_text(add, pool, {"f32[2]", "f32[3]"}).starts_with("pointwise: "));  // C2
  const Expr i = pool.fresh_index(pool.integer(9));
  EXPECT_TRUE(infer_text(Pointwise{p0 + cast(i, DType::f32), DType::f32}, pool, {"f32[2]"})  // C3
                  .starts_with("pointwise: expected a value over params and symbols, got "));
  EXPECT_EQ(infer_text(add, pool, {"f32[2]"}),  // C4
            "pointwise: expected params below p1, got p1");
  EXPECT_EQ(infer_text(add, pool, {"f32[2]", "f64[2]"}),  // C4
            "pointwise: expected p1 of type f64, got f32");
}

TEST(Pointwise, ChoosesAmongStringsAndNothingElse) {
  ExprPool pool;
  const Expr c = pool.param(0, DType::b8), x = pool.param(1, DType::i64),
             y = pool.param(2, DType::i64);
  const auto text = [&](Expr value, DType dtype) {
    return infer_text(Pointwise{value, dtype}, pool, {"b8[n]", "str[]", "str[n]"});
  };
  EXPECT_EQ(text(select(c, x, y), DType::str), "str[n]");
  EXPECT_EQ(text(x, DType::str), "str[n]");
  for (const auto& [value, dtype] : {std::pair(x + y, DType::str),  // C5
                                     std::pair(select(less(x, y), x, y), DType::str),
                                     std::pair(select(c, x, pool.integer(0)), DType::str),
                                     std::pair(equal(x, y), DType::b8), std::pair(x, DType::i64)}) {
    EXPECT_EQ(text(value, dtype),
              "pointwise: expected strings to be chosen from alone, got " + to_text(value));
  }
}

}  // namespace
}  // namespace ingot::ops
