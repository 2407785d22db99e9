// kernel/range.cc: intervals of integer expressions from the ranges of their leaves.
#include "kernel/range.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kLowest : kHighest;
}

int64_t multiply_saturating(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kHighest : kLowest;
}

int64_t negate_saturating(int64_t a) {
  return a == kLowest ? kHighest : -a;
}

Range join(Range a, Range b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// The interval of four products, with saturated ends.
Range multiply_saturating(Range a, Range b) {
  const int64_t ends[] = {multiply_saturating(a.lo, b.lo), multiply_saturating(a.lo, b.hi),
                          multiply_saturating(a.hi, b.lo), multiply_saturating(a.hi, b.hi)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == -1) return negate_saturating(a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t largest_magnitude(Range a) {
  return std::max(negate_saturating(std::min<int64_t>(a.lo, 0)), std::max<int64_t>(a.hi, 0));
}

Range range_of_floordiv(Range a, Range b) {
  if (b.lo >= 1) {
    return {floor_divide(a.lo, a.lo < 0 ? b.lo : b.hi), floor_divide(a.hi, a.hi < 0 ? b.hi : b.lo)};
  }
  if (b.lo == 0) return {std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0)};
  const int64_t most = largest_magnitude(a);
  return {negate_saturating(most), most};
}

Range range_of_floormod(Range a, Range b) {
  if (a.lo >= 0 && b.lo > a.hi) return a;
  const int64_t below = b.lo < 0 ? std::min<int64_t>(add_saturating(b.lo, 1), 0) : 0;
  int64_t above = std::max<int64_t>(add_saturating(b.hi, -1), 0);
  if (a.lo >= 0 && b.lo >= 0) above = std::min(above, a.hi);
  return {below, above};
}

Range range_of_div(Range a, Range b) {
  if (a.lo >= 0 && b.lo >= 0) return range_of_floordiv(a, b);
  const int64_t most = largest_magnitude(a);
  return {negate_saturating(most), most};
}

Range range_of_fmod(Range a, Range b) {
  const int64_t most = std::max<int64_t>(add_saturating(largest_magnitude(b), -1), 0);
  return {std::max(negate_saturating(most), std::min<int64_t>(a.lo, 0)),
          std::min(most, std::max<int64_t>(a.hi, 0))};
}

/// Smallest 2^n - 1 that is at least x >= 0.
int64_t fill_bits(int64_t x) {
  return x == 0 ? 0
                : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(static_cast<uint64_t>(x)));
}

Range range_of_bits(ExprKind kind, Range a, Range b, DType dtype) {
  if (kind == ExprKind::bit_and) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    if (b.lo >= 0) return {0, b.hi};
    return all_values(dtype);
  }
  if (a.lo < 0 || b.lo < 0) return all_values(dtype);
  return {0, fill_bits(std::max(a.hi, b.hi))};
}

bool is_within(Range a, Range b) {
  return b.lo <= a.lo && a.hi <= b.hi;
}

