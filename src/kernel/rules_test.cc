// kernel/rules_test.cc: every row of the table on random values, and expressions against what they
// are simplified to.
#include "kernel/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernel/random_expr.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

constexpr int kSamplesPerType = 1000;

bool is_of(RuleTypes types, DType dtype) {
  switch (types) {
    case RuleTypes::any:
      return true;
    case RuleTypes::integers:
      return is_int(dtype);
    case RuleTypes::floats:
      return is_float(dtype);
    case RuleTypes::booleans:
      return dtype == DType::b8;
  }
  return false;
}

bool mentions(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

/// Draws operands for the variables of a row.
class OperandSource {
 public:
  OperandSource(ExprPool& pool, Random& random, DType dtype)
      : pool_(pool), random_(random), dtype_(dtype) {
    Expr n = pool.symbol("n");
    pool.symbol_info(n.symbol()).range = {0, 40};
    const Expr i = pool.fresh_index(n);
    const Expr j = pool.fresh_index(n * 4);
    index_operands_ = {n, i, i + 1, n - i, n - i - 1, floordiv(j, 4), n * 4, j, n + 1, -i - 1};
  }

  Expr operand(uint32_t number) {
    if (dtype_ == DType::i64 && random_.chance(0.3)) return random_.pick(index_operands_);
    if (random_.chance(0.2)) return constant();
    const Expr param = pool_.param(number, dtype_);
    if (!is_int(dtype_) || random_.chance(0.3)) return param;
    // A value within known bounds, often next to the bounds of another.
    const int64_t lo = wrap(random_.range(-8, 8), dtype_);
    const Expr low = pool_.integer(lo, dtype_);
    const Expr high = pool_.integer(wrap(lo + random_.range(0, 8), dtype_), dtype_);
    return min(max(param, low), high);
  }

  Expr constant() {
    if (is_float(dtype_) && random_.chance(0.5)) {
      return pool_.real(
          std::ldexp(random_.chance(0.5) ? 1 : -1, static_cast<int>(random_.range(-70, 70))),
          dtype_);
    }
    const Scalar value = random_scalar(random_, dtype_);
    return is_float(dtype_) ? pool_.real(value.real, dtype_) : pool_.integer(value.integer, dtype_);
  }

  Match match() {
    Match m;
    m.x = operand(0);
    m.y = operand(1);
    m.w = operand(2);
    m.z = random_.chance(0.5) ? pool_.param(3, DType::b8)
                              : less(pool_.param(4, DType::f32), pool_.param(5, DType::f32));
    m.c = constant();
    m.d = constant();
    return m;
  }

 private:
  ExprPool& pool_;
  Random& random_;
  DType dtype_;
  std::vector<Expr> index_operands_;
};

struct Findings {
  int samples = 0;
  std::string counterexample;  // empty: none
};

/// Evaluates both sides of a row, for one type, on random operands for which its condition holds.
Findings check_row(const Rule& rule, DType dtype) {
  ExprPool pool;
  Random random(static_cast<uint64_t>(dtype) + 1);
  OperandSource source(pool, random, dtype);
  RandomLeaves leaves(pool, random);
  Findings findings;
  for (int trial = 0; trial < 20 * kSamplesPerType && findings.samples < kSamplesPerType; ++trial) {
    const Match operands = source.match();
    if (rule.when != nullptr && !rule.when(operands)) continue;
    const Expr left = instantiate(rule.pattern, pool, operands, false);
    const Expr right = instantiate(rule.result, pool, operands, false);
    if (left.dtype() != right.dtype()) return {1, "the sides have different types"};
    for (int repeat = 0; repeat < 4; ++repeat) {
      if (!leaves.draw({left, right}, 40)) continue;
      ++findings.samples;
      const Scalar a = leaves.run(left);
      const Scalar b = leaves.run(right);
      if (is_same(a, b)) continue;
      findings.counterexample =
          fmt::format("{} -> {} for {}: {} or {}, {} or {}", to_text(left), to_text(right),
                      leaves.text(), a.real, b.real, a.integer, b.integer);
      return findings;
    }
  }
  return findings;
}

/// As check_row, over the types that the row is for.
Findings check_row(const Rule& rule) {
  Findings all;
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::i8, DType::u8,
                            DType::u64, DType::b8}) {
    if (!is_of(rule.types, dtype)) continue;
    // Rows for any type are for those that their operations are defined on.
    const bool has_arithmetic = mentions(rule.pattern, "abs(") || mentions(rule.pattern, "pow(");
    if (has_arithmetic && dtype == DType::b8) continue;
    const Findings findings = check_row(rule, dtype);
    all.samples += findings.samples;
    if (!findings.counterexample.empty()) {
      all.counterexample = fmt::format("{}: {}", to_text(dtype), findings.counterexample);
      return all;
    }
  }
  return all;
}

