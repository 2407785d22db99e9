// ops/slice_test.cc: literal cases and the numbered constraints.
#include "ops/slice.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Slice, TakesABoxWithSteps) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::i32, {2, 5}, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
  const Slice op{
      {pool->integer(0), pool->integer(4)}, {pool->integer(2), pool->integer(3)}, {1, -2}};
  EXPECT_EQ(values_of(run_reference(op, pool, {x})), (std::vector<double>{4, 2, 0, 14, 12, 10}));
}

TEST(Slice, Infer) {
  ExprPool pool;
  const Expr zero = pool.integer(0);
  const Expr n = pool.symbol("n");
  const auto slice = [&](int64_t start, int64_t size, int64_t step) {
    return infer_text(Slice{{pool.integer(start)}, {pool.integer(size)}, {step}}, pool, {"f32[5]"});
  };
  EXPECT_EQ(infer_text(Slice{{zero}, {n - 1}, {1}}, pool, {"f32[n]"}), "f32[n - 1]");
  EXPECT_EQ(slice(5, 0, 1), "f32[0]");
  EXPECT_EQ(infer_text(Slice{{zero}, {zero}, {}}, pool, {"f32[5]"}),  // C1
            "slice: expected 1 starts, sizes and steps, got 1, 1 and 0");
  EXPECT_EQ(slice(0, 1, 0),  // C2
            "slice: expected steps between -2147483647 and 2147483647, not 0, got [0]");
  EXPECT_EQ(slice(0, -1, 1), "slice: expected dims between 0 and 2147483647, got [-1]");  // C2
  EXPECT_EQ(slice(1, 3, 2),                                                               // C3
            "slice: expected elements within axis 0 of 5, got start 1, size 3, step 2");
  EXPECT_EQ(slice(1, 3, -1),  // C3
            "slice: expected elements within axis 0 of 5, got start 1, size 3, step -1");
  EXPECT_EQ(slice(5, 1, 1),  // C3
            "slice: expected elements within axis 0 of 5, got start 5, size 1, step 1");
}

}  // namespace
}  // namespace ingot::ops
