// ops/reshape_test.cc: literal cases and the numbered constraints.
#include "ops/reshape.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Reshape, KeepsTheOrder) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = run_reference(Reshape{{pool->integer(3), pool->integer(2)}}, pool, {x});
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(values_of(y), values_of(x));
}

/// The index that lower reads for an index of the output.
std::string read_index(ExprPool& pool, std::string_view from, const Exprs& to) {
  struct Recorder : Lowering {
    Recorder(ExprPool& p, Type t) : held(p), type(std::move(t)) {}
    ExprPool& pool() override { return held; }
    size_t input_count() const override { return 1; }
    bool has(size_t input) const override { return input == 0; }
    const Type& input_type(size_t) const override { return type; }
    const Type& output_type(size_t) const override { return type; }
    Expr load(size_t, std::span<const Expr> index) override {
      text = concat(index);
      return held.real(0);
    }
    Expr load_if(Expr, size_t, std::span<const Expr> index, Expr) override {
      return load(0, index);
    }
    Expr load_plane(size_t, StatePlane, Expr) override { return held.real(0); }
    ExprPool& held;
    Type type;
    std::string text;
  };
  Recorder recorder(pool, *parse_type(from, pool));
  Exprs index;
  for (const Expr dim : to) index.push_back(pool.fresh_index(dim));
  Reshape{to}.lower(recorder, 0, index);
  return recorder.text;
}

// Dims that both shapes share are indexed without divisions, symbolic ones too.
TEST(Reshape, SharedDimsKeepTheirIndices) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(read_index(pool, "f32[n, 4, 6]", {n, pool.integer(24)}), "[i0, i1 // 6, i1 % 6]");
  EXPECT_EQ(read_index(pool, "f32[n, 24]", {n, pool.integer(4), pool.integer(6)}),
            "[i2, i3 * 6 + i4]");
}

TEST(Reshape, Infer) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  EXPECT_EQ(infer_text(Reshape{{n * 4}}, pool, {"f32[n, 4]"}), "f32[n * 4]");
  EXPECT_EQ(infer_text(Reshape{{}}, pool, {"f32[1, 1]"}), "f32[]");
  EXPECT_EQ(infer_text(Reshape{{pool.integer(-1)}}, pool, {"f32[4]"}),  // C1
            "reshape: expected dims between 0 and 2147483647, got [-1]");
  EXPECT_EQ(infer_text(Reshape{{pool.integer(5)}}, pool, {"f32[4]"}),  // C2
            "reshape: expected element counts of x and y to be equal, got 4 and 5");
  EXPECT_EQ(infer_text(Reshape{{pool.symbol("m")}}, pool, {"f32[n]"}), "f32[m]; n == m");
}

// 2^62 times 4 wraps to 0: too many elements are told from none.
TEST(Reshape, ElementCountsDoNotOverflow) {
  ExprPool pool;
  const Expr large = pool.integer(int64_t{1} << 30);
  EXPECT_EQ(infer_text(Reshape{{large, large, pool.integer(16)}}, pool, {"f32[0]"}),
            "reshape: expected at most 2^56 elements, got dims [1073741824, 1073741824, 16]");
}

}  // namespace
}  // namespace ingot::ops
