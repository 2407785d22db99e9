// ops/reduce_test.cc: literal cases and the numbered constraints.
#include "ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<double> reduced(ReduceKind kind, const Tensor& x) {
  const auto pool = std::make_shared<ExprPool>();
  return values_of(run_reference(Reduce{.kind = kind, .axes = {-1}}, pool, {x}));
}

TEST(Reduce, Kinds) {
  const Tensor x = tensor_of(DType::f32, {2, 3}, {1, 2, 4, -1, NAN, 3});
  EXPECT_EQ(reduced(ReduceKind::sum, x)[0], 7);
  EXPECT_EQ(reduced(ReduceKind::product, x)[0], 8);
  EXPECT_EQ(reduced(ReduceKind::min, x)[0], 1);
  EXPECT_EQ(reduced(ReduceKind::max, x)[0], 4);
  EXPECT_TRUE(std::isnan(reduced(ReduceKind::min, x)[1]));
  EXPECT_TRUE(std::isnan(reduced(ReduceKind::max, x)[1]));
  const Tensor b = tensor_of(DType::b8, {2, 2}, {1, 0, 1, 1});
  EXPECT_EQ(reduced(ReduceKind::any, b), (std::vector<double>{1, 1}));
  EXPECT_EQ(reduced(ReduceKind::all, b), (std::vector<double>{0, 1}));
}

TEST(Reduce, OfNothing) {
  const Tensor x(DType::f32, {1, 0});
  EXPECT_EQ(reduced(ReduceKind::sum, x)[0], 0);
  EXPECT_EQ(reduced(ReduceKind::product, x)[0], 1);
  EXPECT_EQ(reduced(ReduceKind::min, x)[0], INFINITY);
  EXPECT_EQ(reduced(ReduceKind::max, x)[0], -INFINITY);
  EXPECT_EQ(reduced(ReduceKind::max, Tensor(DType::i8, {1, 0}))[0], -128);
  EXPECT_EQ(reduced(ReduceKind::min, Tensor(DType::u8, {1, 0}))[0], 255);
}

TEST(Reduce, IntegersWrapAndCompareAsTheirType) {
  EXPECT_EQ(reduced(ReduceKind::sum, tensor_of(DType::i8, {1, 2}, {100, 100}))[0], -56);
  Tensor x(DType::u64, {1, 2});
  x.set_integer(0, -1);  // 2^64 - 1
  EXPECT_EQ(reduced(ReduceKind::max, x)[0], 0x1p64);
  EXPECT_EQ(reduced(ReduceKind::min, x)[0], 0);
}

TEST(Reduce, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Reduce{.axes = {0, -1}}, pool, {"f32[a, b, c]"}), "f32[b]");
  EXPECT_EQ(infer_text(Reduce{.axes = {1}, .keepdims = true}, pool, {"f32[a, b]"}), "f32[a, 1]");
  EXPECT_EQ(infer_text(Reduce{.kind = ReduceKind::any}, pool, {"f32[a]"}),  // C1
            "reduce: expected a boolean x for any, got f32");
  EXPECT_EQ(infer_text(Reduce{}, pool, {"b8[a]"}),  // C1
            "reduce: expected x of a float or integer type, got b8");
  EXPECT_EQ(infer_text(Reduce{.axes = {1}}, pool, {"f32[a]"}),  // C2
            "reduce: expected an axis in [-1, 1), got 1");
  EXPECT_EQ(infer_text(Reduce{.axes = {0, -1}}, pool, {"f32[a]"}),  // C2
            "reduce: expected distinct axes, got [0, -1]");
}

}  // namespace
}  // namespace ingot::ops
