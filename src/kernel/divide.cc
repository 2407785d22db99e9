// kernel/divide.cc: floordiv and floormod of index expressions, and their sums.
//
// With a = q * b + r the identities a // b = q + r // b and a mod b = r mod b take apart what is a
// multiple of b; then 0 <= r < b decides the rest. They hold in the integers, so sums must not
// overflow, and b must not be 0 where it says so.
#include <algorithm>

#include "base/check.h"
#include "kernel/linear.h"
#include "kernel/range.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

Sum term_sum(const Sum& like, const Term& term) {
  return to_sum(like, term);
}

/// The expression in the form in which sums are made elsewhere.
Expr settle(const Sum& sum) {
  return to_expr(merge_remainders(sum));
}

bool is_one(const Term& term) {
  return term.coefficient == 1 && term.factors.empty();
}

/// a = quotient * divisor + rest, by the terms that the divisor divides; of a constant what is left
/// lies in [0, divisor).
struct Split {
  Sum quotient, rest;
};

Split split_multiples(const Sum& a, const Term& divisor) {
  Split split = {{a.pool, a.dtype, {}}, {a.pool, a.dtype, {}}};
  for (const Term& term : a.terms) {
    if (const auto exact = divide_exactly(term, divisor)) {
      split.quotient = split.quotient + term_sum(a, *exact);
    } else if (term.is_constant() && divisor.is_constant() && divisor.coefficient > 0) {
      const Scalar operands[] = {make_integer(term.coefficient, a.dtype),
                                 make_integer(divisor.coefficient, a.dtype)};
      const int64_t quotient = apply(ExprKind::floordiv, a.dtype, operands).integer;
      const int64_t rest = apply(ExprKind::floormod, a.dtype, operands).integer;
      split.quotient = split.quotient + constant_sum(*a.pool, a.dtype, quotient);
      split.rest = split.rest + constant_sum(*a.pool, a.dtype, rest);
    } else {
      split.rest = split.rest + term_sum(a, term);
    }
  }
  return split;
}

/// A sum that is the divisor itself as a factor: k * (A + 1) as the terms k * A + k of `a`.
std::optional<Term> find_multiple_of_sum(const Sum& a, const Sum& divisor) {
  if (divisor.terms.size() < 2) return std::nullopt;
  for (const Term& term : a.terms) {
    auto multiple = divide_exactly(term, divisor.terms[0]);
    if (!multiple) continue;
    const Sum rest = a - to_sum(a, *multiple) * divisor;
    if (rest.terms.size() + divisor.terms.size() <= a.terms.size()) return multiple;
  }
  return std::nullopt;
}

/// A common divisor g of b and some terms of a with a = g * multiple + rest, 0 <= rest < g.
struct Coarse {
  Term divisor;
  Sum multiple, rest;
};

std::optional<Coarse> find_coarse(const Sum& a, const Term& b, Prover& prover) {
  for (const Term& term : a.terms) {
    if (term.is_constant()) continue;
    const Term divisor = common_divisor(term, b);
    if (is_one(divisor) || divisor.coefficient < 1) continue;
    Coarse coarse = {divisor, {a.pool, a.dtype, {}}, {a.pool, a.dtype, {}}};
    for (const Term& each : a.terms) {
      const auto exact = divide_exactly(each, divisor);
      Sum& part = exact ? coarse.multiple : coarse.rest;
      part = part + term_sum(a, exact ? *exact : each);
    }
    if (!coarse.rest.terms.empty() && coarse.rest.terms.back().is_constant() &&
        divisor.is_constant()) {
      // 4 * x + 7 = 4 * (x + 1) + 3.
      const Split split = split_multiples(coarse.rest, divisor);
      coarse.multiple = coarse.multiple + split.quotient;
      coarse.rest = split.rest;
    }
    if (prover.is_below(coarse.rest, term_sum(a, divisor))) return coarse;
  }
  return std::nullopt;
}

