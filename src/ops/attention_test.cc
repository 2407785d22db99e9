// ops/attention_test.cc: literal cases and the numbered constraints.
#include "ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/concat.h"
#include "ops/state_append.h"
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

/// A decoding loop over states beside the same attention over all tokens so far.
class Decoding {
 public:
  static constexpr int64_t kBatch = 2;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kShared = 1;
  static constexpr int64_t kSize = 3;
  static constexpr int64_t kRoom = 24;

  explicit Decoding(StateLayout layout) : graph_(pool_) {
    StateType state;
    state.layout = layout;
    state.dtype = DType::f64;
    state.batch = pool_->integer(kBatch);
    state.capacity = pool_->integer(kRoom);
    state.length = pool_->symbol("length");
    state.token = {pool_->integer(kShared), pool_->integer(kSize)};
    Tensor data(DType::f64, {kBatch, kRoom, kShared, kSize});
    if (layout == StateLayout::paged) {
      state.block_size = 4;
      state.max_blocks = pool_->integer(kRoom / 4);
      state.capacity = pool_->integer(kBatch * kRoom / 4);
      data = Tensor(DType::f64, {kBatch * kRoom / 4, 4, kShared, kSize});
    }
    for (double& value : data.reals()) value = NAN;  // no one may look at what was never written
    keys_ = values_ = {data};
    if (layout == StateLayout::paged) {
      Tensor table(DType::i64, {kBatch, kRoom / 4});
      // The sequences' blocks alternate, backwards.
      for (int64_t k = 0; k < table.size(); ++k) {
        table.set_integer(k, (kRoom / 4 - 1 - k % (kRoom / 4)) * kBatch + k / (kRoom / 4));
      }
      keys_.push_back(table);
      values_.push_back(table);
    }
    keys_.emplace_back(DType::i64, std::vector<int64_t>{kBatch});
    values_.emplace_back(DType::i64, std::vector<int64_t>{kBatch});
    build(state);
  }

  /// Appends `count` tokens to each sequence and compares; `lowered` runs the element expressions.
  void step(int64_t count, bool lowered) {
    const Tensor q = random({kBatch, count, kHeads, kSize});
    const Tensor k = random({kBatch, count, kShared, kSize});
    const Tensor v = random({kBatch, count, kShared, kSize});
    std::vector<Tensor> inputs = keys_;
    inputs.insert(inputs.end(), values_.begin(), values_.end());
    inputs.insert(inputs.end(), {q, k, v});
    auto outputs = lowered ? run_lowered(graph_, inputs) : Interpreter(graph_).run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    const size_t planes = keys_.size();
    keys_.assign(outputs->begin(), outputs->begin() + static_cast<std::ptrdiff_t>(planes));
    values_.assign(outputs->begin() + static_cast<std::ptrdiff_t>(planes), outputs->end() - 1);
    for (int64_t b = 0; b < kBatch; ++b) {  // as the runtime does after a run
      keys_.back().set_integer(b, keys_.back().integer(b) + count);
      values_.back().set_integer(b, values_.back().integer(b) + count);
    }
    all_k_.push_back(k);
    all_v_.push_back(v);
    const Tensor wanted =
        run_reference(Attention{.scale = 0.5, .causal = true}, std::make_shared<ExprPool>(),
                      {q, joined(all_k_), joined(all_v_)});
    const Tensor& got = outputs->back();
    ASSERT_EQ(got.dims(), wanted.dims());
    for (int64_t e = 0; e < got.size(); ++e) {
      ASSERT_NEAR(got.real(e), wanted.real(e), 1e-12) << e;  // sums of at most 24 terms below 1
    }
  }

 private:
  void build(const StateType& state) {
    const Expr t = pool_->symbol("t");
    const auto tokens = [&](int64_t heads) {
      return TensorType{DType::f64, {state.batch, t, pool_->integer(heads), pool_->integer(kSize)}};
    };
    const ValueId keys = graph_.add_input("keys", state);
    const ValueId values = graph_.add_input("values", state);
    const ValueId q = graph_.add_input("q", tokens(kHeads));
    const ValueId k = graph_.add_input("k", tokens(kShared));
    const ValueId v = graph_.add_input("v", tokens(kShared));
    const ValueId more_keys = graph_.must_add(StateAppend{}, {keys, k});
    const ValueId more_values = graph_.must_add(StateAppend{}, {values, v});
    const ValueId y =
        graph_.must_add(Attention{.scale = 0.5, .causal = true}, {q, more_keys, more_values});
    graph_.set_outputs({{"keys", more_keys}, {"values", more_values}, {"y", y}});
  }
  Tensor random(std::vector<int64_t> dims) {
    Tensor tensor(DType::f64, std::move(dims));
    for (double& value : tensor.reals()) value = rng_.real(-1, 1);
    return tensor;
  }
  static Tensor joined(const std::vector<Tensor>& pieces) {
    const auto pool = std::make_shared<ExprPool>();
    return run_reference(Concat{.axis = 1}, pool, pieces);
  }

  std::shared_ptr<ExprPool> pool_ = std::make_shared<ExprPool>();
  Graph graph_;
  Random rng_{7};
  std::vector<Tensor> keys_, values_;  // planes
  std::vector<Tensor> all_k_, all_v_;
};

TEST(Attention, StatesAgreeWithRecomputation) {
  for (const StateLayout layout : {StateLayout::contiguous, StateLayout::paged}) {
    for (const bool lowered : {false, true}) {
      Decoding decoding(layout);
      for (const int64_t count : {5, 1, 1, 3, 1, 2, 1, 1, 6, 1, 1, 1}) {
        decoding.step(count, lowered);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
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
