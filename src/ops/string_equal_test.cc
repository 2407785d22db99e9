// ops/string_equal_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(StringEqual, ComparesBytes) {
  const Tensor x = Tensor::of_strings({2, 1}, std::vector<std::string>{"a", std::string("a\0", 2)});
  const Tensor y = Tensor::of_strings({2}, std::vector<std::string>{"a", ""});
  EXPECT_EQ(values_of(run_reference(StringEqual{}, std::make_shared<ExprPool>(), {x, y})),
            (std::vector<double>{1, 0, 0, 0}));
}

TEST(StringEqual, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringEqual{}, pool, {"str[2]", "f32[2]"}),  // C1
            "string_equal: expected y to be strings, got f32");
  EXPECT_EQ(infer_text(StringEqual{}, pool, {"str[2]", "str[3]"}),  // C2
            "string_equal: shapes [2] and [3] do not broadcast: 2 and 3 differ "
            "and neither is 1");
}

}  // namespace
}  // namespace ingot::ops
