// ops/string_split_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<std::string> pieces(StringSplit op, std::string text) {
  const Tensor x = Tensor::of_strings({}, std::vector<std::string>{std::move(text)});
  return run_reference(std::move(op), std::make_shared<ExprPool>(), {x}).strings();
}
using Texts = std::vector<std::string>;

// Expected values are those of Python's str.split.
TEST(StringSplit, AsPythonDoes) {
  EXPECT_EQ(pieces({","}, "a,,b,"), (Texts{"a", "", "b", ""}));
  EXPECT_EQ(pieces({","}, ""), (Texts{""}));
  EXPECT_EQ(pieces({",", 1}, "a,b,c"), (Texts{"a", "b,c"}));
  EXPECT_EQ(pieces({",", 0}, "a,b"), (Texts{"a,b"}));
  EXPECT_EQ(pieces({}, "  a \t b  "), (Texts{"a", "b"}));
  EXPECT_EQ(pieces({"", 1}, "  a  b  "), (Texts{"a", "b  "}));
  EXPECT_EQ(pieces({}, " "), Texts{});
  EXPECT_EQ(pieces({"aa"}, "aaa"), (Texts{"", "a"}));
}

TEST(StringSplit, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringSplit{}, pool, {"f32[2]"}),  // C1
            "string_split: expected x to be strings, got f32");
}

}  // namespace
}  // namespace ingot::ops
