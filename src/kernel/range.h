// kernel/range.h: interval arithmetic, and proofs about the signs of index expressions.
#pragma once

#include <optional>
#include <unordered_map>

#include "kernel/expr.h"
#include "kernel/linear.h"

namespace ingot {

/// All values of an integral type. u64 and its images count as unknown: everything.
Range all_values(DType dtype);

/// The interval of the sums and products of members, or none if an end leaves int64.
std::optional<Range> add_ranges(Range a, Range b);
std::optional<Range> multiply_ranges(Range a, Range b);

/// Shows that sums are never negative, with bounds that are themselves expressions: a loop variable
/// lies below its extent, x mod c below c, and where a loop variable has a value its extent is at
/// least 1, hence so is every factor of the extent. Sums must not overflow. Conservative.
class Prover {
 public:
  /// Knows the loop variables that occur in the expressions.
  Prover(std::initializer_list<Expr> about);

  bool is_nonnegative(const Sum& sum);
  bool is_positive(Expr expr);
  /// 0 <= a < b.
  bool is_below(const Sum& a, const Sum& b);
  /// -b <= a < 0.
  bool is_negative_above(const Sum& a, const Sum& b);
  /// a <= b and a < b.
  bool is_at_most(Expr a, Expr b);
  bool is_less(Expr a, Expr b);
  bool is_nonzero(Expr expr);

 private:
  void learn_from(Expr expr);
  void learn_at_least(Expr expr, int64_t bound);
  Range range(Expr expr) const;
  Range range(const Sum& sum) const;
  bool is_apart(Expr a, Expr b, int64_t distance);
  bool is_apart(const Sum& a, const Sum& b, int64_t distance);
  bool prove(const Sum& sum);
  bool prove_by_bounds_of(const Sum& sum, Expr atom);
  bool prove_by_lower_bounds(const Sum& sum) const;
  std::vector<Sum> bounds(Expr atom, bool upper);
  void add_largest_quotient(Expr a, Expr b, const std::function<void(const Sum&)>& add);

  ExprPool* pool_;
  std::unordered_map<uint32_t, int64_t> at_least_;
  int steps_left_ = 0;
};

}  // namespace ingot
