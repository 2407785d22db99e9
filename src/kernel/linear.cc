// kernel/linear.cc: sums of products: reading, writing, adding and multiplying them.
#include "kernel/linear.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "kernel/range.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

constexpr size_t kMostTerms = 64;

/// Larger numbers in index arithmetic stand for "to the end", not for a size.
constexpr int64_t kLargestTrusted = int64_t{1} << 60;

bool is_sum(Expr expr) {
  return expr.kind() == ExprKind::add || expr.kind() == ExprKind::sub;
}

/// A sum that is multiplied out, as the head of linear.h says.
bool is_moving_sum(Expr expr) {
  return is_sum(expr) && !expr.pool().leaves(expr.id()).only_dims;
}

int64_t times(int64_t a, int64_t b, DType dtype) {
  return wrap(static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)), dtype);
}

int64_t plus(int64_t a, int64_t b, DType dtype) {
  return wrap(static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)), dtype);
}

void sort_factors(std::vector<Expr>& factors) {
  std::sort(factors.begin(), factors.end(), [](Expr a, Expr b) { return compare(a, b) < 0; });
}

/// Sorts the terms and adds those with the same factors.
void gather_terms(Sum& sum) {
  std::sort(sum.terms.begin(), sum.terms.end(),
            [](const Term& a, const Term& b) { return compare_factors(a.factors, b.factors) < 0; });
  size_t count = 0;
  for (Term& term : sum.terms) {
    if (count > 0 && sum.terms[count - 1].factors == term.factors) {
      Term& last = sum.terms[count - 1];
      last.coefficient = plus(last.coefficient, term.coefficient, sum.dtype);
    } else {
      if (count > 0 && sum.terms[count - 1].coefficient == 0) --count;
      if (&sum.terms[count] != &term) sum.terms[count] = std::move(term);
      ++count;
    }
  }
  if (count > 0 && sum.terms[count - 1].coefficient == 0) --count;
  sum.terms.resize(count);
}

void collect_factors(Expr expr, Term& term, DType dtype) {
  while (expr.kind() == ExprKind::mul) {
    collect_factors(expr.operand(1), term, dtype);
    expr = expr.operand(0);
  }
  if (const auto value = expr.as_int()) {
    term.coefficient = times(term.coefficient, *value, dtype);
  } else {
    term.factors.push_back(expr);
  }
}

/// Adds coefficient * expr to the terms, unsorted.
void collect_terms(Expr expr, int64_t coefficient, Sum& sum) {
  while (is_sum(expr)) {
    const bool minus = expr.kind() == ExprKind::sub;
    collect_terms(expr.operand(1), minus ? times(coefficient, -1, sum.dtype) : coefficient, sum);
    expr = expr.operand(0);
  }
  if (expr.kind() == ExprKind::neg) {
    collect_terms(expr.operand(0), times(coefficient, -1, sum.dtype), sum);
    return;
  }
  Term term = {coefficient, {}};
  collect_factors(expr, term, sum.dtype);
  if (term.factors.size() == 1 &&
      (is_sum(term.factors[0]) || term.factors[0].kind() == ExprKind::neg)) {
    collect_terms(term.factors[0], term.coefficient, sum);
    return;
  }
  sort_factors(term.factors);
  sum.terms.push_back(std::move(term));
}

/// Adds a term, unsorted; a lone factor that is a sum is added term by term.
void push_term(Sum& sum, Term term) {
  if (term.factors.size() == 1 && is_sum(term.factors[0])) {
    collect_terms(term.factors[0], term.coefficient, sum);
  } else {
    sum.terms.push_back(std::move(term));
  }
}

Expr intern_binary(ExprKind kind, Expr a, Expr b) {
  return a.pool().intern({kind, a.dtype(), {a.id(), b.id(), ExprPool::kNone}, 0});
}

/// factors * magnitude; the factors are not empty.
Expr to_product(const std::vector<Expr>& factors, int64_t magnitude) {
  Expr product = factors[0];
  for (size_t k = 1; k < factors.size(); ++k) {
    product = intern_binary(ExprKind::mul, product, factors[k]);
  }
  if (magnitude == 1) return product;
  return intern_binary(ExprKind::mul, product, product.pool().integer(magnitude, product.dtype()));
}

/// The coefficient as a signed number of its width.
int64_t signed_coefficient(int64_t value, DType dtype) {
  const int unused = 64 - bits(dtype);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

std::vector<Expr> intersect(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  std::vector<Expr> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common),
                        [](Expr x, Expr y) { return compare(x, y) < 0; });
  return common;
}

