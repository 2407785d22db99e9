// ops/conv_test.cc: literal cases and the numbered constraints.
#include "ops/conv.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

const Conv kPlain{.strides = {1}, .dilations = {1}, .pads_begin = {1}, .pads_end = {1}};

TEST(Conv, SumsOverTapsAndChannels) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {1, 3, 1}, {1, 2, 3});
  const Tensor w = tensor_of(DType::f32, {3, 1, 1}, {10, 100, 1000});
  const Tensor bias = tensor_of(DType::f32, {1}, {5});
  EXPECT_EQ(values_of(run_reference(kPlain, pool, {x, w, bias})),
            (std::vector<double>{2105, 3215, 325}));
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
  const auto pool = std::make_shared<ExprPool>();
  Conv op{.groups = 2};
  const Tensor x = tensor_of(DType::f32, {1, 4}, {1, 2, 3, 4});
  const Tensor w = tensor_of(DType::f32, {2, 2}, {1, 10, 1, 100});
  EXPECT_EQ(values_of(run_reference(op, pool, {x, w})), (std::vector<double>{3, 430}));
}

TEST(Conv, Infer) {
  ExprPool pool;
  const auto with = [](auto change) {
    Conv op = kPlain;
    change(op);
    return op;
  };
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[n, 8, 3]", "f32[3, 3, 5]", "f32[5]"}), "f32[n, 8, 5]");
  EXPECT_EQ(
      infer_text(with([](Conv& op) { op.strides = {2}; }), pool, {"f32[1, 8, 3]", "f32[3, 3, 5]"}),
      "f32[1, 4, 5]");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f16[3, 3, 5]"}),  // C1
            "conv: expected x and w of one type, got f32 and f16");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[8]", "f32[3, 3, 5]"}),  // C2
            "conv: expected x of rank 2 or more, got f32[8]");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f32[3, 5]"}),  // C2
            "conv: expected w of rank 3, got f32[3, 5]");
  EXPECT_EQ(infer_text(with([](Conv& op) { op.strides = {0}; }), pool,
                       {"f32[1, 8, 3]", "f32[3, 3, 5]"}),  // C3
            "conv: expected strides between 1 and 2147483647, got [0]");
  EXPECT_EQ(infer_text(with([](Conv& op) { op.pads_end = {-1}; }), pool,
                       {"f32[1, 8, 3]", "f32[3, 3, 5]"}),  // C3
            "conv: expected pads_end between 0 and 2147483647, got [-1]");
  EXPECT_EQ(infer_text(with([](Conv& op) { op.dilations = {}; }), pool,
                       {"f32[1, 8, 3]", "f32[3, 3, 5]"}),  // C3
            "conv: expected 1 dilations, got []");
  EXPECT_EQ(infer_text(with([](Conv& op) { op.groups = 2; }), pool,
                       {"f32[1, 8, 3]", "f32[3, 3, 5]"}),  // C4
            "conv: expected groups that divide constant channels, got groups 2, 3 input and 5 "
            "output channels");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f32[3, 4, 5]"}),  // C4
            "conv: expected channels of x and groups times channels of w to be equal, got 3 and 4");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f32[11, 3, 5]"}),  // C5
            "conv: expected a window of 11 to fit the padded spatial size 10");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f32[0, 3, 5]"}),  // C5
            "conv: expected constant kernel sizes above 0, got w f32[0, 3, 5]");
  EXPECT_EQ(infer_text(kPlain, pool, {"f32[1, 8, 3]", "f32[3, 3, 5]", "f32[6]"}),  // C6
            "conv: expected output channels and size of bias to be equal, got 5 and 6");
  const Conv packed = with([](Conv& op) {
    op.packed = true;
    op.columns = 5;
  });
  EXPECT_EQ(infer_text(packed, pool, {"f32[1, 8, 3]", "f32[2, 3, 3, 4]"}), "f32[1, 8, 5]");
  EXPECT_EQ(infer_text(packed, pool, {"f32[1, 8, 3]", "f32[3, 3, 3, 4]"}),  // C7
            "conv: expected panels of columns and panels of w to be equal, got 2 and 3");
}

// A window that may not fit gives no output, never a negative size.
TEST(Conv, SymbolicSizesNeverGoBelowZero) {
  ExprPool pool;
  const Conv op{.strides = {1}, .dilations = {1}, .pads_begin = {0}, .pads_end = {0}};
  std::vector<Type> types = {*parse_type("f32[1, h, 1]", pool), *parse_type("f32[3, 1, 1]", pool)};
  InferContext ctx{pool, types, {true, true}, {}};
  const auto out = op.infer(ctx);
  ASSERT_TRUE(out);
  EXPECT_EQ(range_of((*out)[0].tensor.dims[1]).lo, 0) << to_text((*out)[0]);
}

}  // namespace
}  // namespace ingot::ops
