// ops/softmax_test.cc: literal cases and the numbered constraints.
#include "ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Softmax, ExponentialsShareOne) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f64, {2}, {0, std::log(3)});
  const Tensor y = run_reference(Softmax{}, pool, {x});
  EXPECT_NEAR(y.real(0), 0.25, 1e-15);  // exp and log round
  EXPECT_NEAR(y.real(1), 0.75, 1e-15);
  EXPECT_NEAR(run_reference(Softmax{.log = true}, pool, {x}).real(0), std::log(0.25), 1e-15);
}

TEST(Softmax, LargeScoresDoNotOverflowAndNanSpreads) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f64, {2, 2}, {1e4, 1e4, NAN, 0});
  const Tensor y = run_reference(Softmax{}, pool, {x});
  EXPECT_EQ(y.real(0), 0.5);
  EXPECT_TRUE(std::isnan(y.real(3)));
}

TEST(Softmax, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Softmax{}, pool, {"f16[n, 3]"}), "f16[n, 3]");
  EXPECT_EQ(infer_text(Softmax{}, pool, {"i32[3]"}),  // C1
            "softmax: expected a floating-point x, got i32");
  EXPECT_EQ(infer_text(Softmax{}, pool, {"f32[]"}),  // C2
            "softmax: expected an axis in [0, 0), got -1");
}

}  // namespace
}  // namespace ingot::ops