std::optional<std::vector<Expr>> remove_factors(const std::vector<Expr>& from,
                                                const std::vector<Expr>& what) {
  std::vector<Expr> rest;
  size_t k = 0;
  for (const Expr& factor : from) {
    if (k < what.size() && factor == what[k]) {
      ++k;
    } else {
      rest.push_back(factor);
    }
  }
  if (k < what.size()) return std::nullopt;
  return rest;
}

Term multiply(const Term& a, const Term& b, DType dtype) {
  Term product = {times(a.coefficient, b.coefficient, dtype), a.factors};
  product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
  sort_factors(product.factors);
  return product;
}

}  // namespace

int64_t Sum::constant() const {
  return !terms.empty() && terms.back().is_constant() ? terms.back().coefficient : 0;
}

int compare_factors(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (const int c = compare(a[k], b[k])) return c;
  }
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}

Sum constant_sum(ExprPool& pool, DType dtype, int64_t value) {
  Sum sum = {&pool, dtype, {}};
  if (wrap(value, dtype) != 0) sum.terms.push_back({wrap(value, dtype), {}});
  return sum;
}

Sum to_sum(Expr expr) {
  Sum sum = {&expr.pool(), expr.dtype(), {}};
  collect_terms(expr, 1, sum);
  gather_terms(sum);
  return sum;
}

Sum to_sum(const Sum& like, const Term& term) {
  Sum sum = {like.pool, like.dtype, {}};
  push_term(sum, term);
  gather_terms(sum);
  return sum;
}

Expr to_expr(const Sum& sum) {
  if (sum.is_zero()) return sum.pool->integer(0, sum.dtype);
  Expr result;
  for (const Term& term : sum.terms) {
    const int64_t value = signed_coefficient(term.coefficient, sum.dtype);
    const bool is_lowest = value == kLowest >> (64 - bits(sum.dtype));
    const bool minus = value < 0 && !is_lowest;
    if (!result) {
      if (term.is_constant()) return sum.pool->integer(term.coefficient, sum.dtype);
      if (value == -1) {
        const Expr product = to_product(term.factors, 1);
        result = sum.pool->intern(
            {ExprKind::neg, sum.dtype, {product.id(), ExprPool::kNone, ExprPool::kNone}, 0});
      } else {
        result = to_product(term.factors, value);
      }
      continue;
    }
    const int64_t size = minus ? -value : value;
    const Expr next =
        term.is_constant() ? sum.pool->integer(size, sum.dtype) : to_product(term.factors, size);
    result = intern_binary(minus ? ExprKind::sub : ExprKind::add, result, next);
  }
  return result;
}

Sum operator+(const Sum& a, const Sum& b) {
  Sum sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  gather_terms(sum);
  return sum;
}

Sum operator-(const Sum& a, const Sum& b) {
  return a + scale(b, -1);
}

Sum scale(const Sum& a, int64_t factor) {
  Sum sum = a;
  for (Term& term : sum.terms) term.coefficient = times(term.coefficient, factor, a.dtype);
  gather_terms(sum);
  return sum;
}

Term to_term(const Sum& sum) {
  if (sum.is_zero()) return {0, {}};
  if (sum.terms.size() == 1) return sum.terms[0];
  uint64_t divisor = 0;
  std::vector<Expr> common = sum.terms[0].factors;
  bool is_safe = true;
  for (const Term& term : sum.terms) {
    divisor = std::gcd(divisor, magnitude(term.coefficient));
    common = intersect(common, term.factors);
    is_safe &= term.coefficient != kLowest;
  }
  int64_t coefficient = is_safe ? static_cast<int64_t>(divisor) : 1;
  if (is_safe && sum.terms[0].coefficient < 0) coefficient = -coefficient;
  Sum rest = {sum.pool, sum.dtype, {}};
  for (const Term& term : sum.terms) {
    rest.terms.push_back({term.coefficient / coefficient, *remove_factors(term.factors, common)});
  }
  gather_terms(rest);
  Term result = {wrap(coefficient, sum.dtype), std::move(common)};
  result.factors.push_back(to_expr(rest));
  sort_factors(result.factors);
  return result;
}

