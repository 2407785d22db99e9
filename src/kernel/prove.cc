// kernel/prove.cc: signs of index expressions by symbolic bounds.
#include <algorithm>

#include "base/check.h"
#include "kernel/range.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

/// Enough for the offsets of tensors of rank 8; a proof that needs more is given up.
constexpr int kMostSteps = 200;
/// Longer sums, such as the dim of a concatenation of very many parts, are judged by ranges alone.
constexpr size_t kMostTerms = 24;

// Sums here are those of expand(): numbers without a width.
Sum atom_sum(Expr atom) {
  return {&atom.pool(), DType::i64, {{1, {atom}}}};
}

Sum number_sum(ExprPool& pool, int64_t value) {
  return constant_sum(pool, DType::i64, value);
}

/// The multiplied-out sum plus a number.
std::optional<Sum> expand_with_offset(const Sum& sum, int64_t offset) {
  auto result = expand(sum);
  if (result) result = add_exactly(*result, number_sum(*sum.pool, offset));
  return result;
}

/// Atoms whose bounds are worth putting in their place, innermost loops first.
std::vector<Expr> find_bounded_atoms(const Sum& sum) {
  std::vector<Expr> atoms;
  for (const Term& term : sum.terms) {
    for (const Expr& factor : term.factors) {
      switch (factor.kind()) {
        case ExprKind::index:
        case ExprKind::floordiv:
        case ExprKind::floormod:
        case ExprKind::min:
        case ExprKind::max:
          if (std::find(atoms.begin(), atoms.end(), factor) == atoms.end()) atoms.push_back(factor);
          break;
        default:
          break;
      }
    }
  }
  // Operations before the loop variables inside them, inner loops before outer ones, whose
  // variables their extents may hold.
  std::sort(atoms.begin(), atoms.end(), [](Expr a, Expr b) { return compare(a, b) > 0; });
  return atoms;
}

}  // namespace

Prover::Prover(std::initializer_list<Expr> about) : pool_(&about.begin()->pool()) {
  for (const Expr& expr : about) {
    if (pool_->leaves(expr.id()).only_dims) continue;
    for_each(expr, [&](Expr part) {
      if (part.kind() == ExprKind::index) learn_at_least(pool_->extent(part.var()), 1);
    });
  }
}

void Prover::learn_at_least(Expr expr, int64_t bound) {
  if (expr.dtype() != DType::i64 || expr.as_int()) return;
  const auto [place, is_new] = at_least_.try_emplace(expr.id(), bound);
  if (!is_new && place->second >= bound) return;
  place->second = std::max(place->second, bound);
  if (expr.kind() == ExprKind::index) return;
  if (expr.kind() == ExprKind::min) {
    learn_at_least(expr.operand(0), bound);
    learn_at_least(expr.operand(1), bound);
    return;
  }
  if (bound < 1) return;
  if (expr.kind() == ExprKind::floordiv && range(expr.operand(1)).lo >= 0) {
    // a // b >= 1 and b >= 0: b is not 0, so a >= b >= 1.
    learn_at_least(expr.operand(1), 1);
    learn_at_least(expr.operand(0), 1);
    learn_at_least(expr.operand(0) - expr.operand(1) + 1, 1);
    return;
  }
  const Sum sum = to_sum(expr);
  const int64_t constant = sum.constant();
  const size_t moving = sum.terms.size() - (constant != 0 ? 1 : 0);
  if (moving != 1 || sum.terms[0].coefficient < 1 || !cannot_overflow(sum)) return;
  const Term& term = sum.terms[0];
  if (constant == 0 && term.factors.size() > 1) {
    const bool all = std::all_of(term.factors.begin(), term.factors.end(),
                                 [&](Expr factor) { return range(factor).lo >= 0; });
    for (const Expr& factor : term.factors) {
      if (all) learn_at_least(factor, 1);
    }
  } else if (term.factors.size() == 1 && constant > -kMaxDim && constant < kMaxDim) {
    const int64_t rest = bound - constant;
    const int64_t least = rest / term.coefficient + (rest > 0 && rest % term.coefficient != 0);
    if (rest > 0 && term.factors[0] != expr) learn_at_least(term.factors[0], least);
  }
}

