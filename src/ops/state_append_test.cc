// ops/state_append_test.cc: literal cases and the numbered constraints.
#include "ops/state_append.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

StateType contiguous(ExprPool& pool, int64_t batch, int64_t capacity) {
  StateType state;
  state.batch = pool.integer(batch);
  state.capacity = pool.integer(capacity);
  state.length = pool.symbol("length");
  state.token = {pool.integer(1)};
  return state;
}

/// Runs state_append on planes, then x.
Result<std::vector<Tensor>> append(const std::shared_ptr<ExprPool>& pool, const StateType& state,
                                   const std::vector<Tensor>& inputs) {
  Graph graph(pool);
  TensorType type{inputs.back().dtype(), {}};
  for (const int64_t dim : inputs.back().dims()) type.dims.push_back(pool->integer(dim));
  const ValueId before = graph.add_input("state", state);
  const ValueId x = graph.add_input("x", type);
  graph.set_outputs({{"y", graph.must_add(StateAppend{}, {before, x})}});
  return Interpreter(graph).run(inputs);
}

TEST(StateAppend, WritesBehindEachSequence) {
  const auto pool = std::make_shared<ExprPool>();
  const auto planes =
      append(pool, contiguous(*pool, 2, 3),
             {tensor_of(DType::f32, {2, 3, 1}, {1, 2, 0, 3, 0, 0}),
              tensor_of(DType::i64, {2}, {2, 1}), tensor_of(DType::f32, {2, 1, 1}, {8, 9})});
  ASSERT_TRUE(planes) << to_text(planes.error());
  EXPECT_EQ(values_of((*planes)[0]), (std::vector<double>{1, 2, 8, 3, 9, 0}));
  EXPECT_EQ(values_of((*planes)[1]), (std::vector<double>{2, 1})) << "the runtime advances them";
}

TEST(StateAppend, FollowsTheBlockTable) {
  const auto pool = std::make_shared<ExprPool>();
  StateType state = contiguous(*pool, 1, 3);
  state.layout = StateLayout::paged;
  state.block_size = 2;
  state.max_blocks = pool->integer(2);
  const auto planes = append(
      pool, state,
      {tensor_of(DType::f32, {3, 2, 1}, {0, 0, 0, 0, 7, 0}), tensor_of(DType::i64, {1, 2}, {2, 0}),
       tensor_of(DType::i64, {1}, {1}), tensor_of(DType::f32, {1, 2, 1}, {8, 9})});
  ASSERT_TRUE(planes) << to_text(planes.error());
  EXPECT_EQ(values_of((*planes)[0]), (std::vector<double>{9, 0, 0, 0, 7, 8}));
}

TEST(StateAppend, TokensThatDoNotFitAreRefused) {
  const auto pool = std::make_shared<ExprPool>();
  StateType state = contiguous(*pool, 2, 3);
  const auto refusal = [&](const std::vector<Tensor>& inputs) {
    const auto planes = append(pool, state, inputs);
    return planes ? std::string() : to_text(planes.error());
  };
  const Tensor memory = tensor_of(DType::f32, {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor x = tensor_of(DType::f32, {2, 1, 1}, {8, 9});
  EXPECT_EQ(refusal({memory, tensor_of(DType::i64, {2}, {2, 3}), x}),
            "state_append: sequence 1: 3 tokens and 1 new ones do not fit in 3");
  state = contiguous(*pool, 0, 3);
  EXPECT_EQ(refusal({Tensor(DType::f32, {0, 3, 1}), Tensor(DType::i64, {0}),
                     Tensor(DType::f32, {0, 1, 1})}),
            "");
  state = contiguous(*pool, 1, 0);
  state.layout = StateLayout::paged;
  state.block_size = 2;
  state.max_blocks = pool->integer(0);
  EXPECT_EQ(refusal({Tensor(DType::f32, {0, 2, 1}), Tensor(DType::i64, {1, 0}),
                     tensor_of(DType::i64, {1}, {0}), tensor_of(DType::f32, {1, 1, 1}, {8})}),
            "state_append: sequence 0: 0 tokens and 1 new ones do not fit in 0");
}

TEST(StateAppend, Infer) {
  ExprPool pool;
  const auto infer = [&](const StateType& state, std::string_view x) {
    const std::vector<Type> types = {state, *parse_type(x, pool)};
    InferContext ctx{pool, types, {true, true}, {}};
    const auto answer = StateAppend{}.infer(ctx);
    return answer ? to_text((*answer)[0].state.length) : answer.error().message;
  };
  StateType state = contiguous(pool, 2, 4);
  EXPECT_EQ(infer(state, "f32[2, 3, 1]"), "length + 3");
  EXPECT_EQ(infer(state, "f16[2, 3, 1]"),  // C1
            "state_append: expected state and x of one type, got f32 and f16");
  EXPECT_EQ(infer(state, "f32[2, 3]"),  // C1
            "state_append: expected x of rank 3, got f32[2, 3]");
  EXPECT_EQ(infer(state, "f32[3, 3, 1]"),  // C1
            "state_append: expected batch of state and of x to be equal, got 2 and 3");
  EXPECT_EQ(infer(state, "f32[2, 3, 2]"),  // C1
            "state_append: expected token dims of state and of x to be equal, got 1 and 2");
  state.length = pool.integer(2);
  EXPECT_EQ(infer(state, "f32[2, 3, 1]"),  // C2
            "state_append: expected room for 5 tokens, got 4");
}

}  // namespace
}  // namespace ingot::ops