/// The range of an operation by the ranges of its operands, as if in unbounded integers.
Range range_of_operation(Expr expr, Range a, Range b) {
  const DType dtype = expr.dtype();
  const Range all = all_values(dtype);
  switch (expr.kind()) {
    case ExprKind::add:
      return {add_saturating(a.lo, b.lo), add_saturating(a.hi, b.hi)};
    case ExprKind::sub:
      return {add_saturating(a.lo, negate_saturating(b.hi)),
              add_saturating(a.hi, negate_saturating(b.lo))};
    case ExprKind::mul:
      return multiply_saturating(a, b);
    case ExprKind::neg:
      return {negate_saturating(a.hi), negate_saturating(a.lo)};
    case ExprKind::div:
      return range_of_div(a, b);
    case ExprKind::fmod:
      return range_of_fmod(a, b);
    case ExprKind::floordiv:
      return range_of_floordiv(a, b);
    case ExprKind::floormod:
      return range_of_floormod(a, b);
    case ExprKind::min:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ExprKind::max:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case ExprKind::abs:
      if (a.lo >= 0) return a;
      return {a.hi < 0 ? negate_saturating(a.hi) : 0, largest_magnitude(a)};
    case ExprKind::sign:
      return {a.lo > 0 ? 1 : a.lo == 0 ? 0 : -1, a.hi < 0 ? -1 : a.hi == 0 ? 0 : 1};
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor:
      return range_of_bits(expr.kind(), a, b, dtype);
    case ExprKind::shift_right:
      if (b.is_single() && b.lo >= 0 && b.lo < bits(dtype)) return {a.lo >> b.lo, a.hi >> b.lo};
      return {std::min<int64_t>(a.lo, a.lo < 0 && !is_signed(dtype) ? 0
                                      : a.lo < 0                    ? a.lo
                                                                    : 0),
              std::max<int64_t>(a.hi, 0)};
    default:
      return all;
  }
}

/// Whether an end of int64 in the range may stand for a number beyond it.
bool may_saturate(ExprKind kind) {
  return kind == ExprKind::add || kind == ExprKind::sub || kind == ExprKind::mul ||
         kind == ExprKind::neg || kind == ExprKind::abs || kind == ExprKind::floordiv ||
         kind == ExprKind::div;
}

/// Whether the plain result may be trusted to be the wrapped one.
bool is_index(Expr expr) {
  return expr.pool().leaves(expr.id()).only_index;
}

Range compute_range(Expr expr) {
  const DType dtype = expr.dtype();
  const Range all = all_values(dtype);
  switch (expr.kind()) {
    case ExprKind::constant: {
      const int64_t value = *expr.as_int();
      return dtype == DType::u64 && value < 0 ? all : Range{value, value};
    }
    case ExprKind::symbol:
      return std::as_const(expr.pool()).symbol_info(expr.symbol()).range;
    case ExprKind::index: {
      const Range extent = range_of(expr.pool().extent(expr.var()));
      return {0, std::max<int64_t>(extent.hi, 1) - 1};
    }
    case ExprKind::select:
      return join(range_of(expr.operand(1)), range_of(expr.operand(2)));
    case ExprKind::cast: {
      if (!is_integral(expr.operand(0).dtype())) return all;
      const Range range = range_of(expr.operand(0));
      if (expr.operand(0).dtype() == DType::u64 && range.lo < 0) return all;
      if (dtype == DType::b8) return all;
      return is_within(range, all) && (dtype != DType::u64 || range.lo >= 0) ? range : all;
    }
    case ExprKind::param:
    case ExprKind::local:
    case ExprKind::load:
    case ExprKind::reduce:
      return all;
    default:
      break;
  }
  if (dtype == DType::b8 && expr.kind() != ExprKind::min && expr.kind() != ExprKind::max)
    return all;
  const Range a = range_of(expr.operand(0));
  const Range b = arity(expr.kind()) > 1 ? range_of(expr.operand(1)) : a;
  if (dtype == DType::u64 && (a.lo < 0 || b.lo < 0)) return all;
  const Range plain = range_of_operation(expr, a, b);
  if (dtype == DType::u64 && (plain.lo < 0 || plain.hi == kHighest)) return all;
  if (is_index(expr)) return plain;
  const bool is_saturated = dtype == DType::i64 && may_saturate(expr.kind()) &&
                            (plain.lo == kLowest || plain.hi == kHighest);
  return is_within(plain, all) && !is_saturated ? plain : all;
}

}  // namespace

Range all_values(DType dtype) {
  if (dtype == DType::b8) return {0, 1};
  if (bits(dtype) == 64) return {};
  const int64_t count = int64_t{1} << bits(dtype);
  return is_signed(dtype) ? Range{-count / 2, count / 2 - 1} : Range{0, count - 1};
}

