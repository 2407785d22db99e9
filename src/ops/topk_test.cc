// ops/topk_test.cc: literal cases and the numbered constraints.
#include "ops/topk.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(TopK, KeepsTheOrderOfEqualElements) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {1, 6}, {1, 3, 3, -0.0, 0, 2});
  const TopK op{.axis = 1, .largest = true, .count = pool->integer(4)};
  EXPECT_EQ(values_of(run_reference(op, pool, {x})), (std::vector<double>{3, 3, 2, 1}));
  ReferenceContext ctx;
  ctx.in = std::span(&x, 1);
  ctx.present = {true};
  EXPECT_EQ(values_of(op.reference(ctx)[1]), (std::vector<double>{1, 2, 5, 0}));
  const TopK rising{.axis = -1, .largest = false, .count = pool->integer(3)};
  EXPECT_EQ(values_of(rising.reference(ctx)[1]), (std::vector<double>{3, 4, 0}));
}

TEST(TopK, NanIsTheLargest) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {3}, {INFINITY, NAN, 1});
  const Tensor y = run_reference(TopK{.axis = 0, .count = pool->integer(2)}, pool, {x});
  EXPECT_TRUE(std::isnan(y.real(0)));
  EXPECT_EQ(y.real(1), INFINITY);
}

TEST(TopK, Constraints) {
  ExprPool pool;
  const TopK two{.axis = 0, .count = pool.integer(2)};
  EXPECT_EQ(infer_text(two, pool, {"f32[3]"}), "f32[2], i64[2]");
  EXPECT_EQ(infer_text(two, pool, {"str[3]"}),  // C1
            "topk: expected x of a float or integer type, got str");
  EXPECT_EQ(infer_text(TopK{.axis = 1, .count = two.count}, pool, {"f32[3]"}),  // C2
            "topk: expected an axis in [-1, 1), got 1");
  EXPECT_EQ(infer_text(two, pool, {"f32[1]"}),  // C3
            "topk: expected count not above 1, got 2");
}

}  // namespace
}  // namespace ingot::ops
