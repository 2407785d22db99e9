// ops/attention_test.cc: literal cases and the numbered constraints.
#include "ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

// Two keys with scores ln 1 and ln 3 share the weight 1:3.
TEST(Attention, WeighsValuesByTheSoftmaxOfScores) {
  const Tensor q = tensor_of(DType::f64, {1, 1, 1, 1}, {1});
  const Tensor k = tensor_of(DType::f64, {1, 2, 1, 1}, {0, std::log(3)});
  const Tensor v = tensor_of(DType::f64, {1, 2, 1, 2}, {4, 8, 0, 4});
  const Tensor y = run_reference(Attention{}, std::make_shared<ExprPool>(), {q, k, v});
  EXPECT_NEAR(y.real(0), 1, 1e-12);  // exp and log round
  EXPECT_NEAR(y.real(1), 5, 1e-12);
}

TEST(Attention, CausalQueriesAlignAtTheEnd) {
  const Tensor q = tensor_of(DType::f64, {1, 2, 1, 1}, {0, 0});
  const Tensor k = tensor_of(DType::f64, {1, 3, 1, 1}, {1, 2, 3});
  const Tensor v = tensor_of(DType::f64, {1, 3, 1, 1}, {3, 5, 10});
  const auto pool = std::make_shared<ExprPool>();
  EXPECT_EQ(values_of(run_reference(Attention{.causal = true}, pool, {q, k, v})),
            (std::vector<double>{4, 6}));
  // More queries than keys: the first query sees none.
  const Tensor one = tensor_of(DType::f64, {1, 1, 1, 1}, {7});
  EXPECT_EQ(values_of(run_reference(Attention{.causal = true}, pool, {q, one, one})),
            (std::vector<double>{0, 7}));
}

TEST(Attention, Infer) {
  ExprPool pool;
  const Attention op;
  EXPECT_EQ(infer_text(op, pool, {"f32[b, t, 4, 8]", "f32[b, s, 2, 8]", "f32[b, s, 2, 6]"}),
            "f32[b, t, 4, 6]");
  EXPECT_EQ(infer_text(op, pool, {"i32[1, 1, 1, 1]", "i32[1, 1, 1, 1]", "i32[1, 1, 1, 1]"}),  // C1
            "attention: expected a floating-point q, got i32");
  EXPECT_EQ(infer_text(op, pool, {"f32[1, 1, 1]", "f32[1, 1, 1, 1]", "f32[1, 1, 1, 1]"}),  // C1
            "attention: expected q of rank 4, got f32[1, 1, 1]");
  EXPECT_EQ(infer_text(op, pool, {"f32[1, 1, 2, 8]", "f32[1, 3, 2, 7]", "f32[1, 3, 2, 8]"}),  // C2
            "attention: expected D of q and of k to be equal, got 8 and 7");
  EXPECT_EQ(infer_text(op, pool, {"f32[1, 1, 2, 8]", "f32[1, 3, 2, 8]", "f32[1, 4, 2, 8]"}),  // C2
            "attention: expected S of k and of v to be equal, got 3 and 4");
  EXPECT_EQ(infer_text(op, pool, {"f32[1, 1, 3, 8]", "f32[1, 3, 2, 8]", "f32[1, 3, 2, 8]"}),  // C3
            "attention: expected constant heads, those of k dividing those of q, got 3 and 2");
  EXPECT_EQ(infer_text(Attention{.scale = INFINITY}, pool,
                       {"f32[1, 1, 2, 8]", "f32[1, 3, 2, 8]", "f32[1, 3, 2, 8]"}),  // C4
            "attention: expected a finite scale, got inf");
}

TEST(Attention, KeysAndValuesAreHeldAlike) {  // C1
  ExprPool pool;
  StateType state;
  state.batch = pool.integer(1);
  state.capacity = state.length = pool.integer(8);
  state.token = {pool.integer(2), pool.integer(4)};
  const TensorType q{DType::f32,
                     {pool.integer(1), pool.integer(1), pool.integer(2), pool.integer(4)}};
  const auto infer = [&](const std::vector<Type>& types) {
    InferContext ctx{pool, types, {true, true, true}, {}};
    const auto answer = Attention{}.infer(ctx);
    return answer ? to_text((*answer)[0]) : answer.error().message;
  };
  EXPECT_EQ(infer({q, state, state}), "f32[1, 1, 2, 4]");
  EXPECT_TRUE(
      infer({q, state, q})
          .starts_with(
              "attention: expected k and v to be both tensors or both states of one layout, got "));
}

}  // namespace
}  // namespace ingot::ops
