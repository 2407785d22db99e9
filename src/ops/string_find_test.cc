// ops/string_find_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(StringFind, FindsBytes) {
  const Tensor x = Tensor::of_strings(
      {5}, std::vector<std::string>{"b", "", "ab", std::string("a\0", 2), "\xFF"});
  EXPECT_EQ(values_of(run_reference(StringFind{{"", "a", "b"}}, std::make_shared<ExprPool>(), {x})),
            (std::vector<double>{2, 0, 3, 3, 3}));
  EXPECT_EQ(values_of(run_reference(StringFind{}, std::make_shared<ExprPool>(), {x})),
            (std::vector<double>{0, 0, 0, 0, 0}));
}

TEST(StringFind, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringFind{}, pool, {"i64[2]"}),  // C1
            "string_find: expected x to be strings, got i64");
  EXPECT_EQ(infer_text(StringFind{{"a", "a"}}, pool, {"str[2]"}),  // C2
            "string_find: expected texts that rise, got \"a\" behind \"a\"");
}

}  // namespace
}  // namespace ingot::ops
