// ops/concat_copy_test.cc: literal cases and the numbered constraints.
#include "ops/concat_copy.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ConcatCopy, PutsPartsSideBySide) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor a = tensor_of(DType::f32, {2, 1}, {1, 2});
  const Tensor b = tensor_of(DType::f32, {2, 2}, {3, 4, 5, 6});
  const Tensor y = run_reference(ConcatCopy{.axis = 1, .parts = 2}, pool, {a, b});
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values_of(y), (std::vector<double>{1, 3, 4, 2, 5, 6}));
}

TEST(ConcatCopy, Infer) {
  ExprPool pool;
  const ConcatCopy two{.axis = 0, .parts = 2};
  EXPECT_EQ(infer_text(two, pool, {"f32[n, 3]", "f32[2, 3]"}), "f32[n + 2, 3]");
  EXPECT_EQ(infer_text(two, pool, {"f32[1, 3]"}), "concat_copy: expected 2 inputs, got 1");  // C1
  EXPECT_EQ(infer_text(two, pool, {"i4[2]", "i4[2]"}),                                       // C1
            "concat_copy: expected elements of whole bytes, got i4");
}

}  // namespace
}  // namespace ingot::ops
