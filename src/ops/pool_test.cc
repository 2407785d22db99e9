// ops/pool_test.cc: literal cases and the numbered constraints.
#include "ops/pool.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

Pool plain(const char* kind) {
  return {.kind = kind,
          .kernel = {2},
          .strides = {2},
          .dilations = {1},
          .pads_begin = {1},
          .pads_end = {0}};
}

TEST(Pool, MaximumAndAverage) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {1, 3, 1}, {2, 4, 8});
  EXPECT_EQ(values_of(run_reference(plain("max"), pool, {x})), (std::vector<double>{2, 8}));
  EXPECT_EQ(values_of(run_reference(plain("average"), pool, {x})), (std::vector<double>{2, 6}));
  Pool padded = plain("average");
  padded.count_include_pad = true;
  EXPECT_EQ(values_of(run_reference(padded, pool, {x})), (std::vector<double>{1, 6}));
}

// The window over the end counts neither what lies beyond the padding nor, if it would begin there,
// at all. Expected values: torch.nn.functional.avg_pool1d(ceil_mode=True).
TEST(Pool, CeilModeHangsOverTheEnd) {
  const auto pool = std::make_shared<ExprPool>();
  Pool op{.kind = "average",
          .kernel = {2},
          .strides = {2},
          .dilations = {1},
          .pads_begin = {0},
          .pads_end = {0},
          .ceil_mode = true,
          .count_include_pad = true};
  const Tensor x = tensor_of(DType::f32, {1, 3, 1}, {2, 4, 8});
  EXPECT_EQ(values_of(run_reference(op, pool, {x})), (std::vector<double>{3, 8}));
  op.kernel = {1};
  op.strides = {3};
  const Tensor two = tensor_of(DType::f32, {1, 2, 1}, {2, 4});
  EXPECT_EQ(values_of(run_reference(op, pool, {two})), (std::vector<double>{2}));
}

TEST(Pool, Infer) {
  ExprPool pool;
  const Pool op = plain("max");
  const auto with = [&](auto change) {
    Pool changed = op;
    change(changed);
    return changed;
  };
  EXPECT_EQ(infer_text(op, pool, {"u8[n, 8, c]"}), "u8[n, 4, c]");
  EXPECT_EQ(infer_text(plain("average"), pool, {"u8[n, 8, c]"}),  // C1
            "pool: expected a floating-point x, got u8");
  EXPECT_EQ(infer_text(op, pool, {"f32[n]"}),  // C2
            "pool: expected x of rank 2 or more, got f32[n]");
  EXPECT_EQ(infer_text(with([](Pool& p) { p.kernel = {0}; }), pool, {"f32[1, 8, 1]"}),  // C3
            "pool: expected kernel sizes between 1 and 2147483647, got [0]");
  EXPECT_EQ(infer_text(with([](Pool& p) {
                         p.kernel = {2, 2};
                       }),
                       pool, {"f32[1, 8, 1]"}),  // C3
            "pool: expected 1 kernel sizes, got [2, 2]");
  EXPECT_EQ(infer_text(with([](Pool& p) { p.strides = {0}; }), pool, {"f32[1, 8, 1]"}),  // C3
            "pool: expected strides between 1 and 2147483647, got [0]");
  EXPECT_EQ(infer_text(with([](Pool& p) { p.kernel = {99}; }), pool, {"f32[1, 8, 1]"}),  // C4
            "pool: expected a window of 99 to fit the padded spatial size 9");
  EXPECT_EQ(infer_text(with([](Pool& p) { p.kind = "median"; }), pool, {"f32[1, 8, 1]"}),  // C5
            "pool: expected kind max or average, got 'median'");
}

}  // namespace
}  // namespace ingot::ops