bool is_known_nonnegative(Expr expr) {
  return range_of(expr).lo >= 0;
}

/// (x // c + k) // b = (x + c * k) // (c * b); c and b not negative (both zero cases give 0 when
/// k is 0).
std::optional<Expr> merge_divisions(const Sum& a, Expr b, Prover& prover) {
  if (a.terms.empty() || a.terms.size() > 2) return std::nullopt;
  const Term& term = a.terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return std::nullopt;
  if (a.terms.size() == 2 && !a.terms[1].is_constant()) return std::nullopt;
  const Expr inner = term.factors[0];
  if (inner.kind() != ExprKind::floordiv) return std::nullopt;
  const Expr x = inner.operand(0);
  const Expr c = inner.operand(1);
  if (!is_known_nonnegative(c) || !is_known_nonnegative(b)) return std::nullopt;
  if (a.constant() != 0 && !prover.is_positive(c)) return std::nullopt;
  const Sum divisor = to_sum(c) * to_sum(b);
  const Sum dividend = to_sum(x) + scale(to_sum(c), a.constant());
  if (!cannot_overflow(divisor) || !cannot_overflow(dividend)) return std::nullopt;
  return floordiv(settle(dividend), settle(divisor));
}

/// (x mod (b * e)) // b = (x // b) mod e; b and e not negative.
std::optional<Expr> divide_remainder(const Sum& a, Expr b) {
  if (a.terms.size() != 1) return std::nullopt;
  const Term& term = a.terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return std::nullopt;
  const Expr inner = term.factors[0];
  if (inner.kind() != ExprKind::floormod) return std::nullopt;
  const Sum modulus = to_sum(inner.operand(1));
  const auto e = divide_exactly(to_term(modulus), to_term(to_sum(b)));
  if (!e || !cannot_overflow(modulus)) return std::nullopt;
  const Expr other = settle(term_sum(a, *e));
  if (!is_known_nonnegative(b) || !is_known_nonnegative(other)) return std::nullopt;
  return floormod(floordiv(inner.operand(0), b), other);
}

/// Terms k * (x mod c) where b divides k * c are as good as k * x, modulo b. Only a c that is 0
/// makes a difference, unless b is 0 then too.
std::optional<Sum> drop_inner_remainders(const Sum& a, const Term& b, Prover& prover) {
  for (const Term& term : a.terms) {
    for (size_t k = 0; k < term.factors.size(); ++k) {
      const Expr factor = term.factors[k];
      if (factor.kind() != ExprKind::floormod) continue;
      Term rest = term;
      rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(k));
      const Sum step = term_sum(a, rest) * to_sum(factor.operand(1));
      const bool divides = std::all_of(step.terms.begin(), step.terms.end(), [&](const Term& t) {
        return divide_exactly(t, b).has_value();
      });
      if (!divides) continue;
      const auto e = divide_exactly(to_term(to_sum(factor.operand(1))), b);
      const bool only_with_b = e && prover.is_nonzero(settle(term_sum(a, *e)));
      if (!only_with_b && !prover.is_nonzero(factor.operand(1))) continue;
      return a - term_sum(a, term) + term_sum(a, rest) * to_sum(factor.operand(0));
    }
  }
  return std::nullopt;
}

/// Removes the terms that are multiples of the constant b by the divisibility of symbols.
Sum drop_known_multiples(const Sum& a, int64_t b) {
  Sum kept = {a.pool, a.dtype, {}};
  for (const Term& term : a.terms) {
    if (!is_multiple_of(settle(term_sum(a, term)), b)) kept.terms.push_back(term);
  }
  return kept;
}

/// How much dividing a sum asks for: remainders and quotients first, then terms.
std::pair<size_t, size_t> cost(const Sum& sum) {
  size_t divisions = 0;
  for (const Term& term : sum.terms) {
    for (const Expr& factor : term.factors) {
      divisions += factor.kind() == ExprKind::floordiv || factor.kind() == ExprKind::floormod;
    }
  }
  return {divisions, sum.terms.size()};
}

