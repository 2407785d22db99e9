// ops/regex_match_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(RegexMatch, MatchesTheWholeText) {
  const Tensor x = Tensor::of_strings({3}, std::vector<std::string>{"aab", "aabc", ""});
  EXPECT_EQ(values_of(run_reference(RegexMatch{"a+b?"}, std::make_shared<ExprPool>(), {x})),
            (std::vector<double>{1, 0, 0}));
}

TEST(RegexMatch, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(RegexMatch{"a"}, pool, {"f32[2]"}),  // C1
            "regex_match: expected x to be strings, got f32");
  EXPECT_EQ(infer_text(RegexMatch{"(a"}, pool, {"str[2]"}),  // C2
            "regex_match: pattern \"(a\": a group without an end at byte 2");
}

}  // namespace
}  // namespace ingot::ops