TEST(Rules, BothSidesOfEveryRowAgree) {
  for (const Rule& rule : rules()) {
    const Findings findings = check_row(rule);
    EXPECT_EQ(findings.counterexample, "") << rule.name;
    EXPECT_GE(findings.samples, 500) << rule.name << ": its condition hardly ever holds";
  }
}

TEST(Rules, WrongRowsAreCaught) {
  const auto always = [](const Match&) { return true; };
  const Rule wrong[] = {
      {"abs loses the sign", RuleTypes::integers, "abs(x)", "x"},
      {"abs of the lowest number", RuleTypes::integers, "abs(abs(x)) < 0", "false"},
      {"minus zero", RuleTypes::floats, "x + 0", "x"},
      {"infinity minus infinity", RuleTypes::floats, "x - x", "0"},
      {"NaN times zero", RuleTypes::floats, "x * 0", "0"},
      {"division by zero", RuleTypes::integers, "x / x", "1"},
      {"wraps around", RuleTypes::integers, "(x * 2) // 2", "x"},
      {"only for powers of two", RuleTypes::floats, "x / c", "x * (1 / c)", always},
      {"wrong side", RuleTypes::integers, "min(x, y)", "x", always},
      {"not below, for NaN", RuleTypes::floats, "!(x < y)", "y <= x"},
      {"sign of shift", RuleTypes::integers, "x >> 1", "x / 2"},
      {"implication", RuleTypes::booleans, "x || y", "x"},
      {"arms exchanged", RuleTypes::any, "select(z, x, y)", "select(z, y, x)"},
  };
  for (const Rule& rule : wrong) EXPECT_NE(check_row(rule).counterexample, "") << rule.name;
}

TEST(Rules, NamesAreUniqueWithinAType) {
  std::map<std::pair<std::string_view, RuleTypes>, int> count;
  for (const Rule& rule : rules())
    EXPECT_EQ(++count[std::pair(rule.name, rule.types)], 1) << rule.name;
}

/// Simplified and plain expressions agree on random values, and simplifying again changes nothing.
void check_expression(ExprPool& pool, Random& random, Expr plain, int64_t largest_symbol) {
  const Expr simple = simplify_again(plain);
  ASSERT_EQ(simple.dtype(), plain.dtype());
  EXPECT_EQ(simplify_again(simple), simple) << to_text(plain) << "\n  once:  " << to_text(simple)
                                            << "\n  twice: " << to_text(simplify_again(simple));
  RandomLeaves leaves(pool, random);
  for (int repeat = 0; repeat < 8; ++repeat) {
    if (!leaves.draw({plain, simple}, largest_symbol)) continue;
    const Scalar a = leaves.run(plain);
    const Scalar b = leaves.run(simple);
    ASSERT_TRUE(is_same(a, b)) << to_text(plain) << "\n  became " << to_text(simple) << "\n  with "
                               << leaves.text() << "\n  " << a.integer << " " << a.real
                               << "\n  now " << b.integer << " " << b.real;
  }
}

TEST(Simplify, RandomDataExpressions) {
  Random random(11);
  for (int k = 0; k < 6000; ++k) {
    ExprPool pool;
    RandomExprOptions options;
    options.depth = static_cast<int>(random.range(1, 5));
    uint32_t number = 0;
    for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::i8, DType::u8,
                              DType::u64, DType::b8}) {
      options.leaves.push_back(pool.param(number++, dtype));
      options.leaves.push_back(pool.param(number++, dtype));
    }
    const DType dtype = random.pick(options.leaves).dtype();
    check_expression(pool, random, random_expr(random, pool, options, dtype), 40);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Simplify, RandomIndexExpressions) {
  Random random(12);
  for (int k = 0; k < 6000; ++k) {
    ExprPool pool;
    const Expr n = pool.symbol("n");
    const Expr c = pool.symbol("c");
    const Expr m = pool.symbol("m");
    if (random.chance(0.5)) pool.symbol_info(c.symbol()).range = {1, 12};
    if (random.chance(0.3)) {
      pool.symbol_info(m.symbol()).range = {4, 64};
      pool.symbol_info(m.symbol()).divisor = 4;
    }
    RandomExprOptions options;
    options.index_arithmetic = true;
    options.depth = static_cast<int>(random.range(1, 6));
    const Expr i = pool.fresh_index(n * c);
    const Expr j = pool.fresh_index(c);
    const Expr tile = pool.fresh_index(ceildiv(n, 8));
    const Expr lane = pool.fresh_index(min(pool.integer(8), n - tile * 8));
    options.leaves = {n,
                      c,
                      m,
                      i,
                      j,
                      i,
                      j,
                      tile,
                      lane,
                      i * c + j,
                      tile * 8 + lane,
                      pool.fresh_index(pool.integer(16))};
    check_expression(pool, random, random_expr(random, pool, options, DType::i64), 12);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace ingot