/// k * (x mod c) + k * c * ((x // c) mod d) = k * (x mod (c * d)); c >= 0, d > 0.
std::optional<Sum> join_remainders(const Sum& sum, const Term& low, const Sum& rest_of_low, Expr x,
                                   Expr c, Expr quotient, Prover& prover) {
  const Sum step = rest_of_low * to_sum(c);
  for (const Term& high : sum.terms) {
    for (size_t k = 0; k < high.factors.size(); ++k) {
      const Expr factor = high.factors[k];
      if (factor.kind() != ExprKind::floormod || factor.operand(0) != quotient) continue;
      Term rest = high;
      rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(k));
      if (!(term_sum(sum, rest) - step).is_zero()) continue;
      const Expr d = factor.operand(1);
      const Sum modulus = to_sum(c) * to_sum(d);
      if (!is_known_nonnegative(c) || !prover.is_positive(d) || !cannot_overflow(modulus)) continue;
      const Sum joined = rest_of_low * to_sum(floormod(x, settle(modulus)));
      return sum - term_sum(sum, low) - term_sum(sum, high) + joined;
    }
  }
  return std::nullopt;
}

/// One better way to write a sum, by one of its terms.
std::optional<Sum> improve_term(const Sum& sum, const Term& term, size_t k) {
  const Expr factor = term.factors[k];
  const Expr x = factor.operand(0);
  const Expr c = factor.operand(1);
  Term rest = term;
  rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(k));
  Prover prover({x, c});
  if (!prover.is_nonzero(c)) return std::nullopt;
  Sum better;
  if (factor.kind() == ExprKind::floormod) {
    const Sum outside = term_sum(sum, rest);
    const Expr quotient = floordiv(x, c);
    better =
        sum - term_sum(sum, term) + outside * to_sum(x) - outside * to_sum(c) * to_sum(quotient);
    if (cost(better) < cost(sum)) return better;
    return join_remainders(sum, term, outside, x, c, quotient, prover);
  }
  const auto whole = divide_exactly(rest, to_term(to_sum(c)));
  if (!whole) return std::nullopt;
  const Sum outside = term_sum(sum, *whole);
  better = sum - term_sum(sum, term) + outside * to_sum(x) - outside * to_sum(floormod(x, c));
  if (cost(better) < cost(sum)) return better;
  return std::nullopt;
}

std::optional<Sum> improve(const Sum& sum) {
  for (const Term& term : sum.terms) {
    for (size_t k = 0; k < term.factors.size(); ++k) {
      const ExprKind kind = term.factors[k].kind();
      if (kind != ExprKind::floormod && kind != ExprKind::floordiv) continue;
      if (auto better = improve_term(sum, term, k)) return better;
    }
  }
  return std::nullopt;
}

/// a // b where it is the same at both ends of the range of a, and b > 0.
std::optional<int64_t> quotient_by_ranges(Expr a, Expr b) {
  const Range dividend = range_of(a);
  const Range divisor = range_of(b);
  if (divisor.lo < 1) return std::nullopt;
  if (dividend.lo >= 0 && dividend.hi < divisor.lo) return 0;
  if (!divisor.is_single() || dividend == all_values(a.dtype())) return std::nullopt;
  const auto floored = [&](int64_t value) {
    const Scalar operands[] = {make_integer(value, a.dtype()), make_integer(divisor.lo, a.dtype())};
    return apply(ExprKind::floordiv, a.dtype(), operands).integer;
  };
  if (floored(dividend.lo) != floored(dividend.hi)) return std::nullopt;
  return floored(dividend.lo);
}

}  // namespace

