// ops/scatter_test.cc: literal cases and the numbered constraints.
#include "ops/scatter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Scatter, TheLastUpdateOfARowStays) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::i32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor at = tensor_of(DType::i64, {3}, {2, 0, 2});
  const Tensor u = tensor_of(DType::i32, {3, 2}, {10, 11, 20, 21, 30, 31});
  EXPECT_EQ(values_of(run_reference(ScatterRows{}, pool, {x, at, u})),
            (std::vector<double>{20, 21, 3, 4, 30, 31}));
}

TEST(Scatter, CombinesInTurn) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {3}, {1, 2, NAN});
  const Tensor at = tensor_of(DType::i64, {4}, {0, 0, 1, 2});
  const Tensor u = tensor_of(DType::f32, {4}, {5, 7, -3, 1});
  const auto run = [&](ReduceKind kind) {
    return run_reference(ScatterRows{.combine = true, .kind = kind}, pool, {x, at, u});
  };
  EXPECT_EQ(run(ReduceKind::sum).real(0), 13);
  EXPECT_EQ(run(ReduceKind::product).real(0), 35);
  EXPECT_EQ(run(ReduceKind::min).real(1), -3);
  EXPECT_EQ(run(ReduceKind::max).real(1), 2);
  EXPECT_TRUE(std::isnan(run(ReduceKind::max).real(2)));
}

TEST(Scatter, PositionsOutsideHaveNoEffect) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {2}, {1, 2});
  const Tensor at = tensor_of(DType::i64, {2}, {-1, 2});
  const Tensor u = tensor_of(DType::f32, {2}, {8, 9});
  EXPECT_EQ(values_of(run_reference(ScatterRows{}, pool, {x, at, u})), (std::vector<double>{1, 2}));
}

TEST(Scatter, Constraints) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ScatterRows{}, pool, {"f32[3, n]", "i64[m]", "f32[m, n]"}), "f32[3, n]");
  EXPECT_EQ(infer_text(ScatterRows{}, pool, {"i4[3]", "i64[1]", "i4[1]"}),  // C1
            "scatter: expected x of whole bytes, and to combine floats of 16 bits or more, got i4");
  EXPECT_EQ(infer_text(ScatterRows{}, pool, {"f32[3]", "i32[1]", "f32[1]"}),  // C2
            "scatter: expected positions i64[M], got i32[1]");
  EXPECT_EQ(infer_text(ScatterRows{}, pool, {"f32[3]", "i64[1]", "f64[1]"}),  // C3
            "scatter: expected x and updates of one type, got f32 and f64");
  const ScatterRows any{.combine = true, .kind = ReduceKind::any};
  EXPECT_EQ(infer_text(any, pool, {"f32[3]", "i64[1]", "f32[1]"}),  // C4
            "scatter: expected kind sum, product, min or max, got any");
}

}  // namespace
}  // namespace ingot::ops
