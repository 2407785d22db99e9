// ops/dynamic_quantize_test.cc: literal cases and the numbered constraints.
#include "ops/dynamic_quantize.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<Tensor> quantized(const Tensor& x) {
  ReferenceContext ctx;
  ctx.in = std::span(&x, 1);
  ctx.present = {true};
  ctx.out_dims = {x.dims(), {}, {}};
  ctx.out_dtypes = {DType::u8, DType::f32, DType::u8};
  return DynamicQuantize{}.reference(ctx);
}

// From ONNX's own cases of DynamicQuantizeLinear, whose values were computed in f32.
TEST(DynamicQuantize, RoundsAsF32Does) {
  const auto y = quantized(tensor_of(DType::f32, {6}, {0, 2, -3, -2.5, 1.34, 0.5}));
  EXPECT_EQ(values_of(y[0]), (std::vector<double>{153, 255, 0, 26, 221, 179}));
  EXPECT_FLOAT_EQ(static_cast<float>(y[1].real(0)), 0.0196078438f);
  EXPECT_EQ(y[2].integer(0), 153);
}

TEST(DynamicQuantize, TheRangeIncludesZero) {
  const auto y = quantized(tensor_of(DType::f32, {6}, {-1, -2.1, -1.3, -2.5, -3.34, -4}));
  EXPECT_EQ(values_of(y[0]), (std::vector<double>{191, 121, 172, 96, 42, 0}));
  EXPECT_EQ(y[2].integer(0), 255);
}

TEST(DynamicQuantize, Constraints) {
  ExprPool pool;
  EXPECT_EQ(infer_text(DynamicQuantize{}, pool, {"f32[n]"}), "u8[n], f32[], u8[]");
  EXPECT_EQ(infer_text(DynamicQuantize{}, pool, {"f16[n]"}),  // C1
            "dynamic_quantize: expected x of f32, got f16");
}

}  // namespace
}  // namespace ingot::ops
