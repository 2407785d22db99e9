// ops/fusion_test.cc: literal cases and the numbered constraints.
#include "ops/fusion.h"

#include <gtest/gtest.h>

#include "ops/gather.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

GraphRef twice_the_sum(const std::shared_ptr<ExprPool>& pool) {
  auto body = std::make_shared<Graph>(pool);
  const TensorType type{DType::f32, {pool->symbol("n")}};
  const ValueId a = body->add_input("a", type);
  const ValueId b = body->add_input("b", type);
  const Expr p0 = pool->param(0, DType::f32);
  const Expr p1 = pool->param(1, DType::f32);
  const ValueId sum = body->must_add(Pointwise{p0 + p1, DType::f32}, {a, b});
  const ValueId two = body->add_constant(to_constant(Tensor::scalar(DType::f32, 2)));
  body->set_outputs({{"y", body->must_add(Pointwise{p0 * p1, DType::f32}, {sum, two})}});
  return body;
}

TEST(Fusion, MeansItsBody) {
  const auto pool = std::make_shared<ExprPool>();
  const OpRef op = make_op(Fusion{.body = twice_the_sum(pool), .kind = "loops"});
  const TensorType type{DType::f32, {pool->symbol("n")}};
  Graph graph(pool);
  const ValueId a = graph.add_input("a", type);
  const ValueId b = graph.add_input("b", type);
  graph.set_outputs({{"y", graph.must_add(op, {a, b})}});
  const std::vector<Tensor> inputs = {tensor_of(DType::f32, {2}, {1, 2}),
                                      tensor_of(DType::f32, {2}, {10, 20})};
  const auto reference = Interpreter(graph).run(inputs);
  ASSERT_TRUE(reference) << to_text(reference.error());
  EXPECT_EQ(values_of((*reference)[0]), (std::vector<double>{22, 44}));
  const auto lowered = run_lowered(graph, inputs);
  ASSERT_TRUE(lowered) << to_text(lowered.error());
  EXPECT_EQ(values_of((*lowered)[0]), (std::vector<double>{22, 44}));
}

/// Counts what a lowering is asked for.
class CountingLowering final : public Lowering {
 public:
  explicit CountingLowering(const Graph& graph)
      : graph_(graph), node_(graph.node(graph.value(graph.outputs()[0].value).producer)) {}
  ExprPool& pool() override { return graph_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t) const override { return true; }
  const Type& input_type(size_t k) const override { return graph_.type(node_.inputs[k]); }
  const Type& output_type(size_t k) const override { return graph_.type(node_.outputs[k]); }
  Expr load(size_t input, std::span<const Expr> index) override {
    ++loads;
    return pool().load(static_cast<uint32_t>(input), DType::i64, index[0]);
  }
  Expr load_if(Expr, size_t, std::span<const Expr>, Expr otherwise) override { return otherwise; }
  Expr load_plane(size_t, StatePlane, Expr offset) override { return offset; }

  int loads = 0;

 private:
  const Graph& graph_;
  const Node& node_;
};

// Each link of a chain of lookups reads the one in front three times; the work is its length.
TEST(Fusion, LowersEachElementOnce) {
  constexpr int kLinks = 60;
  const auto pool = std::make_shared<ExprPool>();
  auto body = std::make_shared<Graph>(pool);
  const TensorType list{DType::i64, {pool->symbol("n")}};
  const TensorType table{DType::i64, {pool->integer(8)}};
  const ValueId x = body->add_input("x", list), t = body->add_input("t", table);
  const Expr p0 = pool->param(0, DType::i64), p1 = pool->param(1, DType::i64);
  ValueId at = x;
  for (int k = 0; k < kLinks; ++k) {
    const ValueId found = body->must_add(Gather{}, {t, at});
    at = body->must_add(Pointwise{select(less(p0, p1), p0 + p1, p0), DType::i64}, {at, found});
  }
  body->set_outputs({{"y", at}});
  const Fusion fusion{.body = body, .kind = "loops"};
  Graph graph(pool);
  graph.set_outputs(
      {{"y", graph.must_add(fusion, {graph.add_input("x", list), graph.add_input("t", table)})}});
  CountingLowering lowering(graph);
  const Expr y = fusion.lower(lowering, 0, std::vector{pool->fresh_index(pool->symbol("n"))});
  EXPECT_LE(lowering.loads, kLinks * 2 + 1);
  int nodes = 0;
  for_each(y, [&](Expr) { ++nodes; });
  EXPECT_LE(nodes, kLinks * 20);
}

// An element behind a false condition is not read, however it is computed.
TEST(Fusion, GuardsReachThroughTheBody) {
  const auto pool = std::make_shared<ExprPool>();
  auto body = std::make_shared<Graph>(pool);
  const TensorType type{DType::f32, {pool->integer(2)}};
  const ValueId x = body->add_input("x", type);
  const Expr p0 = pool->param(0, DType::f32);
  const ValueId negative = body->must_add(Pointwise{-p0, DType::f32}, {x});
  const Expr two = pool->integer(2);
  body->set_outputs({{"y", body->must_add(Pad{.begin = {two}, .end = {two}}, {negative})}});
  Graph graph(pool);
  graph.set_outputs(
      {{"y", graph.must_add(Fusion{.body = body, .kind = "loops"}, {graph.add_input("x", type)})}});
  const std::vector<Tensor> inputs = {tensor_of(DType::f32, {2}, {1, 2})};
  const auto lowered = run_lowered(graph, inputs);
  ASSERT_TRUE(lowered) << to_text(lowered.error());
  EXPECT_EQ(values_of((*lowered)[0]), (std::vector<double>{0, 0, -1, -2, 0, 0}));
}

TEST(Fusion, Infer) {
  const auto pool = std::make_shared<ExprPool>();
  const Fusion op{.body = twice_the_sum(pool), .kind = "loops"};
  EXPECT_EQ(infer_text(op, *pool, {"f32[n]", "f32[n]"}), "f32[n]");
  EXPECT_EQ(infer_text(Fusion{}, *pool, {}), "fusion: expected a body, got none");  // C1
  EXPECT_EQ(infer_text(op, *pool, {"f32[n]"}),                                      // C1
            "fusion: expected the 2 inputs of its body, got 1");
  EXPECT_EQ(infer_text(op, *pool, {"f32[n]", "f32[m]"}),  // C2
            "fusion: expected input 1 of type f32[n], got f32[m]");
}

}  // namespace
}  // namespace ingot::ops