Range Prover::range(Expr expr) const {
  Range range = range_of(expr);
  const auto known = at_least_.find(expr.id());
  if (known != at_least_.end()) range.lo = std::max(range.lo, known->second);
  range.hi = std::max(range.hi, range.lo);
  return range;
}

Range Prover::range(const Sum& sum) const {
  std::optional<Range> total = Range{0, 0};
  for (const Term& term : sum.terms) {
    std::optional<Range> product = Range{term.coefficient, term.coefficient};
    for (const Expr& factor : term.factors) {
      if (product) product = multiply_ranges(*product, range(factor));
    }
    if (product && total) total = add_ranges(*total, *product);
    if (!product || !total) return {};
  }
  return *total;
}

bool Prover::is_nonnegative(const Sum& sum) {
  const auto multiplied_out = expand(sum);
  if (!multiplied_out) return false;
  steps_left_ = kMostSteps;
  return prove(*multiplied_out);
}

/// b - a >= distance, where the ranges do not tell.
bool Prover::is_apart(Expr a, Expr b, int64_t distance) {
  if (a.dtype() != DType::i64) return false;
  const Sum x = to_sum(a);
  const Sum y = to_sum(b);
  return cannot_overflow(x) && cannot_overflow(y) && is_apart(x, y, distance);
}

bool Prover::is_apart(const Sum& a, const Sum& b, int64_t distance) {
  const auto least = expand_with_offset(a, distance);
  const auto most = expand(b);
  const auto gap = least && most ? add_exactly(*most, *least, -1) : std::nullopt;
  if (!gap) return false;
  steps_left_ = kMostSteps;
  return prove(*gap);
}

bool Prover::is_positive(Expr expr) {
  if (range(expr).lo >= 1) return true;
  if (at_least_.empty() || expr.dtype() != DType::i64) return false;
  const Sum sum = to_sum(expr);
  return cannot_overflow(sum) && is_apart(number_sum(*pool_, 0), sum, 1);
}

bool Prover::is_nonzero(Expr expr) {
  const Range known = range(expr);
  return known.lo > 0 || known.hi < 0 || is_positive(expr);
}

bool Prover::is_below(const Sum& a, const Sum& b) {
  return is_nonnegative(a) && is_apart(a, b, 1);
}

bool Prover::is_negative_above(const Sum& a, const Sum& b) {
  if (!is_apart(a, number_sum(*pool_, 0), 1)) return false;
  const auto x = expand(a);
  const auto y = expand(b);
  const auto sum = x && y ? add_exactly(*x, *y) : std::nullopt;
  if (!sum) return false;
  steps_left_ = kMostSteps;
  return prove(*sum);
}

bool Prover::is_at_most(Expr a, Expr b) {
  return range(a).hi <= range(b).lo || is_apart(a, b, 0);
}

bool Prover::is_less(Expr a, Expr b) {
  return range(a).hi < range(b).lo || is_apart(a, b, 1);
}

/// sum >= 0, for a sum that is multiplied out.
bool Prover::prove(const Sum& sum) {
  if (sum.is_constant()) return sum.constant() >= 0;
  if (range(sum).lo >= 0) return true;
  if (--steps_left_ < 0 || sum.terms.size() > kMostTerms) return false;
  for (const Expr& atom : find_bounded_atoms(sum)) {
    if (prove_by_bounds_of(sum, atom)) return true;
    if (atom.kind() == ExprKind::index) return false;
  }
  return prove_by_lower_bounds(sum);
}

