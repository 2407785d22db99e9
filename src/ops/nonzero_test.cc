// ops/nonzero_test.cc: literal cases and the numbered constraints.
#include "ops/nonzero.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(NonZero, ListsIndicesDimByDim) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor x = tensor_of(DType::f32, {2, 2}, {0, 3, NAN, 0});
  const Tensor y = run_reference(NonZero{}, pool, {x});
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values_of(y), (std::vector<double>{0, 1, 1, 0}));
}

TEST(NonZero, CountsAScalar) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor y = run_reference(NonZero{}, pool, {tensor_of(DType::f32, {}, {2})});
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{0, 1}));
}

TEST(NonZero, Infer) {
  ExprPool pool;
  std::vector<Type> types = {*parse_type("f32[3, 4]", pool)};
  InferContext ctx{pool, types, {true}, {}};
  const auto out = NonZero{}.infer(ctx);
  ASSERT_TRUE(out);
  const Expr found = (*out)[0].tensor.dims[1];
  EXPECT_TRUE(pool.symbol_info(found.symbol()).data_dependent);
  EXPECT_EQ(range_of(found), (Range{0, 12}));
  EXPECT_EQ(infer_text(NonZero{}, pool, {"str[3]"}),  // C1
            "nonzero: expected x of a float or integer type, got str");
}

}  // namespace
}  // namespace ingot::ops
