// kernel/expr_test.cc: canonical forms, ranges, strides, substitution and text of expressions.
#include "kernel/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernel/random_expr.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

class ExprTest : public testing::Test {
 protected:
  Expr number(int64_t value) { return pool.integer(value); }
  Expr real(double value) { return pool.real(value); }
  Expr index_below(Expr extent) { return pool.fresh_index(extent); }
  Expr index_below(int64_t extent) { return pool.fresh_index(number(extent)); }
  Expr parse(std::string_view text) {
    Result<Expr> result = parse_expr(text, pool, dtypes, indices);
    EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().message);
    return result ? *result : Expr();
  }
  std::string parse_error(std::string_view text) {
    Result<Expr> result = parse_expr(text, pool, dtypes, indices);
    EXPECT_FALSE(result) << text;
    return result ? "" : result.error().message;
  }

  ExprPool pool;
  std::vector<DType> dtypes = {DType::f32, DType::f32, DType::i32, DType::b8, DType::f64};
  std::vector<Expr> indices;
};

TEST_F(ExprTest, EqualExpressionsAreOne) {
  const Expr n = pool.symbol("n");
  EXPECT_EQ(n + 1, pool.symbol("n") + 1);
  EXPECT_NE(n + 1, n + 2);
  EXPECT_EQ(pool.integer(3, DType::i32).dtype(), DType::i32);
  EXPECT_NE(pool.integer(3, DType::i32), pool.integer(3));
  EXPECT_EQ(pool.integer(300, DType::u8).as_int(), 44);
  EXPECT_EQ(pool.integer(7, DType::b8).as_int(), 1);
  EXPECT_EQ(pool.real(0.1, DType::f16).as_real(), 0.0999755859375);
}

