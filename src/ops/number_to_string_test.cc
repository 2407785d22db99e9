// ops/number_to_string_test.cc
#include <gtest/gtest.h>

#include <limits>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

// Expected values are those of onnxruntime's Cast.
TEST(NumberToString, WritesEightDigits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor x =
      tensor_of(DType::f64, {7}, {0, -0.0, 1.0 / 3, 1e7, 123456789, -kInfinity, kInfinity});
  EXPECT_EQ(run_reference(NumberToString{}, std::make_shared<ExprPool>(), {x}).strings(),
            (std::vector<std::string>{"0", "-0", "0.33333333", "10000000", "1.2345679e+08", "-INF",
                                      "INF"}));
  const Tensor nan = Tensor::scalar(DType::f32, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(run_reference(NumberToString{}, std::make_shared<ExprPool>(), {nan}).string(0), "NaN");
  Tensor most(DType::u64, {});
  most.set_integer(0, -1);
  EXPECT_EQ(run_reference(NumberToString{}, std::make_shared<ExprPool>(), {most}).string(0),
            "18446744073709551615");
}

TEST(NumberToString, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(NumberToString{}, pool, {"i32[2]"}),  // C1
            "number_to_string: expected f32, f64, i64 or u64, got i32");
}

}  // namespace
}  // namespace ingot::ops
