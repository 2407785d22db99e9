// tests/compiled/chains_test.cc: two products with rows made between them, as one kernel, against
// the reference: attention with masks, guards and grouped heads, and what else makes rows of rows.
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "base/text.h"
#include "ops/fusion.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/softmax.h"
#include "ops/transpose.h"
#include "passes/pass.h"
#include "tests/compiled/plan_runner.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

using namespace ops;

/// Rounding of two sums of some hundred terms, and of exp in fp32.
constexpr double kTolerance = 2e-5;
/// Where scores are rounded to 8 bits in memory, the kernel that keeps none of them does not.
constexpr double kNarrowTolerance = 2e-2;
constexpr double kInf = std::numeric_limits<double>::infinity();

enum class Between : uint8_t {
  softmax,
  softmax_by_hand,  // of maxima, exponentials and sums
  guarded,          // NaN becomes 0
  squares,          // nothing reduces
  norm,
  narrow,  // scores are bf16
  kCount,
};

/// Batch 2; -1: a symbol.
struct Shape {
  std::string_view name;
  int64_t heads, groups;  // of queries: each key's head serves so many
  int64_t t, s, d, dv;
};

constexpr Shape kShapes[] = {
    {"one query", 2, 1, 1, 40, 8, 16},     {"one key", 2, 1, 12, 1, 16, 16},
    {"odd", 3, 1, 33, 7, 20, 9},           {"a tile more", 1, 1, 129, 65, 16, 70},
    {"many keys", 1, 1, 13, 700, 8, 16},   {"grouped", 2, 3, 20, 33, 16, 16},
    {"open queries", 2, 1, -1, 33, 16, 8}, {"open keys", 2, 1, 14, -1, 16, 64},
    {"all open", 2, 2, -1, -1, 8, 24},
};

class Builder {
 public:
  Builder(const Shape& shape, Between between) : shape_(shape), pool_(g_.pool()) {
    const auto bound = [&](const char* name, int64_t most) {
      pool_.symbol_info(pool_.symbol(name).symbol()).range = {0, most};
    };
    bound("t", 50), bound("s", 150);
    const Expr t = dim(shape.t, "t"), s = dim(shape.s, "s");
    const bool grouped = shape.groups > 1;
    const auto of = [&](bool is_query, Expr rows, Expr columns) {
      Exprs dims = {number(2), number(shape.heads)};
      if (grouped) dims.push_back(number(is_query ? shape.groups : 1));
      dims.insert(dims.end(), {rows, columns});
      return TensorType{DType::f32, dims};
    };
    const ValueId q = g_.add_input("q", of(true, t, number(shape.d)));
    const ValueId k = g_.add_input("k", of(false, s, number(shape.d)));
    const ValueId v = g_.add_input("v", of(false, s, number(shape.dv)));
    const ValueId mask = g_.add_input("mask", TensorType{DType::f32, {t, s}});
    std::vector<int64_t> swapped = {0, 1, 3, 2};
    if (grouped) swapped = {0, 1, 2, 4, 3};
    const Expr a = pool_.param(0, DType::f32), b = pool_.param(1, DType::f32);
    // Left operands of both products are made by the kernel, or of the first it is read.
    const bool is_read = between == Between::softmax || between == Between::guarded;
    const ValueId left = is_read ? q : map(max(a, pool_.real(-0.75)) * pool_.real(1.5), {q});
    const ValueId scores = g_.must_add(MatMul{}, {left, g_.must_add(Transpose{swapped}, {k})});
    const ValueId scaled = map(a * pool_.real(0.3), {scores});
    const ValueId masked = map(b + a, {mask, scaled});
    const ValueId y = g_.must_add(MatMul{}, {made(between, masked), v});
    const ValueId positive = map(max(a, pool_.real(-0.5)), {y});
    std::vector<int64_t> order = {0, 2, 1, 3};
    if (grouped) order = {0, 3, 1, 2, 4};
    const ValueId moved = g_.must_add(Transpose{order}, {positive});
    const Expr columns = number(shape.heads * shape.groups * shape.dv);
    g_.set_outputs({{"y", g_.must_add(Reshape{{number(2), t, columns}}, {moved})}});
  }

  Graph take() { return std::move(g_); }

 private:
  Expr number(int64_t value) { return pool_.integer(value); }
  Expr dim(int64_t size, std::string_view symbol) {
    return size < 0 ? pool_.symbol(symbol) : number(size);
  }
  ValueId map(Expr value, std::vector<ValueId> inputs, DType dtype = DType::f32) {
    return g_.must_add(Pointwise{value, dtype}, std::move(inputs));
  }

