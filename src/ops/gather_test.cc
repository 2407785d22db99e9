// ops/gather_test.cc: literal cases and the numbered constraints.
#include "ops/gather.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Gather, PicksSlices) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor at = tensor_of(DType::i64, {2}, {-1, 0});
  EXPECT_EQ(values_of(run_reference(Gather{}, pool, {x, at})), (std::vector<double>{5, 6, 1, 2}));
  const Tensor one = tensor_of(DType::i32, {}, {1});
  EXPECT_EQ(values_of(run_reference(Gather{.axis = 1}, pool, {x, one})),
            (std::vector<double>{2, 4, 6}));
}

TEST(Gather, WildIndicesStayInside) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {3}, {1, 2, 3});
  const Tensor at = tensor_of(DType::i64, {3}, {7, -9, 0x1p62});
  EXPECT_EQ(values_of(run_reference(Gather{}, pool, {x, at})), (std::vector<double>{3, 1, 3}));
}

TEST(Gather, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Gather{.axis = 1}, pool, {"f32[a, b, c]", "i64[n, 2]"}), "f32[a, n, 2, c]");
  EXPECT_EQ(infer_text(Gather{}, pool, {"f32[a]", "f32[n]"}),  // C1
            "gather: expected indices of type i32 or i64, got f32");
  EXPECT_EQ(infer_text(Gather{}, pool, {"f32[]", "i64[n]"}),  // C2
            "gather: expected an axis in [0, 0), got 0");
}

}  // namespace
}  // namespace ingot::ops
