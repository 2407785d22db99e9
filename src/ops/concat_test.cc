// ops/concat_test.cc: literal cases and the numbered constraints.
#include "ops/concat.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Concat, PutsInputsSideBySide) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor a = tensor_of(DType::i64, {2, 1}, {1, 2});
  const Tensor b = tensor_of(DType::i64, {2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(values_of(run_reference(Concat{.axis = -1}, pool, {a, b})),
            (std::vector<double>{1, 3, 4, 2, 5, 6}));
}

TEST(Concat, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Concat{}, pool, {"f32[n, 2]", "f32[3, 2]"}), "f32[n + 3, 2]");
  EXPECT_EQ(infer_text(Concat{}, pool, {}), "concat: expected an input, got none");  // C1
  EXPECT_EQ(infer_text(Concat{}, pool, {"f32[1]", "f16[1]"}),                        // C1
            "concat: expected input 0 and input 1 of one type, got f32 and f16");
  EXPECT_EQ(infer_text(Concat{}, pool, {"f32[1]", "f32[1, 1]"}),  // C1
            "concat: expected input 1 of rank 1, got f32[1, 1]");
  EXPECT_EQ(infer_text(Concat{.axis = 1}, pool, {"f32[1]"}),  // C2
            "concat: expected an axis in [-1, 1), got 1");
  EXPECT_EQ(infer_text(Concat{}, pool, {"f32[1, 2]", "f32[1, 3]"}),  // C3
            "concat: expected dims 1 of inputs 0 and 1 to be equal, got 2 and 3");
}

}  // namespace
}  // namespace ingot::ops