  ValueId made(Between between, ValueId x) {
    const Expr a = pool_.param(0, DType::f32), b = pool_.param(1, DType::f32);
    switch (between) {
      case Between::softmax_by_hand: {
        const ValueId most = g_.must_add(Reduce{ReduceKind::max, {-1}, true}, {x});
        const ValueId e = map(exp(a - b), {x, most});
        const ValueId sum = g_.must_add(Reduce{ReduceKind::sum, {-1}, true}, {e});
        return map(a / b, {e, sum});
      }
      case Between::guarded: {
        const ValueId p = g_.must_add(Softmax{}, {x});
        return map(select(unary(ExprKind::is_nan, a), pool_.real(0), a), {p});
      }
      case Between::squares:
        return map(max(a, pool_.real(0)) * max(a, pool_.real(0)), {x});
      case Between::norm: {
        const ValueId sum = g_.must_add(Reduce{ReduceKind::sum, {-1}, true}, {map(a * a, {x})});
        return map(a / sqrt(b + pool_.real(1)), {x, sum});
      }
      case Between::narrow:
        return map(a, {g_.must_add(Softmax{}, {map(a, {x}, DType::bf16)})});
      default:
        return g_.must_add(Softmax{}, {x});
    }
  }

  const Shape& shape_;
  Graph g_;
  ExprPool& pool_;
};

/// Whether one kernel holds two products.
bool has_chain(const Graph& graph) {
  Graph fused = graph;
  const auto records = run_passes(fused, closing_pipeline(), {});
  EXPECT_TRUE(records);
  for (NodeId id : fused.nodes()) {
    const auto* fusion = fused.node(id).op.as<Fusion>();
    if (fusion == nullptr) continue;
    size_t products = 0;
    for (NodeId inside : fusion->body->nodes()) {
      products += fusion->body->node(inside).op.is<MatMul>() ? 1 : 0;
    }
    if (products == 2) return true;
  }
  return false;
}

/// Masks rows from the first, third... key on, and now and then a whole row.
void hide(Tensor& mask, double hidden, uint64_t seed) {
  Random rng(seed);
  for (int64_t row = 0; row < mask.dim(0); ++row) {
    const int64_t first = rng.chance(0.2) ? 0 : rng.range(0, mask.dim(1));
    for (int64_t k = first; k < mask.dim(1); ++k) mask.set_real(row * mask.dim(1) + k, hidden);
  }
}

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> all;
  for (const CpuLevelInfo& row : kCpuLevels) {
    if (row.level <= host_level()) all.push_back(row.level);
  }
  return all;
}

class Chains : public testing::TestWithParam<CpuLevel> {};

INSTANTIATE_TEST_SUITE_P(Levels, Chains, testing::ValuesIn(levels()), [](const auto& info) {
  return std::string(ingot::info(info.param).prelude_namespace);
});

TEST_P(Chains, ComputeRowsOfTwoProductsAtATime) {
  struct Case {
    std::string label;
    RandomGraph graph;
    size_t together, apart;  // numbers
    bool is_narrow;
  };
  PlanBatch batch;
  std::vector<Case> cases;
  for (const Shape& shape : kShapes) {
    for (uint8_t p = 0; p < static_cast<uint8_t>(Between::kCount); ++p) {
      const auto between = static_cast<Between>(p);
      const std::string label = concat(shape.name, ", between ", int{p});
      Graph graph = Builder(shape, between).take();
      Graph optimised = graph;
      PassOptions options;
      options.verify = true;
      auto records = run_passes(optimised, pipeline(), options);
      ASSERT_TRUE(records) << to_text(records.error());
      // Few queries read keys as they are, without panels.
      EXPECT_EQ(has_chain(optimised), shape.t != 1) << label;
      auto together = batch.add(optimised);
      ASSERT_TRUE(together) << label << ": " << to_text(together.error());
      auto apart = batch.add(optimised, {"fuse_products"});
      ASSERT_TRUE(apart) << to_text(apart.error());
      cases.push_back(
          {label, {std::move(graph), {}}, *together, *apart, between == Between::narrow});
    }
  }
  const Status built = batch.build(GetParam());
  ASSERT_TRUE(built) << to_text(built.error());
  for (const Case& c : cases) {
    for (uint64_t round = 0; round < 3; ++round) {
      std::vector<Tensor> inputs = random_inputs(c.graph, round);
      if (round > 0) hide(inputs[3], round == 1 ? -kInf : -50, round);
      Interpreter interpreter(c.graph.graph);
      auto expected = interpreter.run(inputs);
      ASSERT_TRUE(expected) << to_text(expected.error());
      auto apart = batch.run(c.apart, inputs, interpreter.symbols);
      ASSERT_TRUE(apart) << c.label << ": " << to_text(apart.error());
      for (int pieces : {1, 5}) {
        auto got = batch.run(c.together, inputs, interpreter.symbols, pieces);
        ASSERT_TRUE(got) << c.label << ": " << to_text(got.error());
        const double tolerance = c.is_narrow ? kNarrowTolerance : kTolerance;
        EXPECT_EQ(find_difference(*expected, *got, tolerance), "") << c.label << ", " << round;
        if (!c.is_narrow) {
          EXPECT_EQ(find_difference(*apart, *got, 0), "") << c.label;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot
