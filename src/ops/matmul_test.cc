// ops/matmul_test.cc: literal cases and the numbered constraints.
#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(MatMul, MultipliesMatrices) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor a = tensor_of(DType::f32, {2, 2}, {1, 2, 3, 4});
  const Tensor b = tensor_of(DType::f32, {2, 1}, {10, 100});
  EXPECT_EQ(values_of(run_reference(MatMul{}, pool, {a, b})), (std::vector<double>{210, 430}));
}

TEST(MatMul, IntegersWrapAround) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor a = tensor_of(DType::i8, {1, 2}, {100, 100});
  EXPECT_EQ(run_reference(MatMul{}, pool, {a, a.reshaped({2, 1})}).integer(0), 20000 - 78 * 256);
}

TEST(MatMul, ReadsPanels) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor a = tensor_of(DType::f32, {1, 2}, {1, 10});
  // Columns (1, 2), (3, 4) in the first panel, (5, 6) in the second, then a column of padding.
  const Tensor b = tensor_of(DType::f32, {2, 2, 2}, {1, 3, 2, 4, 5, NAN, 6, NAN});
  const MatMul op{.packed = true, .columns = pool->integer(3)};
  EXPECT_EQ(values_of(run_reference(op, pool, {a, b})), (std::vector<double>{21, 43, 65}));
}

TEST(MatMul, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(MatMul{}, pool, {"f32[b, 1, m, 4]", "f32[3, 4, n]"}), "f32[b, 3, m, n]");
  EXPECT_EQ(infer_text(MatMul{}, pool, {"f32[m, k]", "f32[j, n]"}), "f32[m, n]; k == j");
  EXPECT_EQ(infer_text(MatMul{}, pool, {"b8[2, 2]", "b8[2, 2]"}),  // C1
            "matmul: expected a of a float or integer type, got b8");
  EXPECT_EQ(infer_text(MatMul{}, pool, {"f32[2, 2]", "f16[2, 2]"}),  // C1
            "matmul: expected a and b of one type, got f32 and f16");
  EXPECT_EQ(infer_text(MatMul{}, pool, {"f32[2]", "f32[2, 2]"}),  // C2
            "matmul: expected a of rank 2 or more, got f32[2]");
  EXPECT_EQ(infer_text(MatMul{}, pool, {"f32[2, 3]", "f32[2, 2]"}),  // C3
            "matmul: expected K of a and K of b to be equal, got 3 and 2");
  EXPECT_TRUE(infer_text(MatMul{}, pool, {"f32[2, 2, 3]", "f32[4, 3, 2]"})  // C4
                  .starts_with("matmul: "));
  const MatMul packed{.packed = true, .columns = pool.integer(5)};
  EXPECT_EQ(infer_text(packed, pool, {"f32[m, 3]", "f32[2, 3, 4]"}), "f32[m, 5]");
  EXPECT_EQ(infer_text(packed, pool, {"f32[m, 3]", "f32[3, 3, 4]"}),  // C5
            "matmul: expected panels of columns and panels of b to be equal, got 2 and 3");
  EXPECT_EQ(infer_text(MatMul{.packed = true}, pool, {"f32[m, 3]", "f32[2, 3, 4]"}),  // C5
            "matmul: expected columns beside packed b, got none");
  EXPECT_EQ(infer_text(packed, pool, {"f32[m, 3]", "f32[2, 3, 0]"}),  // C5
            "matmul: expected panels of a constant width above 0, got f32[2, 3, 0]");
}

}  // namespace
}  // namespace ingot::ops
