// ops/bitcast_test.cc: literal cases and the numbered constraints.
#include "ops/bitcast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Bitcast, ReadsTheSameBitsAsAnotherType) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {2, 2}, {1, -2, 0, -0.0});
  const Tensor y = run_reference(Bitcast{.to = DType::i32}, pool, {x});
  EXPECT_EQ(y.dims(), x.dims());
  EXPECT_EQ(values_of(y), (std::vector<double>{0x3f800000, -0x40000000, 0, -0x80000000LL}));
  EXPECT_EQ(values_of(run_reference(Bitcast{.to = DType::f32}, pool, {y})), values_of(x));
}

TEST(Bitcast, NanAndEmptyAndPackedElements) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor nan = tensor_of(DType::f16, {}, {NAN});
  EXPECT_EQ(run_reference(Bitcast{.to = DType::u16}, pool, {nan}).integer(0) & 0x7fff, 0x7e00);
  const Tensor none = tensor_of(DType::f64, {0, 3}, {});
  EXPECT_EQ(run_reference(Bitcast{.to = DType::i64}, pool, {none}).size(), 0);
  const Tensor nibbles = tensor_of(DType::u4, {3}, {15, 7, 8});
  EXPECT_EQ(values_of(run_reference(Bitcast{.to = DType::i4}, pool, {nibbles})),
            (std::vector<double>{-1, 7, -8}));
}

TEST(Bitcast, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Bitcast{}, pool, {"f32[n, 3]"}), "i32[n, 3]");
  EXPECT_EQ(infer_text(Bitcast{.to = DType::i64}, pool, {"c64[3]"}),  // C1
            "bitcast: expected numbers or truth values, got c64 and i64");
  EXPECT_EQ(infer_text(Bitcast{}, pool, {"f64[3]"}),  // C2
            "bitcast: expected elements of 32 bits as in i32, got f64");
  EXPECT_EQ(infer_text(Bitcast{.to = DType::b8}, pool, {"u8[3]"}),  // C3
            "bitcast: expected x of b8 as is the result, got u8");
  EXPECT_EQ(infer_text(Bitcast{.to = DType::b8}, pool, {"b8[3]"}), "b8[3]");
}

}  // namespace
}  // namespace ingot::ops
