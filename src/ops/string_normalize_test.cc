// ops/string_normalize_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

using Texts = std::vector<std::string>;
Texts normalized(StringNormalize op, Texts texts) {
  const auto count = static_cast<int64_t>(texts.size());
  return run_reference(std::move(op), std::make_shared<ExprPool>(),
                       {Tensor::of_strings({count}, texts)})
      .strings();
}

TEST(StringNormalize, DropsStopWordsBeforeTheCaseChanges) {
  EXPECT_EQ(normalized({1, true, {"B"}}, {"A", "b", "B"}), (Texts{"a", "b"}));
  EXPECT_EQ(normalized({2, false, {"B"}}, {"A", "b", "B"}), (Texts{"A"}));
  EXPECT_EQ(normalized({0, false, {"b"}}, {"b", "B"}), (Texts{""}));
}

TEST(StringNormalize, KnowsLettersBeyondAscii) {
  EXPECT_EQ(normalized({2}, {"\xC3\xA4\xC3\x9F",
                             "\xFF"
                             "a"}),  // ä has an upper case, ß none of one letter
            (Texts{"\xC3\x84\xC3\x9F",
                   "\xFF"
                   "A"}));
  EXPECT_EQ(normalized({1, false, {"\xC3\xA4"}}, {"\xC3\x84", "x"}), (Texts{"x"}));
}

TEST(StringNormalize, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringNormalize{}, pool, {"f32[2]"}),  // C1
            "string_normalize: expected x to be strings, got f32");
  EXPECT_EQ(infer_text(StringNormalize{}, pool, {"str[1, 2, 3]"}),  // C1
            "string_normalize: expected x of str[n] or str[1, n], got str[1, 2, "
            "3]");
  EXPECT_EQ(infer_text(StringNormalize{.letters = 3}, pool, {"str[2]"}),  // C2
            "string_normalize: expected letters in 0..2, got 3");
}

}  // namespace
}  // namespace ingot::ops
