// ops/transpose_test.cc: literal cases and the numbered constraints.
#include "ops/transpose.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(Transpose, ReordersDims) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::i32, {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = run_reference(Transpose{{2, 0, 1}}, pool, {x});
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{3, 1, 2}));
  EXPECT_EQ(values_of(y), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Transpose, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(Transpose{{1, 0}}, pool, {"str[n, 2]"}), "str[2, n]");
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{0, 0}, {0}, {0, 2}, {-1, 0}, {1, 0, 2}}) {  // C1
    EXPECT_EQ(infer_text(Transpose{order}, pool, {"f32[n, 2]"}),
              concat("transpose: expected an order of the dims 0 to 1, got ", order));
  }
}

}  // namespace
}  // namespace ingot::ops
