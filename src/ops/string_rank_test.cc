// ops/string_rank_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(StringRank, CountsDifferentOnesBelow) {
  const Tensor x = Tensor::of_strings(
      {2, 3}, std::vector<std::string>{"b", "", "\xFF", "b", "ab", std::string("b\0", 2)});
  EXPECT_EQ(values_of(run_reference(StringRank{}, std::make_shared<ExprPool>(), {x})),
            (std::vector<double>{2, 0, 4, 2, 1, 3}));
}

TEST(StringRank, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringRank{}, pool, {"i64[2]"}),  // C1
            "string_rank: expected x to be strings, got i64");
}

}  // namespace
}  // namespace ingot::ops