Sum merge_remainders(Sum sum) {
  if (sum.terms.size() > 16) return sum;
  while (auto better = improve(sum)) sum = std::move(*better);
  return sum;
}

std::optional<Expr> simplify_floordiv(Expr a, Expr b) {
  ExprPool& pool = a.pool();
  const DType dtype = a.dtype();
  if (b.is_int(0) || a.is_int(0)) return pool.integer(0, dtype);
  if (b.is_int(1)) return a;
  if (const auto quotient = quotient_by_ranges(a, b)) return pool.integer(*quotient, dtype);
  if (!is_signed(dtype)) return std::nullopt;
  const Sum dividend = to_sum(a);
  const Sum divisor = to_sum(b);
  if (!cannot_overflow(dividend) || !cannot_overflow(divisor)) return std::nullopt;
  const Term b_term = to_term(divisor);
  Prover prover({a, b});
  if (prover.is_nonzero(b)) {
    if (const auto multiple = find_multiple_of_sum(dividend, divisor)) {
      const Sum quotient = to_sum(dividend, *multiple);
      return settle(quotient + to_sum(floordiv(settle(dividend - quotient * divisor), b)));
    }
    const Split split = split_multiples(dividend, b_term);
    if (!split.quotient.is_zero()) {
      return settle(split.quotient) + floordiv(settle(split.rest), b);
    }
    if (const auto coarse = find_coarse(dividend, b_term, prover)) {
      const auto fine = divide_exactly(b_term, coarse->divisor);
      return floordiv(settle(coarse->multiple), settle(to_sum(divisor, *fine)));
    }
  }
  if (prover.is_below(dividend, divisor)) return pool.integer(0, dtype);
  if (prover.is_negative_above(dividend, divisor)) return pool.integer(-1, dtype);
  if (const auto merged = merge_divisions(dividend, b, prover)) return merged;
  return divide_remainder(dividend, b);
}

std::optional<Expr> simplify_floormod(Expr a, Expr b) {
  ExprPool& pool = a.pool();
  const DType dtype = a.dtype();
  if (b.is_int(0) || b.is_int(1) || a.is_int(0)) return pool.integer(0, dtype);
  if (const auto quotient = quotient_by_ranges(a, b)) {
    return settle(to_sum(a) - scale(to_sum(b), *quotient));
  }
  if (!is_signed(dtype)) return std::nullopt;
  const Sum dividend = to_sum(a);
  const Sum divisor = to_sum(b);
  if (!cannot_overflow(dividend) || !cannot_overflow(divisor)) return std::nullopt;
  const Term b_term = to_term(divisor);
  Prover prover({a, b});
  if (const auto multiple = find_multiple_of_sum(dividend, divisor)) {
    return floormod(settle(dividend - to_sum(dividend, *multiple) * divisor), b);
  }
  const Split split = split_multiples(dividend, b_term);
  if (!split.quotient.is_zero()) return floormod(settle(split.rest), b);
  if (const auto value = b.as_int(); value && *value > 0) {
    const Sum kept = drop_known_multiples(dividend, *value);
    if (kept.terms.size() < dividend.terms.size()) return floormod(settle(kept), b);
  }
  if (prover.is_below(dividend, divisor)) return a;
  if (const auto simpler = drop_inner_remainders(dividend, b_term, prover)) {
    if (cannot_overflow(*simpler)) return floormod(settle(*simpler), b);
  }
  if (!prover.is_nonzero(b)) return std::nullopt;
  if (const auto coarse = find_coarse(dividend, b_term, prover)) {
    const auto fine = divide_exactly(b_term, coarse->divisor);
    const Expr high = floormod(settle(coarse->multiple), settle(to_sum(divisor, *fine)));
    return settle(to_sum(high) * to_sum(divisor, coarse->divisor) + coarse->rest);
  }
  if (prover.is_negative_above(dividend, divisor)) return settle(dividend + divisor);
  return std::nullopt;
}

}  // namespace ingot
