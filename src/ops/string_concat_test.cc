// ops/string_concat_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(StringConcat, Broadcasts) {
  const Tensor x = Tensor::of_strings({2}, std::vector<std::string>{"a", ""});
  const Tensor y = Tensor::of_strings({}, std::vector<std::string>{"\xC3\x84"});
  EXPECT_EQ(run_reference(StringConcat{}, std::make_shared<ExprPool>(), {x, y}).strings(),
            (std::vector<std::string>{"a\xC3\x84", "\xC3\x84"}));
}

TEST(StringConcat, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringConcat{}, pool, {"i64[2]", "str[2]"}),  // C1
            "string_concat: expected x to be strings, got i64");
  EXPECT_EQ(infer_text(StringConcat{}, pool, {"str[2]", "str[3]"}),  // C2
            "string_concat: shapes [2] and [3] do not broadcast: 2 and 3 differ "
            "and neither is 1");
}

}  // namespace
}  // namespace ingot::ops
