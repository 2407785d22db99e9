// kernel/linear.h: integer expressions as sums of products, the canonical form of index arithmetic.
//
// Integers of one width form a ring, so gathering terms is exact even where sums wrap around.
//
// Canonical form: a product of several factors is multiplied out over a sum if exactly one factor
// is a sum that moves with loop variables or data. Sums of symbols alone stay factors, for they are
// the sizes and strides of tensors: i0 * (past + seq) * 64.
#pragma once

#include <vector>

#include "kernel/expr.h"

namespace ingot {

/// coefficient * factors[0] * factors[1] * ...; factors are sorted and none is a constant.
struct Term {
  int64_t coefficient = 0;
  std::vector<Expr> factors;

  bool is_constant() const { return factors.empty(); }
};

/// Terms sorted by their factors, all different, no coefficient 0, the constant last.
struct Sum {
  ExprPool* pool = nullptr;
  DType dtype = DType::i64;
  std::vector<Term> terms;

  bool is_zero() const { return terms.empty(); }
  bool is_constant() const { return terms.empty() || (terms.size() == 1 && constant() != 0); }
  int64_t constant() const;
};

/// Order of terms by their factors alone; longer products first, the constant last.
int compare_factors(const std::vector<Expr>& a, const std::vector<Expr>& b);

Sum constant_sum(ExprPool& pool, DType dtype, int64_t value);

/// The sum that a simplified expression of an integer type stands for.
Sum to_sum(Expr expr);
Expr to_expr(const Sum& sum);

Sum operator+(const Sum& a, const Sum& b);
Sum operator-(const Sum& a, const Sum& b);
/// The product in canonical form.
Sum operator*(const Sum& a, const Sum& b);
Sum scale(const Sum& a, int64_t factor);
Sum to_sum(const Sum& like, const Term& term);

/// One term equal to the sum: a sum of several terms becomes a factor, without what its terms
/// have in common: 4 * A * B + 8 * A = 4 * A * (B + 2).
Term to_term(const Sum& sum);
/// a / b if the factors and the coefficient of b are in a.
std::optional<Term> divide_exactly(const Term& a, const Term& b);
/// The factors and the part of the coefficient that both have; positive.
Term common_divisor(const Term& a, const Term& b);

/// Multiplies out everything; none if it has more than 64 terms or a coefficient overflows. The
/// result is a sum of numbers without a width: its dtype is i64 whatever its atoms are.
std::optional<Sum> expand(const Sum& sum);
/// a * b for expanded sums.
std::optional<Sum> multiply_out(const Sum& a, const Sum& b);
/// a + factor * b for expanded sums.
std::optional<Sum> add_exactly(const Sum& a, const Sum& b, int64_t factor = 1);

/// True if no partial result of the sum can leave the range of its type. Index arithmetic is
/// trusted: a tensor whose elements cannot be counted in i64 is refused before anything runs.
bool cannot_overflow(const Sum& sum);

/// Uses x = (x // c) * c + x mod c in both directions where that saves divisions.
Sum merge_remainders(Sum sum);

/// Integer floordiv and floormod by the identities of index arithmetic; none: nothing better than
/// the plain node is known.
std::optional<Expr> simplify_floordiv(Expr a, Expr b);
std::optional<Expr> simplify_floormod(Expr a, Expr b);

}  // namespace ingot
