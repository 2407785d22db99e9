#include "codegen/dim_table.h"

#include <gtest/gtest.h>

#include "codegen/emit_cpu.h"

namespace ingot {
namespace {

/// A size that an exporter computes from the one before, `times` times.
Expr halved(Expr size, int times) {
  for (int k = 0; k < times; ++k) size = floordiv(size + 3, 2) + min(size, size.pool().integer(7));
  return size;
}

TEST(DimTable, SumsAndProductsAreWrittenOut) {
  ExprPool pool;
  const Expr n = pool.symbol("n"), m = pool.symbol("m");
  DimTable table(DimTable::Names::of_symbols);
  EXPECT_EQ(to_text(table.map(n * m + 3)), "m * n + 3");
  ASSERT_EQ(table.leaves().size(), 2U);
  EXPECT_NE(table.leaves()[0], table.leaves()[1]);
}

TEST(DimTable, WhatIsNoSumOfProductsIsALeaf) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  DimTable table(DimTable::Names::of_symbols);
  const Expr half = floordiv(n + 1, 2);
  EXPECT_EQ(to_text(table.map(half * 8)), "size0 * 8");
  ASSERT_EQ(table.leaves().size(), 1U);
  EXPECT_EQ(table.leaves()[0], half);
}

TEST(DimTable, ALeafKnowsItsRangeAndDivisor) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  pool.symbol_info(n.symbol()).range = {4, 9};
  DimTable table(DimTable::Names::of_symbols);
  const Expr leaf = table.map(max(n * 8, pool.integer(48)));
  ASSERT_EQ(leaf.kind(), ExprKind::symbol);
  const Symbol& info = std::as_const(*table.pool()).symbol_info(leaf.symbol());
  EXPECT_EQ(info.range, (Range{48, 72}));
  EXPECT_EQ(info.divisor, 8);
}

TEST(DimTable, KernelsOfDifferentSizesReadTheSame) {
  ExprPool pool;
  const Expr n = pool.symbol("n"), m = pool.symbol("m");
  DimTable first(DimTable::Names::neutral), second(DimTable::Names::neutral);
  EXPECT_EQ(to_text(first.map(floordiv(m, 3) * 4)), "n0 * 4");
  EXPECT_EQ(to_text(second.map(halved(n, 5) * 4 - halved(n, 5) * 4 + max(n, m) * 4)), "n0 * 4");
}

TEST(DimTable, WhatIsNoDimensionStays) {
  ExprPool pool;
  const Expr n = pool.symbol("n"), i = pool.fresh_index(n);
  DimTable table(DimTable::Names::neutral);
  EXPECT_EQ(to_text(table.map(floordiv(i, floordiv(n, 2)))), "i0 // n1");
  const Expr x = pool.load(0, DType::i64, i);
  EXPECT_EQ(table.map(max(x, x + 1)).kind(), ExprKind::max);
}

TEST(DimTable, LeavesAreComputedFromThoseInFront) {
  ExprPool pool;
  pool.symbol("unused");
  const Expr n = pool.symbol("n");
  // As a tree this has 2^2000 parts.
  const Expr size = halved(n, 2000);
  DimTable table(std::as_const(pool));
  table.add(size);
  size_t longest = 0;
  for (size_t k = pool.symbol_count(); k < table.leaves().size(); ++k) {
    const Expr definition = table.definition(k);
    for_each(definition, [&](Expr part) {
      if (part.kind() == ExprKind::symbol) {
        EXPECT_LT(part.symbol().value, k);
      }
    });
    longest = std::max(longest, cpu_dim(definition).size());
  }
  const size_t leaves = table.leaves().size();
  EXPECT_LT(leaves, 2U + 2 * 2000);
  EXPECT_LT(longest, 200U);
  EXPECT_LT(cpu_dim(table.map(size)).size(), 200U);
  EXPECT_EQ(table.leaves().size(), leaves) << "add() found all that is mentioned";
}

TEST(CpuDim, DividesByAWholeProduct) {
  ExprPool pool;
  const Expr a = pool.symbol("a"), b = pool.symbol("b");
  EXPECT_EQ(cpu_dim(floordiv(a, max(b, pool.integer(1)) * 5)),
            "(a_s0 / (max(i64(b_s1), i64(1)) * 5))");
}

}  // namespace
}  // namespace ingot
