// ir/type_test.cc: types as text and back, broadcasting.
#include "ir/type.h"

#include <gtest/gtest.h>

#include "kernel/stmt.h"

namespace ingot {
namespace {

TEST(TypeText, ReadsBackWhatItPrints) {
  ExprPool pool;
  for (const char* text :
       {"f32[]", "i64[3]", "bf16[batch, 1, 28]", "nothing", "sequence(f32[n])", "optional(nothing)",
        "map(str, sequence(i64[2]))",
        "state(f16, contiguous, batch=b, capacity=512, length=past, token=[4, 8])",
        "state(f32, paged, batch=b, blocks=n, max_blocks=16, block_size=32, length=past, "
        "token=[4, 8])"}) {
    const auto type = parse_type(text, pool);
    ASSERT_TRUE(type) << to_text(type.error());
    EXPECT_EQ(to_text(*type), text);
  }
}

TEST(TypeText, ReadsExpressions) {
  ExprPool pool;
  const auto type = parse_type("f32[batch * 2, (h + 1) * 4]", pool);
  ASSERT_TRUE(type) << to_text(type.error());
  const auto again = parse_type(to_text(*type), pool);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *type);
}

TEST(TypeText, RefusesWhatIsNoType) {
  ExprPool pool;
  for (const char* text : {"", "f33[2]", "f32", "f32[2", "f32[2] x", "sequence(", "sequence(f32[2]",
                           "state(f32, stacked)", "state(f32, contiguous, batch=b)",
                           "state(f32, contiguous, batch)", "map(f32[1])"}) {
    EXPECT_FALSE(parse_type(text, pool)) << text;
  }
  std::string deep;
  for (int k = 0; k < 1000; ++k) deep += "sequence(";
  EXPECT_FALSE(parse_type(deep, pool));
}

TEST(Broadcast, FollowsNumPy) {
  ExprPool pool;
  const auto dims = [&](std::initializer_list<int64_t> values) {
    Exprs result;
    for (const int64_t value : values) result.push_back(pool.integer(value));
    return result;
  };
  const std::vector<Exprs> shapes = {dims({4, 1, 3}), dims({5, 1}), dims({})};
  const auto result = broadcast(shapes, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, dims({4, 5, 3}));
  const std::vector<Exprs> bad = {dims({2}), dims({3})};
  const auto failure = broadcast(bad, nullptr);
  ASSERT_FALSE(failure);
  EXPECT_NE(failure.error().message.find("[2] and [3] do not broadcast"), std::string::npos);
}

TEST(Broadcast, TakesDifferentSymbolsToBeEqual) {
  ExprPool pool;
  const Expr a = pool.symbol("a");
  const Expr b = pool.symbol("b");
  const std::vector<Exprs> shapes = {{a, pool.integer(1)}, {b, b}, {pool.integer(4), b}};
  std::vector<std::pair<Expr, Expr>> equal;
  const auto result = broadcast(shapes, &equal);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (Exprs{pool.integer(4), b}));
  EXPECT_EQ(equal, (std::vector<std::pair<Expr, Expr>>{{a, b}, {a, pool.integer(4)}}));
}

TEST(NormalizeAxis, CountsFromTheEnd) {
  EXPECT_EQ(*normalize_axis(-1, 3), 2);
  EXPECT_EQ(*normalize_axis(0, 3), 0);
  EXPECT_FALSE(normalize_axis(3, 3));
  EXPECT_FALSE(normalize_axis(-4, 3));
}

TEST(Dims, StridesAndCounts) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  const Exprs dims = {n, pool.integer(3), pool.integer(4)};
  EXPECT_EQ(row_major_strides(pool, dims),
            (Exprs{pool.integer(12), pool.integer(4), pool.integer(1)}));
  EXPECT_EQ(element_count(pool, dims), n * 12);
  EXPECT_FALSE(static_dims({DType::f32, dims}));
  EXPECT_EQ(static_dims({DType::f32, {dims[1], dims[2]}}), (std::vector<int64_t>{3, 4}));
}

}  // namespace
}  // namespace ingot