std::optional<Range> add_ranges(Range a, Range b) {
  Range sum;
  if (__builtin_add_overflow(a.lo, b.lo, &sum.lo)) return std::nullopt;
  if (__builtin_add_overflow(a.hi, b.hi, &sum.hi)) return std::nullopt;
  return sum;
}

std::optional<Range> multiply_ranges(Range a, Range b) {
  int64_t ends[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &ends[0]) ||
      __builtin_mul_overflow(a.lo, b.hi, &ends[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &ends[2]) ||
      __builtin_mul_overflow(a.hi, b.hi, &ends[3])) {
    return std::nullopt;
  }
  return Range{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

Range range_of(Expr integer) {
  CHECK(is_integral(integer.dtype()), "range_of: expected an integer, got ", integer.dtype());
  ExprPool& pool = integer.pool();
  // Operands first, with a stack of its own, so that depth costs no stack frames.
  std::vector<Expr> pending = {integer};
  while (!pending.empty()) {
    const Expr expr = pending.back();
    const size_t size = pending.size();
    for (int k = 0; k < arity(expr.kind()) && !pool.known_range(expr.id()); ++k) {
      const Expr operand = expr.operand(k);
      const bool matters = operand && is_integral(operand.dtype());
      if (matters && !pool.known_range(operand.id())) pending.push_back(operand);
    }
    if (pending.size() > size) continue;
    pending.pop_back();
    if (!pool.known_range(expr.id())) pool.remember_range(expr.id(), compute_range(expr));
  }
  return *pool.known_range(integer.id());
}

namespace {

constexpr int kDeepestMultiple = 32;

bool is_known_multiple(Expr integer, int64_t divisor, int depth);

/// Whether the coefficient and the factors of the term hold all prime factors of the divisor.
bool is_multiple(const Term& term, int64_t divisor, int depth) {
  // Of the lowest number half will do: gcd has no name for its magnitude.
  const int64_t coefficient = term.coefficient == kLowest ? kLowest / 2 : term.coefficient;
  int64_t left = divisor / std::gcd(divisor, coefficient);
  for (const Expr& factor : term.factors) {
    if (left == 1) return true;
    if (factor.kind() == ExprKind::symbol) {
      left /= std::gcd(left, std::as_const(factor.pool()).symbol_info(factor.symbol()).divisor);
    } else if (is_known_multiple(factor, left, depth)) {
      return true;
    }
  }
  return left == 1;
}

bool is_known_multiple(Expr integer, int64_t divisor, int depth) {
  if (divisor == 1) return true;
  if (depth >= kDeepestMultiple) return false;
  const auto both = [&](int a, int b) {
    return is_known_multiple(integer.operand(a), divisor, depth + 1) &&
           is_known_multiple(integer.operand(b), divisor, depth + 1);
  };
  switch (integer.kind()) {
    case ExprKind::constant:
      return *integer.as_int() % divisor == 0;
    case ExprKind::min:
    case ExprKind::max:
      return both(0, 1);
    case ExprKind::select:
      return both(1, 2);
    // a mod b = a - k * b, whatever k; and 0 where b is 0.
    case ExprKind::floormod:
      return both(0, 1);
    case ExprKind::symbol:
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul:
    case ExprKind::neg:
      break;
    default:
      return false;
  }
  const Sum sum = to_sum(integer);
  // Sums modulo 2^n keep divisibility by powers of two alone; for others they must not wrap.
  const bool is_power_of_two = (divisor & (divisor - 1)) == 0;
  if (!is_power_of_two && !cannot_overflow(sum)) return false;
  return std::all_of(sum.terms.begin(), sum.terms.end(),
                     [&](const Term& term) { return is_multiple(term, divisor, depth + 1); });
}

}  // namespace

bool is_multiple_of(Expr integer, int64_t divisor) {
  if (divisor == 0 || divisor == kLowest) return integer.is_int(0);
  return is_known_multiple(integer, std::abs(divisor), 0);
}

}  // namespace ingot