/// With sum = atom * slope + rest: the bound of atom that makes it least is put in its place.
bool Prover::prove_by_bounds_of(const Sum& sum, Expr atom) {
  Sum slope = {sum.pool, sum.dtype, {}};
  Sum rest = slope;
  for (const Term& term : sum.terms) {
    const auto found = std::find(term.factors.begin(), term.factors.end(), atom);
    if (found == term.factors.end()) {
      rest.terms.push_back(term);
      continue;
    }
    Term without = term;
    without.factors.erase(without.factors.begin() + (found - term.factors.begin()));
    const auto again = std::find(without.factors.begin(), without.factors.end(), atom);
    if (again != without.factors.end()) return false;
    slope = slope + Sum{sum.pool, sum.dtype, {without}};
  }
  const bool rising = prove(slope);
  if (!rising && !prove(scale(slope, -1))) return false;
  if (steps_left_ <= 0) return false;
  for (const Sum& bound : bounds(atom, !rising)) {
    const auto product = multiply_out(slope, bound);
    const auto least = product ? add_exactly(rest, *product) : std::nullopt;
    if (least && prove(*least)) return true;
  }
  return false;
}

/// The bound (k * (extent - 1)) // b of (k * i) // b.
void Prover::add_largest_quotient(Expr a, Expr b, const std::function<void(const Sum&)>& add) {
  const Sum sum = to_sum(a);
  if (sum.terms.size() != 1 || sum.terms[0].factors.size() != 1) return;
  const Expr index = sum.terms[0].factors[0];
  if (index.kind() != ExprKind::index || sum.terms[0].coefficient < 1) return;
  const Expr largest = (pool_->extent(index.var()) - 1) * sum.terms[0].coefficient;
  add(to_sum(floordiv(largest, b)));
}

/// Expanded sums that are at least (upper) or at most (lower) the atom.
std::vector<Sum> Prover::bounds(Expr atom, bool upper) {
  std::vector<Sum> found;
  const auto add = [&](const Sum& sum, int64_t offset = 0) {
    if (auto bound = expand_with_offset(sum, offset)) found.push_back(std::move(*bound));
  };
  const Range known = range(atom);
  if (!upper && known.lo != std::numeric_limits<int64_t>::min()) {
    add(number_sum(*pool_, known.lo));
  }
  const Expr a = atom.operand(0);
  const Expr b = atom.operand(1);
  switch (atom.kind()) {
    case ExprKind::index:
      if (upper) add(to_sum(pool_->extent(atom.var())), -1);
      break;
    case ExprKind::floormod:
      if (upper && range(b).lo >= 1) add(to_sum(b), -1);
      break;
    case ExprKind::floordiv:
      if (range(b).lo < 1) break;
      if (upper) add_largest_quotient(a, b, add);
      break;
    case ExprKind::min:
      if (upper) {
        add(to_sum(a));
        add(to_sum(b));
      }
      break;
    case ExprKind::max:
      if (!upper) {
        add(to_sum(a));
        add(to_sum(b));
      }
      break;
    default:
      break;
  }
  if (upper && known.hi < kMaxDim) add(number_sum(*pool_, known.hi));
  return found;
}

/// Every atom is its lower bound plus something not negative: shows sums without negative
/// coefficients after that shift.
bool Prover::prove_by_lower_bounds(const Sum& sum) const {
  std::optional<Sum> shifted = number_sum(*pool_, 0);
  for (const Term& term : sum.terms) {
    std::optional<Sum> product = number_sum(*pool_, term.coefficient);
    for (const Expr& factor : term.factors) {
      const int64_t least = range(factor).lo;
      if (least < -kMaxDim) return false;
      product = multiply_out(*product, atom_sum(factor) + number_sum(*pool_, least));
      if (!product) return false;
    }
    shifted = add_exactly(*shifted, *product);
    if (!shifted) return false;
  }
  return std::all_of(shifted->terms.begin(), shifted->terms.end(),
                     [](const Term& term) { return term.coefficient > 0; });
}

}  // namespace ingot
