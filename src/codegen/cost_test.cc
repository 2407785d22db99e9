// codegen/cost_test.cc: operations of small regions, counted by hand.
#include "codegen/cost.h"

#include <gtest/gtest.h>

#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace ingot {
namespace {

TensorType f32(Exprs dims) {
  return {DType::f32, std::move(dims)};
}

TEST(Cost, CountsProductsAndWhatFollowsThem) {
  Graph g;
  ExprPool& pool = g.pool();
  const Expr n = pool.symbol("n");
  const ValueId x = g.add_input("x", f32({n, pool.integer(8)}));
  const ValueId w = g.add_input("w", f32({pool.integer(8), pool.integer(4)}));
  const ValueId product = g.must_add(ops::MatMul{}, {x, w});
  const Expr p = pool.param(0, DType::f32);
  // Two operations for each of 4 n elements, after 4 n products of 8 terms; then a sum of 4 n.
  const ValueId y = g.must_add(ops::Pointwise{exp(p + 1.0), DType::f32}, {product});
  g.set_outputs({{"y", g.must_add(ops::Reduce{ReduceKind::sum, {1}, false}, {y})}});
  EXPECT_TRUE(provably_equal(operations_of(g), n * (64 + 8 + 4))) << to_text(operations_of(g));
}

TEST(Cost, CountsConvolutions) {
  Graph g;
  ExprPool& pool = g.pool();
  const auto number = [&](int64_t value) { return pool.integer(value); };
  const ValueId x = g.add_input("x", f32({number(1), number(6), number(6), number(4)}));
  const ValueId w = g.add_input("w", f32({number(3), number(3), number(2), number(10)}));
  ops::Conv conv;
  conv.strides = conv.dilations = {1, 1};
  conv.pads_begin = conv.pads_end = {0, 0};
  conv.groups = 2;
  g.set_outputs({{"y", g.must_add(conv, {x, w})}});
  // 4 x 4 x 10 elements of 3 x 3 x 2 products.
  EXPECT_TRUE(operations_of(g).is_int(160 * 18 * 2)) << to_text(operations_of(g));
}

}  // namespace
}  // namespace ingot
