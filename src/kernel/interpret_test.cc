// kernel/interpret_test.cc: kernels written by hand, with results worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/stmt.h"

namespace ingot {
namespace {

Kernel parse(std::string_view text) {
  Result<Kernel> kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << (kernel ? "" : to_text(kernel.error()));
  return kernel ? *kernel : Kernel{};
}

BufferValues floats(std::vector<double> values) {
  return {.dtype = DType::f32, .reals = std::move(values), .ints = {}};
}

BufferValues integers(std::vector<int64_t> values, DType dtype) {
  return {.dtype = dtype, .reals = {}, .ints = std::move(values)};
}

std::string run(const Kernel& kernel, std::vector<int64_t> symbols,
                std::vector<BufferValues>& buffers) {
  const Status status = interpret(kernel, symbols, buffers);
  return status ? "" : to_text(status.error());
}

constexpr std::string_view kSoftmax = R"(kernel softmax_row
from "softmax"
symbol rows 0..2147483647
b0 "x": f32[rows * 3]
b1 "y": f32[rows * 3] written
{
  for i0 < rows parallel {
    reduce i1 < 3 {
    } max t0 = b0[i0 * 3 + i1]
    reduce i2 < 3 vector {
      t1 = exp(b0[i0 * 3 + i2] - t0)
      b1[i0 * 3 + i2] = t1
    } sum t2 = t1
    for i3 < 3 vector {
      b1[i0 * 3 + i3] = b1[i0 * 3 + i3] / t2
    }
  }
}
)";

TEST(Interpret, SoftmaxOfRows) {
  const Kernel kernel = parse(kSoftmax);
  // Logarithms of 1, 2 and 5: probabilities 1/8, 2/8, 5/8, whatever is added to all.
  std::vector<BufferValues> buffers = {
      floats({std::log(1.), std::log(2.), std::log(5.), 1000, 1000, 1000}),
      floats(std::vector<double>(6, -1))};
  ASSERT_EQ(run(kernel, {2}, buffers), "");
  const double want[] = {0.125, 0.25, 0.625, 1. / 3, 1. / 3, 1. / 3};
  for (size_t k = 0; k < 6; ++k) EXPECT_NEAR(buffers[1].reals[k], want[k], 1e-15) << k;
}

TEST(Interpret, MatmulWithASizeFromASymbol) {
  const Kernel kernel = parse(R"(kernel matmul
symbol k 0..100
b0 "a": f32[2 * k]
b1 "b": f32[k * 2]
b2 "c": f32[4] written
{
  for i0 < 2 parallel {
    for i1 < 2 parallel {
      reduce i2 < k {
      } sum t0 = b0[i0 * k + i2] * b1[i2 * 2 + i1]
      b2[i0 * 2 + i1] = t0
    }
  }
}
)");
  std::vector<BufferValues> buffers = {floats({1, 2, 3, 4, 5, 6}), floats({7, 8, 9, 10, 11, 12}),
                                       floats({0, 0, 0, 0})};
  ASSERT_EQ(run(kernel, {3}, buffers), "");
  EXPECT_EQ(buffers[2].reals, (std::vector<double>{58, 64, 139, 154}));
  // K = 0 gives zeros.
  buffers = {floats({}), floats({}), floats({5, 5, 5, 5})};
  ASSERT_EQ(run(kernel, {0}, buffers), "");
  EXPECT_EQ(buffers[2].reals, (std::vector<double>{0, 0, 0, 0}));
}

TEST(Interpret, TransposedCopyThroughScratch) {
  const Kernel kernel = parse(R"(kernel transpose
b0 "x": i32[6]
b1 "y": i32[6] written
{
  alloc b2: i32[6]
  for i0 < 6 {
    b2[i0 % 3 * 2 + i0 // 3] = b0[i0]
  }
  for i1 < 6 {
    b1[i1] = b2[i1]
  }
}
)");
  std::vector<BufferValues> buffers = {integers({1, 2, 3, 4, 5, 6}, DType::i32),
                                       integers({0, 0, 0, 0, 0, 0}, DType::i32)};
  ASSERT_EQ(run(kernel, {}, buffers), "");
  EXPECT_EQ(buffers[1].ints, (std::vector<int64_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Interpret, PredicatesGuardMemory) {
  const Kernel kernel = parse(R"(kernel pad
b0 "x": f32[2]
b1 "y": f32[4] written
{
  for i0 < 6 {
    b1[i0 - 1] = b0[i0 - 2 if 2 <= i0 && i0 < 4 else -1.0] if 1 <= i0 && i0 < 5
  }
}
)");
  std::vector<BufferValues> buffers = {floats({8, 9}), floats({0, 0, 0, 0})};
  ASSERT_EQ(run(kernel, {}, buffers), "");
  EXPECT_EQ(buffers[1].reals, (std::vector<double>{-1, 8, 9, -1}));
}

TEST(Interpret, IfAndReductionsInsideExpressions) {
  const Kernel kernel = parse(R"(kernel prefix
symbol n 0..100
b0 "x": i64[n]
b1 "y": i64[n] written
{
  for i0 < n {
    if b0[i0] != 3 {
      b1[i0] = reduce_sum(i1 < n, select(i1 <= i0, b0[i1], 0))
    }
  }
}
)");
  std::vector<BufferValues> buffers = {integers({1, 2, 3, 4}, DType::i64),
                                       integers({-1, -1, -1, -1}, DType::i64)};
  ASSERT_EQ(run(kernel, {4}, buffers), "");
  EXPECT_EQ(buffers[1].ints, (std::vector<int64_t>{1, 3, -1, 10}));
}

TEST(Interpret, StorageTypesRound) {
  const Kernel kernel = parse(R"(kernel narrow
b0 "x": f32[2]
b1 "y": bf16[2] written
{
  for i0 < 2 {
    b1[i0] = bf16(b0[i0])
  }
}
)");
  std::vector<BufferValues> buffers = {floats({1.001, 257}),
                                       {.dtype = DType::bf16, .reals = {0, 0}, .ints = {}}};
  ASSERT_EQ(run(kernel, {}, buffers), "");
  EXPECT_EQ(buffers[1].reals, (std::vector<double>{1, 256}));
}

constexpr std::string_view kCopy = R"(kernel copy
symbol n 0..100
b0 "x": f32[n]
b1 "y": f32[4] written
{
  for i0 < 4 {
    b1[i0] = b0[i0 + 1]
  }
}
)";

TEST(Interpret, AccessesOutsideAreErrors) {
  std::vector<BufferValues> buffers = {floats({1, 2, 3, 4}), floats({0, 0, 0, 0})};
  EXPECT_EQ(run(parse(kCopy), {4}, buffers), "kernel copy: load of x[4], which has 4 elements");
  // The declared size counts, not the size of the vector.
  EXPECT_EQ(run(parse(kCopy), {2}, buffers), "kernel copy: load of x[2], which has 2 elements");
}

TEST(Interpret, BuffersMustFit) {
  std::vector<BufferValues> buffers = {floats({1, 2}), floats({0, 0, 0, 0})};
  EXPECT_EQ(run(parse(kCopy), {5}, buffers),
            "kernel copy, buffer x: expected 5 elements of f32, got 2 of f32");
  buffers[0] = integers({1, 2, 3, 4, 5}, DType::i64);
  EXPECT_EQ(run(parse(kCopy), {5}, buffers),
            "kernel copy, buffer x: expected 5 elements of f32, got 5 of i64");
  buffers.pop_back();
  EXPECT_EQ(run(parse(kCopy), {5}, buffers), "kernel copy: expected 2 buffers, got 1");
  EXPECT_EQ(run(parse(kCopy), {}, buffers), "kernel copy: expected 2 buffers, got 1");
  buffers = {floats({1}), floats({0, 0, 0, 0})};
  EXPECT_EQ(run(parse(kCopy), {}, buffers), "kernel copy: symbol n has no value");
}

TEST(Interpret, UndefinedScratchIsAnError) {
  const Kernel kernel = parse(R"(kernel undefined
b0 "y": f32[2] written
{
  for i0 < 2 {
    alloc b1: f32[2]
    b1[0] = 1.0 if i0 == 0
    b0[i0] = b1[0]
  }
}
)");
  std::vector<BufferValues> buffers = {floats({0, 0})};
  EXPECT_EQ(run(kernel, {}, buffers),
            "kernel undefined: load of b1[0], which nothing was stored to");
  EXPECT_EQ(buffers[0].reals[0], 1);
}

TEST(Evaluate, AsksForLoadsAtTheirOffsets) {
  ExprPool pool;
  const Expr i = pool.fresh_index(pool.integer(3));
  const Expr sum =
      pool.reduce(ReduceKind::sum, i, pool.load(4, DType::f64, i * 2, less(i, pool.integer(2))));
  std::vector<std::string> asked;
  const Scalar result = evaluate(sum, [&](Expr leaf) {
    asked.push_back(to_text(leaf));
    return Scalar{.dtype = DType::f64, .real = 10, .integer = 0};
  });
  EXPECT_EQ(result.real, 20);
  EXPECT_EQ(asked, (std::vector<std::string>{"b4:f64[0]", "b4:f64[2]"}));
}

TEST(Evaluate, Dimensions) {
  ExprPool pool;
  const Expr n = pool.symbol("n");
  const Expr m = pool.symbol("m");
  const int64_t values[] = {10, 3};
  EXPECT_EQ(evaluate_dim(pool.integer(7), {}), 7);
  EXPECT_EQ(evaluate_dim(floordiv(n, m) + ceildiv(n, 4) * min(n, m), values), 12);
}

}  // namespace
}  // namespace ingot
