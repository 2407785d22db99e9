// ops/shape_of_test.cc: literal cases and the numbered constraints.
#include "ops/shape_of.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ShapeOf, ListsDims) {
  const auto pool = std::make_shared<ExprPool>();
  EXPECT_EQ(values_of(run_reference(ShapeOf{}, pool, {Tensor(DType::f32, {3, 0})})),
            (std::vector<double>{3, 0}));
}

TEST(ShapeOf, FoldsToDimensionExpressions) {
  Graph graph;
  const Expr n = graph.pool().symbol("n");
  const ValueId x = graph.add_input("x", TensorType{DType::f32, {n, graph.pool().integer(4)}});
  const auto contents = symbolic_contents(graph, graph.must_add(ShapeOf{}, {x}));
  ASSERT_TRUE(contents);
  EXPECT_EQ(*contents, (Exprs{n, graph.pool().integer(4)}));
}

TEST(ShapeOf, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ShapeOf{}, pool, {"str[n, m]"}), "i64[2]");
  EXPECT_EQ(infer_text(ShapeOf{}, pool, {"f32[]"}), "i64[0]");
}

}  // namespace
}  // namespace ingot::ops
