// ops/broadcast_to_test.cc: literal cases and the numbered constraints.
#include "ops/broadcast_to.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(BroadcastTo, RepeatsDimsOfSizeOne) {
  const auto pool = std::make_shared<ExprPool>();
  const BroadcastTo op{{pool->integer(2), pool->integer(2), pool->integer(3)}};
  const Tensor x = tensor_of(DType::i32, {2, 1}, {1, 2});
  EXPECT_EQ(values_of(run_reference(op, pool, {x})),
            (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(BroadcastTo, Infer) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(infer_text(BroadcastTo{{n, pool.integer(3)}}, pool, {"str[3]"}), "str[n, 3]");
  EXPECT_EQ(infer_text(BroadcastTo{{pool.integer(-1)}}, pool, {"f32[1]"}),  // C1
            "broadcast_to: expected dims between 0 and 2147483647, got [-1]");
  EXPECT_EQ(infer_text(BroadcastTo{{n}}, pool, {"f32[1, n]"}),  // C1
            "broadcast_to: expected at least 2 dims, got {n}");
  EXPECT_EQ(infer_text(BroadcastTo{{pool.integer(4)}}, pool, {"f32[3]"}),  // C2
            "broadcast_to: expected dims of x and y to be equal, got 3 and 4");
}

}  // namespace
}  // namespace ingot::ops
