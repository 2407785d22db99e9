// kernel/random_expr.h: random expressions and values, for tests of this folder and of others.
#pragma once

#include <map>
#include <vector>

#include "base/random.h"
#include "kernel/expr.h"
#include "kernel/stmt.h"

namespace ingot {

/// A value of the type: edges of its range, zeros of both signs, NaN and infinities are frequent.
Scalar random_scalar(Random& random, DType dtype);

/// Values for the leaves of expressions. Symbols lie in their range and are multiples of their
/// divisor; loop variables lie below their extent. draw() fails (false) where an extent is 0.
class RandomLeaves {
 public:
  RandomLeaves(ExprPool& pool, Random& random) : pool_(pool), random_(random) {}

  /// New values for everything that the expressions hold; symbols up to `largest_symbol`.
  bool draw(const std::vector<Expr>& expressions, int64_t largest_symbol);
  Scalar value(Expr leaf) const;
  /// evaluate() with these values.
  Scalar run(Expr expr) const;
  /// "x = 3, i0 = 1", for messages.
  std::string text() const;

 private:
  bool draw_leaf(Expr leaf, int64_t largest_symbol);

  ExprPool& pool_;
  Random& random_;
  std::map<uint32_t, Scalar> values_;  // by id of the leaf
};

/// The expression with every node made again by ExprPool::make.
Expr simplify_again(Expr root);

/// What random expressions are made of. Built node by node without simplification.
struct RandomExprOptions {
  std::vector<Expr> leaves;  // every type that occurs should have one
  int depth = 4;
  bool index_arithmetic = false;  // i64 sums, products by small factors, divisions, min, max alone
};
Expr random_expr(Random& random, ExprPool& pool, const RandomExprOptions& options, DType dtype);

}  // namespace ingot
