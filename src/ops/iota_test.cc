// ops/iota_test.cc: literal cases and the numbered constraints.
#include "ops/iota.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Iota, CountsAlongItsAxis) {
  const auto pool = std::make_shared<ExprPool>();
  const Iota op{{pool->integer(2), pool->integer(3)}, 1, DType::f32};
  EXPECT_EQ(values_of(run_reference(op, pool, {})), (std::vector<double>{0, 1, 2, 0, 1, 2}));
}

TEST(Iota, Infer) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(infer_text(Iota{{n}, 0, DType::i32}, pool, {}), "i32[n]");
  EXPECT_EQ(infer_text(Iota{{pool.integer(kMaxDim) + 1}, 0, DType::i32}, pool, {}),  // C1
            "iota: expected dims between 0 and 2147483647, got [2147483648]");
  EXPECT_EQ(infer_text(Iota{{n}, 1, DType::i32}, pool, {}),  // C2
            "iota: expected an axis in [-1, 1), got 1");
  EXPECT_EQ(infer_text(Iota{{n}, 0, DType::str}, pool, {}),  // C3
            "iota: expected y of a float or integer type, got str");
}

}  // namespace
}  // namespace ingot::ops
