// passes/canonicalize_test.cc: slices of a concatenation keep their meaning, wherever they begin
// and end; dims that contradict each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "ops/concat.h"
#include "ops/slice.h"
#include "passes/passes.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

using ops::Concat;
using ops::Slice;

/// y = concat(operands, axis 1)[:, start::step] of `size` columns.
Graph slice_of_concat(const std::shared_ptr<ExprPool>& pool, const Exprs& operands, Expr start,
                      Expr size, int64_t step) {
  Graph g(pool);
  const Expr rows = pool->integer(2);
  std::vector<ValueId> parts;
  for (const Expr columns : operands) {
    parts.push_back(g.add_input("x", TensorType{DType::f32, {rows, columns}}));
  }
  const ValueId whole = g.must_add(Concat{1}, parts);
  const Slice slice{{pool->integer(0), start}, {rows, size}, {1, step}};
  g.set_outputs({{"y", g.must_add(slice, {whole})}});
  return g;
}

bool has_concat(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [&](NodeId id) { return graph.node(id).op.as<Concat>() != nullptr; });
}

/// What the graph makes of operands of these widths, whose elements are numbered in order.
std::vector<Tensor> run(const Graph& graph, std::span<const int64_t> widths) {
  std::vector<Tensor> inputs;
  double next = 1;
  for (const int64_t width : widths) {
    Tensor& x = inputs.emplace_back(DType::f32, std::vector<int64_t>{2, width});
    for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, next++);
  }
  auto outputs = Interpreter(graph).run(inputs);
  EXPECT_TRUE(outputs) << to_text(outputs.error()) << "\n" << to_text(graph);
  return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

Graph canonical(Graph graph) {
  canonicalize(graph, PassContext());
  graph.compact();
  const Status status = verify(graph);
  EXPECT_TRUE(status) << to_text(status.error());
  return graph;
}

TEST(UnifySymbols, DimsThatContradictEachOtherStayForTheRun) {
  const auto pool = std::make_shared<ExprPool>();
  Graph g(pool);
  const auto input = [&](Expr columns) {
    return g.add_input("x", TensorType{DType::f32, {pool->integer(2), columns}});
  };
  // One x is as wide as 3 and as 4 columns.
  const ValueId x = input(pool->symbol("width"));
  const ValueId a = input(pool->integer(3)), b = input(pool->integer(4));
  g.set_outputs({{"y", g.must_add(Concat{0}, {a, x})}, {"z", g.must_add(Concat{0}, {b, x})}});
  ASSERT_EQ(g.assumptions().size(), 2u);
  const Graph kept = canonical(std::move(g));
  EXPECT_EQ(kept.assumptions().size(), 2u);
  std::vector<Tensor> inputs;
  for (const int64_t width : {3, 3, 4})
    inputs.emplace_back(DType::f32, std::vector<int64_t>{2, width});
  EXPECT_FALSE(Interpreter(kept).run(inputs));
}

TEST(SliceOfConcat, ReadsOneOperandWhereItsElementsDo) {
  const std::vector<int64_t> widths = {2, 0, 3};
  const auto operand_of = [](int64_t column) { return column < 2 ? 0 : 2; };
  const auto pool = std::make_shared<ExprPool>();
  Exprs operands;
  for (const int64_t width : widths) operands.push_back(pool->integer(width));
  for (const int64_t step : {-3, -2, -1, 1, 2, 3}) {
    for (int64_t first = 0; first < 5; ++first) {
      for (int64_t size = 1; size <= 5; ++size) {
        const int64_t last = first + (size - 1) * step;
        if (last < 0 || last >= 5) continue;
        const Graph before =
            slice_of_concat(pool, operands, pool->integer(first), pool->integer(size), step);
        const Graph after = canonical(before);
        EXPECT_EQ(find_difference(run(before, widths), run(after, widths), 0), "")
            << to_text(before) << to_text(after);
        EXPECT_EQ(has_concat(after), operand_of(first) != operand_of(last)) << to_text(after);
      }
    }
  }
}

TEST(SliceOfConcat, ReadsOneOperandOfUnknownWidth) {
  const auto pool = std::make_shared<ExprPool>();
  const Expr zero = pool->integer(0);
  const Expr three = pool->integer(3);
  const Expr p = pool->symbol("p");
  const Expr t = pool->symbol("t");
  struct Case {
    Expr start, size;
    int64_t step;
    bool one_operand;
  };
  const Case cases[] = {
      {zero, p, 1, true},          {p - 1, p, -1, true},      {p, three, 1, true},
      {p + 2, three, -1, true},    {p + 3, t, 1, true},       {p + t + 2, t, -1, true},
      {p + 1, three - 1, 1, true}, {zero, p + 1, 1, false},   {p + 2, t + 1, 1, false},
      {p + 2, p, -1, false},       {p + 2, p + 3, -1, false},
  };
  for (const Case& row : cases) {
    const Graph before = slice_of_concat(pool, {p, three, t}, row.start, row.size, row.step);
    const Graph after = canonical(before);
    EXPECT_EQ(has_concat(after), !row.one_operand) << to_text(after);
    for (const int64_t past : {1, 2, 5}) {
      for (const int64_t now : {0, 1, 4}) {
        const int64_t widths[] = {past, 3, now};
        EXPECT_EQ(find_difference(run(before, widths), run(after, widths), 0), "")
            << to_text(before) << to_text(after);
      }
    }
  }
}

// Sums that wrap around must not look as if they lay within an operand.
TEST(SliceOfConcat, StaysWhereItsBoundsWrapAround) {
  const auto pool = std::make_shared<ExprPool>();
  const Expr n = pool->symbol("n");
  for (const int64_t start : {INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1}) {
    for (const int64_t step : {-kMaxDim, int64_t{-1}, int64_t{1}, kMaxDim}) {
      const Graph before =
          slice_of_concat(pool, {n, pool->integer(3)}, pool->integer(start), n, step);
      EXPECT_TRUE(has_concat(canonical(before))) << to_text(before);
    }
  }
}

}  // namespace
}  // namespace ingot
