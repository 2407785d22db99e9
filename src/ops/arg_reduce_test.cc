// ops/arg_reduce_test.cc: literal cases and the numbered constraints.
#include "ops/arg_reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ArgReduce, FindsTheFirstOrTheLastExtreme) {
  const Tensor x = tensor_of(DType::f32, {2, 4}, {1, 3, 3, 2, 5, 4, 4, 5});
  const auto run = [&](const ArgReduce& op) {
    return values_of(run_reference(op, std::make_shared<ExprPool>(), {x}));
  };
  EXPECT_EQ(run({.max = true, .axis = 1}), (std::vector<double>{1, 0}));
  EXPECT_EQ(run({.max = true, .axis = 1, .last = true}), (std::vector<double>{2, 3}));
  EXPECT_EQ(run({.max = false, .axis = 0}), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(run({.max = false, .axis = -1, .last = true}), (std::vector<double>{0, 2}));
}

TEST(ArgReduce, ANanIsTheExtreme) {
  const Tensor x = tensor_of(DType::f32, {4}, {1, NAN, 9, NAN});
  const auto pool = std::make_shared<ExprPool>();
  EXPECT_EQ(run_reference(ArgReduce{.max = true}, pool, {x}).integer(0), 1);
  EXPECT_EQ(run_reference(ArgReduce{.max = false, .last = true}, pool, {x}).integer(0), 3);
}

TEST(ArgReduce, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ArgReduce{.axis = 1}, pool, {"f32[n, 3]"}), "i64[n]");
  EXPECT_EQ(infer_text(ArgReduce{.axis = 1, .keepdims = true}, pool, {"f32[n, 3]"}), "i64[n, 1]");
  EXPECT_EQ(infer_text(ArgReduce{}, pool, {"b8[3]"}),  // C1
            "arg_reduce: expected x of a float or integer type, got b8");
  EXPECT_EQ(infer_text(ArgReduce{.axis = 2}, pool, {"f32[n, 3]"}),  // C2
            "arg_reduce: expected an axis in [-2, 2), got 2");
  EXPECT_EQ(infer_text(ArgReduce{}, pool, {"f32[0, 3]"}),  // C3
            "arg_reduce: expected elements along axis 0, got f32[0, 3]");
}

}  // namespace
}  // namespace ingot::ops