Sum operator*(const Sum& a, const Sum& b) {
  const Term product = multiply(to_term(a), to_term(b), a.dtype);
  Sum result = {a.pool, a.dtype, {}};
  if (product.coefficient == 0) return result;
  const auto moving = std::find_if(product.factors.begin(), product.factors.end(), is_moving_sum);
  const auto moving_sums =
      std::count_if(product.factors.begin(), product.factors.end(), is_moving_sum);
  if (moving_sums != 1) {
    push_term(result, product);
  } else {
    Term rest = product;
    rest.factors.erase(rest.factors.begin() + (moving - product.factors.begin()));
    for (const Term& term : to_sum(*moving).terms) {
      push_term(result, multiply(term, rest, a.dtype));
    }
  }
  gather_terms(result);
  return result;
}

std::optional<Term> divide_exactly(const Term& a, const Term& b) {
  if (b.coefficient == 0 || (b.coefficient == -1 && a.coefficient == kLowest)) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  auto rest = remove_factors(a.factors, b.factors);
  if (!rest) return std::nullopt;
  return Term{a.coefficient / b.coefficient, std::move(*rest)};
}

Term common_divisor(const Term& a, const Term& b) {
  const uint64_t divisor = std::gcd(magnitude(a.coefficient), magnitude(b.coefficient));
  return {divisor > static_cast<uint64_t>(kMaxDim) ? 1 : static_cast<int64_t>(divisor),
          intersect(a.factors, b.factors)};
}

// ---- multiplied out --------------------------------------------------------------------------

std::optional<Sum> add_exactly(const Sum& a, const Sum& b, int64_t factor) {
  Sum sum = a;
  for (Term term : b.terms) {
    if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient)) return std::nullopt;
    const auto same = std::find_if(sum.terms.begin(), sum.terms.end(),
                                   [&](const Term& t) { return t.factors == term.factors; });
    if (same == sum.terms.end()) {
      sum.terms.push_back(term);
    } else if (__builtin_add_overflow(same->coefficient, term.coefficient, &same->coefficient)) {
      return std::nullopt;
    }
  }
  gather_terms(sum);
  if (sum.terms.size() > kMostTerms) return std::nullopt;
  return sum;
}

std::optional<Sum> multiply_out(const Sum& a, const Sum& b) {
  std::optional<Sum> result = Sum{a.pool, a.dtype, {}};
  for (const Term& s : a.terms) {
    Sum row = {a.pool, a.dtype, {}};
    for (const Term& t : b.terms) {
      Term product = multiply(s, t, a.dtype);
      if (__builtin_mul_overflow(s.coefficient, t.coefficient, &product.coefficient)) {
        return std::nullopt;
      }
      row.terms.push_back(std::move(product));
    }
    gather_terms(row);
    result = add_exactly(*result, row);
    if (!result) return std::nullopt;
  }
  return result;
}

std::optional<Sum> expand(const Sum& sum) {
  std::optional<Sum> result = Sum{sum.pool, DType::i64, {}};
  for (const Term& term : sum.terms) {
    const int64_t coefficient = signed_coefficient(term.coefficient, sum.dtype);
    std::optional<Sum> product = constant_sum(*sum.pool, DType::i64, coefficient);
    for (const Expr& factor : term.factors) {
      const auto of_factor =
          is_sum(factor) ? expand(to_sum(factor)) : Sum{sum.pool, DType::i64, {{1, {factor}}}};
      if (!of_factor) return std::nullopt;
      product = multiply_out(*product, *of_factor);
      if (!product) return std::nullopt;
    }
    result = add_exactly(*result, *product);
    if (!result) return std::nullopt;
  }
  return result;
}

bool cannot_overflow(const Sum& sum) {
  bool is_trusted = sum.dtype == DType::i64;
  bool fits = sum.dtype != DType::u64;
  Range total = {0, 0};  // of every partial sum
  for (const Term& term : sum.terms) {
    const int64_t coefficient = signed_coefficient(term.coefficient, sum.dtype);
    is_trusted &= coefficient > -kLargestTrusted && coefficient < kLargestTrusted;
    std::optional<Range> product = Range{coefficient, coefficient};
    for (const Expr& factor : term.factors) {
      const Range range = range_of(factor);
      is_trusted &= factor.pool().leaves(factor.id()).only_index ||
                    (range.lo >= -kMaxDim && range.hi <= kMaxDim);
      if (product) product = multiply_ranges(*product, range);
    }
    if (product) {
      const Range signed_part = {std::min<int64_t>(product->lo, 0),
                                 std::max<int64_t>(product->hi, 0)};
      product = add_ranges(total, signed_part);
    }
    if (product) total = *product;
    fits &= product.has_value();
  }
  if (is_trusted) return true;
  return fits && wrap(total.lo, sum.dtype) == total.lo && wrap(total.hi, sum.dtype) == total.hi;
}

}  // namespace ingot
