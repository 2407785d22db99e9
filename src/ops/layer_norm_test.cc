// ops/layer_norm_test.cc: literal cases and the numbered constraints.
#include "ops/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(LayerNorm, NormalisesToMeanZeroAndVarianceOne) {
  const auto pool = std::make_shared<ExprPool>();
  const LayerNorm op{.axis = -1, .epsilon = 0};
  const Tensor x = tensor_of(DType::f64, {2, 2}, {1, 3, 10, 30});
  const Tensor scale = tensor_of(DType::f64, {2}, {2, 3});
  const Tensor bias = tensor_of(DType::f64, {2}, {1, 1});
  EXPECT_EQ(values_of(run_reference(op, pool, {x})), (std::vector<double>{-1, 1, -1, 1}));
  EXPECT_EQ(values_of(run_reference(op, pool, {x, scale, bias})),
            (std::vector<double>{-1, 4, -1, 4}));
}

TEST(LayerNorm, Infer) {
  ExprPool pool;
  const LayerNorm op;
  EXPECT_EQ(infer_text(op, pool, {"f16[n, 4]", "f16[4]", "f16[4]"}), "f16[n, 4]");
  EXPECT_EQ(infer_text(op, pool, {"i32[n, 4]"}),  // C1
            "layer_norm: expected a floating-point x, got i32");
  EXPECT_EQ(infer_text(op, pool, {"f16[n, 4]", "f32[4]"}),  // C1
            "layer_norm: expected x and scale of one type, got f16 and f32");
  EXPECT_EQ(infer_text(LayerNorm{.axis = -3}, pool, {"f16[n, 4]"}),  // C2
            "layer_norm: expected an axis in [-2, 2), got -3");
  EXPECT_EQ(infer_text(op, pool, {"f16[n, 4]", "f16[5]"}),  // C3
            "layer_norm: expected normalised dims of x and dims of scale to be equal, got 4 and 5");
  EXPECT_EQ(infer_text(op, pool, {"f16[n, 4]", "-", "f16[n, 4]"}),  // C3
            "layer_norm: expected bias of rank 1, got f16[n, 4]");
  EXPECT_EQ(infer_text(LayerNorm{.epsilon = -1}, pool, {"f16[n, 4]"}),  // C4
            "layer_norm: expected a finite epsilon of 0 or more, got -1");
}

}  // namespace
}  // namespace ingot::ops
