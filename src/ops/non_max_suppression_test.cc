// ops/non_max_suppression_test.cc: literal cases and the numbered constraints.
#include "ops/non_max_suppression.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

// Two unit boxes, the second shifted by 0.1: they share 0.9 / 1.1 of their union.
const std::initializer_list<double> kBoxes = {0, 0, 1, 1, 1, 1.1, 0, 0.1, 5, 5, 6, 6};

std::vector<double> kept(const std::initializer_list<double>& scores, double most, double overlap,
                         double score) {
  const auto pool = std::make_shared<ExprPool>();
  return values_of(
      run_reference(NonMaxSuppression{}, pool,
                    {tensor_of(DType::f32, {1, 3, 4}, kBoxes),
                     tensor_of(DType::f32, {1, 1, 3}, scores), tensor_of(DType::i64, {}, {most}),
                     tensor_of(DType::f32, {}, {overlap}), tensor_of(DType::f32, {}, {score})}));
}

TEST(NonMaxSuppression, KeepsTheBestOfOverlappingBoxes) {
  EXPECT_EQ(kept({0.9, 0.8, 0.95}, 3, 0.5, 0), (std::vector<double>{0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(kept({0.8, 0.9, 0.1}, 3, 0.5, 0), (std::vector<double>{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(kept({0.8, 0.9, 0.1}, 3, 0.85, 0), (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0, 2}));
}

TEST(NonMaxSuppression, StopsAtTheScoreAndAtTheNumber) {
  EXPECT_EQ(kept({0.5, 0.9, 0.5}, 3, 1, 0.5), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(kept({0.5, 0.9, 0.5}, 2, 1, 0), (std::vector<double>{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(kept({1, 1, 1}, 0, 1, 0), std::vector<double>{});
}

TEST(NonMaxSuppression, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(NonMaxSuppression{}, pool,  // C1
                       {"f32[1, 3, 5]", "f32[1, 1, 3]", "i64[]", "f32[]", "f32[]"}),
            "non_max_suppression: expected boxes f32[B, N, 4] and scores f32[B, C, N], got "
            "f32[1, 3, 5] and f32[1, 1, 3]");
  EXPECT_EQ(infer_text(NonMaxSuppression{}, pool,  // C2
                       {"f32[1, 3, 4]", "f32[1, 1, 3]", "i32[]", "f32[]", "f32[]"}),
            "non_max_suppression: expected most i64[], got i32[]");
}

}  // namespace
}  // namespace ingot::ops