TEST_F(ExprTest, LikeTermsAreGathered) {
  const Expr a = pool.symbol("a");
  const Expr b = pool.symbol("b");
  EXPECT_EQ(to_text(a * 2 + a * 3), "a * 5");
  EXPECT_EQ(to_text(a - a), "0");
  EXPECT_EQ(to_text(b + a - 4 + b + 4), "a + b * 2");
  EXPECT_EQ(to_text(b - a), "-a + b");
  EXPECT_EQ(to_text(number(7) - a * 3), "a * -3 + 7");
  EXPECT_EQ(to_text((a + 1) * 4), "a * 4 + 4");
  EXPECT_EQ((a + b) - b, a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ((a * 4) * b, (b * 2) * (a * 2));
}

TEST_F(ExprTest, SumsOfSymbolsStayFactors) {
  const Expr past = pool.symbol("past");
  const Expr seq = pool.symbol("seq");
  const Expr i = index_below(seq);
  EXPECT_EQ(to_text((past + seq) * 64 * i), "i0 * (past + seq) * 64");
  EXPECT_EQ(i * ((past + seq) * 64), (i * 64) * (past + seq));
  EXPECT_EQ(to_text((i * 2 + 1) * seq), "i0 * seq * 2 + seq");
}

TEST_F(ExprTest, TakingApartAndPuttingTogetherVanishes) {
  const Expr n = pool.symbol("n");
  const Expr h = pool.symbol("h");
  const Expr w = pool.symbol("w") + 1;  // a size that is itself a sum
  const Expr c = pool.symbol("c");
  const auto linear = [&](Expr i) {
    return floordiv(i, h * w * c) * (h * w * c) + floormod(floordiv(i, w * c), h) * (w * c) +
           floormod(floordiv(i, c), w) * c + floormod(i, c);
  };
  const Expr i = index_below(n * h * w * c);
  EXPECT_EQ(linear(i), i);

  const Expr high = index_below(n * h);
  const Expr low = index_below(w * c);
  EXPECT_EQ(linear(high * (w * c) + low), high * (w * c) + low);
  EXPECT_EQ(linear(high * (c * w) + low), high * w * c + low);

  const Expr block = index_below(floordiv(n * h * w * c, number(16)));
  const Expr lane = index_below(16);
  EXPECT_EQ(linear(block * 16 + lane), block * 16 + lane);

  // With remainders for the outermost dimension as well, in any order.
  EXPECT_EQ(floormod(i, c) + floormod(floordiv(i, c), w) * c +
                floormod(floordiv(i, h * w * c), n) * (h * w * c) +
                floormod(floordiv(i, w * c), h) * (w * c),
            i);
}

TEST_F(ExprTest, TakingApartAfterSubstitution) {
  const Expr n = pool.symbol("n");
  const Expr d = pool.symbol("d");
  const Expr k = pool.symbol("k");
  const Expr i = index_below(n * d * k);
  const Expr tail = floormod(i, d * k);
  EXPECT_EQ(to_text(tail), "i0 % (d * k)");
  const Expr i0 = index_below(n);
  const Expr i1 = index_below(d * k);
  const auto replace = [&](Expr e) -> std::optional<Expr> {
    if (e == i) return i0 * (d * k) + i1;
    return std::nullopt;
  };
  EXPECT_EQ(substitute(tail, pool, replace), i1);
  EXPECT_EQ(substitute(floordiv(i, d * k), pool, replace), i0);
  EXPECT_EQ(substitute(floordiv(i, k), pool, replace), i0 * d + floordiv(i1, k));
  EXPECT_EQ(substitute(floormod(i, k), pool, replace), floormod(i1, k));
}

TEST_F(ExprTest, QuotientsBySizes) {
  const Expr n = pool.symbol("n");
  const Expr c = pool.symbol("c");
  const Expr x = index_below(n);
  const Expr y = index_below(c);
  EXPECT_EQ(floordiv(x * c + y, c), x);
  EXPECT_EQ(floormod(x * c + y, c), y);
  EXPECT_EQ(floordiv(y, c), number(0));
  EXPECT_EQ(floordiv(y * 4 + 3, c * 4), number(0));
  EXPECT_EQ(floordiv(x * c + y, c * 2), floordiv(x, 2));
  EXPECT_EQ(floormod(x * c + y, c * 2), floormod(x, 2) * c + y);
  EXPECT_EQ(floordiv(floordiv(x, c), n), floordiv(x, c * n));
  EXPECT_EQ(floordiv(floormod(x, c * 8), c), floormod(floordiv(x, c), 8));
  EXPECT_EQ(floormod(floormod(x, c * 8), c), floormod(x, c));
  EXPECT_EQ(floordiv(y - c, c), number(-1));
}

TEST_F(ExprTest, ConvolutionSizesCollapse) {
  Expr h = pool.symbol("h");
  for (int stage = 0; stage < 5; ++stage) h = floordiv(h - 1, 2) + 1;
  EXPECT_EQ(to_text(h), "(h + 31) // 32");
  EXPECT_EQ(to_text(ceildiv(pool.symbol("n"), 16) * 16), "(n + 15) // 16 * 16");
}

TEST_F(ExprTest, WrappingSumsKeepTheirQuotients) {
  // For data (x * 4) // 4 is not x where x * 4 wraps around.
  const Expr x = pool.param(0, DType::i64);
  EXPECT_EQ(to_text(floordiv(x * 4, 4)), "p0 * 4 // 4");
  const Expr clamped = max(min(x, number(1000)), number(0));
  EXPECT_EQ(floordiv(clamped * 4, 4), clamped);
  EXPECT_EQ(to_text(pool.param(1, DType::u8) * 256), "0:u8");
}

TEST_F(ExprTest, BoundsOfNarrowTypesDoNotWrap) {
  // The divisor is at most -17, so that 127 - (-17) leaves the range of i8.
  const Expr x = pool.param(0, DType::i8);
  const Expr y = max(unary(ExprKind::bit_not, x), pool.integer(0, DType::i8));
  const Expr divisor =
      binary(ExprKind::shift_right, pool.integer(-23, DType::i8), x) - pool.integer(17, DType::i8);
  EXPECT_EQ(floordiv(y, divisor).kind(), ExprKind::floordiv);
}

TEST_F(ExprTest, ZeroSizesAreNotDividedAway) {
  const Expr n = pool.symbol("n");  // may be 0, and 0 // 0 is 0
  EXPECT_EQ(to_text(floordiv(n * n, n)), "n * n // n");
  const Expr m = pool.symbol("m");
  pool.symbol_info(m.symbol()).range.lo = 1;
  EXPECT_EQ(floordiv(m * n, m), n);
  EXPECT_EQ(floordiv(n, m) * m + floormod(n, m), n);
}

TEST_F(ExprTest, ComparisonsByBounds) {
  const Expr n = pool.symbol("n");
  const Expr tile = index_below(ceildiv(n, 128));
  const Expr lane = index_below(min(number(128), n - tile * 128));
  const Expr row = tile * 128 + lane;
  EXPECT_TRUE(less(row, n).is_int(1));
  EXPECT_TRUE(less(n, row).is_int(0));
  EXPECT_TRUE(less_equal(number(0), row).is_int(1));
  EXPECT_EQ(floordiv(row, 128), tile);
  EXPECT_EQ(floormod(row, 128), lane);
  EXPECT_EQ(min(row, n), row);
  EXPECT_EQ(max(n, row), n);
  EXPECT_EQ(select(less(row, n), row, n), row);
  const Expr full = tile * 128 + index_below(128);
  EXPECT_EQ(to_text(less(full, n)), "i0 * 128 + i2 < n");
}

TEST_F(ExprTest, FloatsKeepWhatIsNotExact) {
  const Expr x = pool.param(0, DType::f32);
  EXPECT_EQ(x * 1, x);
  EXPECT_EQ(-(-x), x);
  EXPECT_EQ(x - 0, x);
  EXPECT_EQ(to_text(x + 0), "p0 + 0.0");
  EXPECT_EQ(to_text(x * 0), "p0 * 0.0");
  EXPECT_EQ(to_text(x - x), "p0 - p0");
  EXPECT_EQ(to_text(x / x), "p0 / p0");
  EXPECT_EQ(to_text(real(2) * x), "p0 * 2.0");
  EXPECT_EQ(to_text((x + 1) + 2), "p0 + 1.0 + 2.0");
  EXPECT_EQ(to_text(x / real(8)), "p0 * 0.125");
  EXPECT_EQ(to_text(x / real(3)), "p0 / 3.0");
  EXPECT_EQ(to_text(pow(x, real(2))), "p0 * p0");
  EXPECT_EQ(to_text(real(1) + real(2)), "3.0");
}

TEST_F(ExprTest, Casts) {
  const Expr x = pool.param(0, DType::f16);
  EXPECT_EQ(cast(cast(x, DType::f32), DType::f16), x);
  EXPECT_EQ(cast(x, DType::f16), x);
  const Expr y = pool.param(1, DType::f32);
  EXPECT_EQ(to_text(cast(cast(y, DType::f16), DType::f32)), "f32(f16(p1))");
  const Expr n = pool.param(2, DType::i32);
  EXPECT_EQ(cast(cast(n, DType::i64), DType::i32), n);
  EXPECT_EQ(to_text(cast(cast(n, DType::i8), DType::i32)), "i32(i8(p2))");
  EXPECT_EQ(to_text(cast(cast(n, DType::i16), DType::i8)), "i8(p2)");
  EXPECT_EQ(cast(real(-3.7), DType::i32).as_int(), -3);
  EXPECT_EQ(cast(real(1e30), DType::i8).as_int(), 127);
  EXPECT_EQ(cast(pool.integer(300), DType::u8).as_int(), 44);
}

TEST_F(ExprTest, Ranges) {
  const Expr n = pool.symbol("n");
  EXPECT_EQ(range_of(n), (Range{0, kMaxDim}));
  pool.symbol_info(n.symbol()).range = {2, 10};
  const Expr i = index_below(n);
  EXPECT_EQ(range_of(i), (Range{0, 9}));
  EXPECT_EQ(range_of(n * 3 - 1), (Range{5, 29}));
  EXPECT_EQ(range_of(number(5) - n), (Range{-5, 3}));
  EXPECT_EQ(range_of(floordiv(n, 4)), (Range{0, 2}));
  EXPECT_EQ(range_of(floormod(n, 4)), (Range{0, 3}));
  EXPECT_EQ(range_of(floordiv(number(5) - n, 2)), (Range{-3, 1}));
  EXPECT_EQ(range_of(min(n, number(4))), (Range{2, 4}));
  EXPECT_EQ(range_of(select(less(i, number(3)), n, number(50))), (Range{2, 50}));
  EXPECT_EQ(range_of(pool.param(0, DType::u8)), (Range{0, 255}));
  EXPECT_EQ(range_of(pool.param(0, DType::u8) + pool.integer(1, DType::u8)), (Range{0, 255}));
  EXPECT_EQ(range_of(cast(pool.param(0, DType::u8), DType::i32) * 2), (Range{0, 510}));
  EXPECT_EQ(range_of(pool.param(0, DType::i64)), Range{});
}

TEST_F(ExprTest, NarrowingASymbolIsSeen) {
  const Expr n = pool.symbol("n");
  EXPECT_EQ(to_text(min(n, number(8))), "min(n, 8)");
  pool.symbol_info(n.symbol()).range = {0, 8};
  EXPECT_EQ(min(n, number(8)), n);
}

TEST_F(ExprTest, Multiples) {
  const Expr n = pool.symbol("n");
  pool.symbol_info(n.symbol()).divisor = 16;
  const Expr i = index_below(100);
  EXPECT_TRUE(is_multiple_of(n, 8));
  EXPECT_FALSE(is_multiple_of(n, 32));
  EXPECT_TRUE(is_multiple_of(n * i * 2, 32));
  EXPECT_TRUE(is_multiple_of(i * 12 + n, 4));
  EXPECT_FALSE(is_multiple_of(i * 12 + n, 12));
  EXPECT_TRUE(is_multiple_of(number(0), 7));
  EXPECT_TRUE(floormod(n, 8).is_int(0));
  EXPECT_EQ(floordiv(n, 16) * 16, n);
  EXPECT_EQ(floormod(n + i, 16), floormod(i, 16));
  // 2^64 is no multiple of 3.
  EXPECT_FALSE(is_multiple_of(pool.param(0, DType::i64) * 3, 3));
  EXPECT_TRUE(is_multiple_of(pool.param(0, DType::i64) * 4, 4));
}

TEST_F(ExprTest, Strides) {
  const Expr w = pool.symbol("w");
  const Expr i = index_below(10);
  const Expr j = index_below(w);
  EXPECT_EQ(stride_of(i * w + j, i.var()), w);
  EXPECT_EQ(stride_of(i * w + j, j.var()), number(1));
  EXPECT_EQ(stride_of(i * w, j.var()), number(0));
  EXPECT_EQ(stride_of((i * 2 - j * 3) * w + i, i.var()), w * 2 + 1);
  EXPECT_EQ(stride_of(floordiv(i, 2), i.var()), std::nullopt);
  EXPECT_EQ(stride_of(i * i, i.var()), std::nullopt);
  EXPECT_EQ(stride_of(i * j, i.var()), j);
  EXPECT_EQ(stride_of(floordiv(j, 2) + i * 4, i.var()), number(4));
}

TEST_F(ExprTest, DependsOn) {
  const Expr i = index_below(10);
  const Expr j = index_below(10);
  const Expr sum = pool.reduce(ReduceKind::sum, j, pool.load(0, DType::f32, i * 10 + j));
  EXPECT_TRUE(depends_on(sum, i.var()));
  EXPECT_FALSE(depends_on(sum, j.var()));  // bound by the reduction
  EXPECT_FALSE(depends_on(pool.symbol("n") * 2, i.var()));
}

TEST_F(ExprTest, ProvablyEqual) {
  const Expr a = pool.symbol("a");
  const Expr b = pool.symbol("b");
  EXPECT_TRUE(provably_equal((a + 1) * b, a * b + b));
  EXPECT_TRUE(provably_equal((a + 1) * (b + 2), a * b + a * 2 + b + 2));
  EXPECT_FALSE(provably_equal(a * b, a + b));
  EXPECT_FALSE(provably_equal(a, b));
}

TEST_F(ExprTest, ExactQuotients) {
  const Expr n = pool.symbol("n");
  const Expr s = pool.symbol("s");
  EXPECT_EQ(exact_quotient(n * s * 768, n * s * 64), number(12));
  EXPECT_EQ(exact_quotient(n * s * 768, s * 64), n * 12);
  EXPECT_EQ(exact_quotient(n * 4 + s * 8, number(4)), n + s * 2);
  EXPECT_EQ(exact_quotient((n + s) * 12, n * 2 + s * 2), number(6));
  EXPECT_EQ(exact_quotient(n * 3, number(2)), std::nullopt);
  EXPECT_EQ(exact_quotient(n, s), std::nullopt);
  EXPECT_EQ(exact_quotient(n, number(0)), std::nullopt);
}

TEST_F(ExprTest, SubstituteReplacesOnceAndSimplifies) {
  const Expr n = pool.symbol("n");
  const Expr m = pool.symbol("m");
  const auto to_m = [&](Expr e) -> std::optional<Expr> {
    if (e == n) return m;
    return std::nullopt;
  };
  EXPECT_EQ(substitute(n * 2 - m * 2 + 3, pool, to_m), number(3));
  // What stands in the place of a node is not visited.
  const auto grow = [&](Expr e) -> std::optional<Expr> {
    if (e == n) return n + 1;
    return std::nullopt;
  };
  EXPECT_EQ(substitute(n * 2, pool, grow), n * 2 + 2);
}

TEST_F(ExprTest, SubstituteIntoAnotherPool) {
  const Expr n = pool.symbol("n");
  pool.symbol_info(n.symbol()).range = {1, 9};
  const Expr i = index_below(n);
  ExprPool other;
  other.symbol("first");  // so that numbers differ
  const auto keep = [](Expr) -> std::optional<Expr> { return std::nullopt; };
  const Expr copy = substitute(i * 4 + n, other, keep);
  EXPECT_EQ(to_text(copy), "i0 * 4 + n");
  EXPECT_EQ(&copy.pool(), &other);
  EXPECT_EQ(range_of(copy), (Range{1, 41}));
}

TEST_F(ExprTest, SubstituteRenamesReductionsWhoseExtentChanges) {
  const Expr n = pool.symbol("n");
  const Expr k = index_below(n);
  const Expr sum = pool.reduce(ReduceKind::sum, k, pool.load(0, DType::f32, k));
  const Expr four = substitute(sum, pool, [&](Expr e) -> std::optional<Expr> {
    if (e == n) return number(4);
    return std::nullopt;
  });
  EXPECT_EQ(to_text(four), "reduce_sum(i1 < 4, b0:f32[i1])");
}

TEST_F(ExprTest, Symbols) {
  EXPECT_EQ(to_text(pool.fresh_symbol("n", false)), "n");
  EXPECT_EQ(to_text(pool.fresh_symbol("n", true)), "n_1");
  EXPECT_EQ(pool.symbol_count(), 2u);
  EXPECT_TRUE(pool.find_symbol("n_1"));
  EXPECT_FALSE(pool.find_symbol("m"));
  EXPECT_TRUE(std::as_const(pool).symbol_info(*pool.find_symbol("n_1")).data_dependent);
  EXPECT_EQ(to_text(pool.symbol("batch size") + pool.symbol("i3")), "\"batch size\" + \"i3\"");
}

TEST_F(ExprTest, LoadsAndReductions) {
  const Expr i = index_below(4);
  const Expr plain = pool.load(2, DType::f16, i);
  EXPECT_EQ(to_text(plain), "b2:f16[i0]");
  EXPECT_EQ(pool.load(2, DType::f16, i, pool.boolean(true)), plain);
  EXPECT_EQ(to_text(pool.load(2, DType::f16, i, pool.boolean(false))), "0.0:f16");
  EXPECT_EQ(to_text(pool.load(2, DType::f32, i, less(i, number(3)))),
            "b2:f32[i0 if i0 < 3 else 0.0]");
  const Expr none = index_below(0);
  EXPECT_EQ(to_text(pool.reduce(ReduceKind::max, none, real(1))), "-inf");
  EXPECT_EQ(to_text(pool.reduce(ReduceKind::product, none, real(1))), "1.0");
}

TEST_F(ExprTest, TextReadsBack) {
  indices = {index_below(8), index_below(pool.symbol("n"))};
  for (const std::string_view text : {
           "min(batch * 16, 4) + i0",
           "i0 * 3 - i1 * n - 7",
           "-i0",
           "i0 // (n + 1) % 5",
           "(i0 + n) // (n // 2)",
           "p0 * -0.5 + exp(-p1)",
           "-(p0 / (p1 / p0))",
           "p0 - (p1 - p0)",
           "(p0 + p1) * p0",
           "select(p3 && p0 < 1.5, p0, inf)",
           "select(!is_nan(p0), -inf, nan)",
           "f16(p0)",
           "i32(p0) & p2 << 3:i32 | ~p2",
           "9223372036854775807",
           "-9223372036854775808",
           "18446744073709551615:u64",
           "-128:i8",
           "1e+30 + p0",
           "0.1:f64 * p4",
           "\"a b\\\"c\\\\\"",
           "t3:f32 + t4:f32",
           "b2:f32[i0 * 4 if i0 < n else 1.0]",
           "reduce_max(i7 < n + 1, b0:f32[i7] + p0)",
           "true",
           "p3 || !p3 && p2 == 3:i32",
           "logical_xor(p3, p0 <= p1)",
           "pow(fmod(p0, p1), floor(p0 % p1))",
       }) {
    const Expr expr = parse(text);
    ASSERT_TRUE(expr);
    EXPECT_EQ(parse(to_text(expr)), expr) << text << " printed as " << to_text(expr);
  }
  EXPECT_EQ(to_text(parse("min(batch * 16, 4) + i0")), "i0 + min(batch * 16, 4)");
  EXPECT_EQ(to_text(parse("p0 - (p1 - p0)")), "p0 - (p1 - p0)");
}

TEST_F(ExprTest, RandomExpressionsReadBack) {
  Random random(5);
  for (int k = 0; k < 3000; ++k) {
    RandomExprOptions options;
    uint32_t number = 0;
    for (const DType dtype : dtypes) options.leaves.push_back(pool.param(number++, dtype));
    options.leaves.push_back(pool.symbol("n"));
    const Expr plain = random_expr(random, pool, options, random.pick(dtypes));
    const Expr simple = simplify_again(plain);
    ASSERT_EQ(parse(to_text(simple)), simple) << to_text(simple);
    // What is not simplified reads as the simplified form.
    ASSERT_EQ(parse(to_text(plain)), simple) << to_text(plain);
  }
}

TEST_F(ExprTest, BadTextIsRefused) {
  EXPECT_EQ(parse_error(""), "line 1, column 1: expected an expression, got the end of the text");
  EXPECT_EQ(parse_error("n +"),
            "line 1, column 4: expected an expression, got the end of the text");
  EXPECT_EQ(parse_error("(n"), "line 1, column 3: expected ')', got the end of the text");
  EXPECT_EQ(parse_error("n n"), "line 1, column 3: expected the end of the expression, got 'n'");
  EXPECT_EQ(parse_error("p9"), "p9: expected one of 5 params");
  EXPECT_EQ(parse_error("i3"), "i3: no loop variable of that number is known here");
  EXPECT_EQ(parse_error("t3"), "t3: a local needs its type, as in t0:f32");
  EXPECT_EQ(parse_error("3:f33"), "line 1, column 3: expected a type such as f32, got 'f33'");
  EXPECT_EQ(parse_error("p0 + 1"), "add: expected operands of one type, got f32 and i64");
  EXPECT_EQ(parse_error("p3 + p3"),
            "add: expected f32, f64 or integers (cast storage types first), got b8");
  EXPECT_EQ(parse_error("exp(n)"), "exp: expected f32 or f64, got i64");
  EXPECT_EQ(parse_error("min(n)"), "line 1, column 6: expected ',', got ')'");
  EXPECT_EQ(parse_error("99999999999999999999"),
            "line 1, column 1: expected a number, got '99999999999999999999'");
  EXPECT_EQ(parse_error("b0[n]"), "b0: a buffer of unknown type, write b0:f32[...]");
  EXPECT_EQ(parse_error("reduce_sum(i5 < 3, true)"),
            "reduce_sum: expected f32, f64 or integers, got b8");
  EXPECT_NE(parse_error(std::string(100000, '(')), "");
  EXPECT_NE(parse_error(std::string(100000, '-')), "");
  std::string chain = "p0";
  for (int k = 0; k < 100000; ++k) chain += " * p0";
  EXPECT_NE(parse_error(chain), "");
  EXPECT_EQ(parse_error("\"abc"), "line 1, column 1: expected a name, got '\"abc'");
}

TEST_F(ExprTest, OrderDoesNotDependOnIds) {
  // The same expression built in two orders in two pools prints the same.
  ExprPool other;
  const Expr here = pool.param(0, DType::f32) * exp(pool.param(1, DType::f32));
  const Expr e = exp(other.param(1, DType::f32));
  const Expr there = e * other.param(0, DType::f32);
  EXPECT_EQ(to_text(here), to_text(there));
  EXPECT_EQ(to_text(pool.symbol("b") + pool.symbol("a")), "a + b");
}

TEST_F(ExprTest, LongChains) {
  // Deep and shared expressions: each step uses the one before twice.
  Expr x = pool.param(0, DType::f32);
  for (int k = 0; k < 20000; ++k) x = exp(x) * x;
  int nodes = 0;
  for_each(x, [&](Expr) { ++nodes; });
  EXPECT_EQ(nodes, 40001);
  const Expr replaced = substitute(x, pool, [&](Expr e) -> std::optional<Expr> {
    if (e.kind() == ExprKind::param) return pool.param(1, DType::f32);
    return std::nullopt;
  });
  EXPECT_NE(replaced, x);
  EXPECT_FALSE(depends_on(x, index_below(3).var()));
  EXPECT_LT(to_text(x).size(), size_t{2} << 20);

  Expr n = pool.param(2, DType::i32);
  for (int k = 0; k < 20000; ++k) n = binary(ExprKind::bit_xor, n * n, pool.param(3, DType::i32));
  EXPECT_EQ(range_of(n), (Range{-(int64_t{1} << 31), (int64_t{1} << 31) - 1}));
}

TEST(Scalar, IntegersWrapAndDivideAsStated) {
  const auto apply2 = [](ExprKind kind, DType dtype, int64_t a, int64_t b) {
    const Scalar operands[] = {make_integer(a, dtype), make_integer(b, dtype)};
    return apply(kind, dtype, operands).integer;
  };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(apply2(ExprKind::add, DType::i8, 127, 1), -128);
  EXPECT_EQ(apply2(ExprKind::sub, DType::u8, 0, 1), 255);
  EXPECT_EQ(apply2(ExprKind::div, DType::i64, -7, 2), -3);
  EXPECT_EQ(apply2(ExprKind::floordiv, DType::i64, -7, 2), -4);
  EXPECT_EQ(apply2(ExprKind::floormod, DType::i64, -7, 2), 1);
  EXPECT_EQ(apply2(ExprKind::floormod, DType::i64, 7, -2), -1);
  EXPECT_EQ(apply2(ExprKind::fmod, DType::i64, -7, 2), -1);
  EXPECT_EQ(apply2(ExprKind::floordiv, DType::i64, 5, 0), 0);
  EXPECT_EQ(apply2(ExprKind::floormod, DType::i64, 5, 0), 0);
  EXPECT_EQ(apply2(ExprKind::div, DType::i64, kMin, -1), kMin);
  EXPECT_EQ(apply2(ExprKind::floormod, DType::i64, kMin, -1), 0);
  EXPECT_EQ(apply2(ExprKind::div, DType::u64, -1, 2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(apply2(ExprKind::min, DType::u64, -1, 2), 2);
  EXPECT_EQ(apply2(ExprKind::pow, DType::i64, 3, 4), 81);
  EXPECT_EQ(apply2(ExprKind::pow, DType::i64, -1, -3), -1);
  EXPECT_EQ(apply2(ExprKind::shift_left, DType::i8, 1, 7), -128);
  EXPECT_EQ(apply2(ExprKind::shift_left, DType::i8, 1, 8), 0);
  EXPECT_EQ(apply2(ExprKind::shift_right, DType::i8, -128, 9), -1);
}

TEST(Scalar, FloatsAsStated) {
  const auto apply2 = [](ExprKind kind, double a, double b) {
    const Scalar operands[] = {make_real(a, DType::f64), make_real(b, DType::f64)};
    return apply(kind, DType::f64, operands).real;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(apply2(ExprKind::min, kNan, 1)));
  EXPECT_TRUE(std::isnan(apply2(ExprKind::max, 1, kNan)));
  EXPECT_EQ(apply2(ExprKind::floordiv, -7, 2), -4);
  EXPECT_EQ(apply2(ExprKind::floormod, -7, 2), 1);
  EXPECT_EQ(apply2(ExprKind::fmod, -7, 2), -1);
  EXPECT_EQ(apply2(ExprKind::round, 2.5, 0), 2);
  EXPECT_EQ(apply2(ExprKind::sigmoid, -1000, 0), 0);
  EXPECT_EQ(apply2(ExprKind::sign, -0.25, 0), -1);
  EXPECT_EQ(cast(make_real(1.0009765625, DType::f32), DType::bf16).real, 1);
  EXPECT_EQ(cast(make_real(0.1, DType::f64), DType::f32).real, 0.1);  // f32 stays unrounded
}

}  // namespace
}  // namespace ingot
