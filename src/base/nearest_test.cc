// base/nearest_test.cc: mistyped names find what was meant, others find nothing.
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>

namespace ingot {
namespace {

using Names = std::vector<std::string_view>;

TEST(Nearest, FindsMistypedNames) {
  const Names known = {"canonicalize", "cse", "layout", "fuse_reductions", "fuse_pointwise"};
  EXPECT_EQ(nearest("canonicalise", known), Names{"canonicalize"});
  EXPECT_EQ(nearest("cze", known), Names{"cse"});
  EXPECT_EQ(nearest("fuse_reduction", known)[0], "fuse_reductions");
  EXPECT_EQ(nearest("layuot", known), Names{"layout"});
}

TEST(Nearest, FindsNamesThatHoldIt) {
  EXPECT_EQ(nearest("conv1", Names{"/model/conv1/Conv_output_0", "/model/conv2/Conv_output_0"}),
            Names{"/model/conv1/Conv_output_0"});
}

TEST(Nearest, ShowsThreeInOrder) {
  EXPECT_EQ(nearest("abcd", Names{"abce", "abcf", "xbcd", "ab", "abc"}),
            (Names{"abc", "abce", "abcf"}));
}

TEST(Nearest, FindsNothingFarAway) {
  EXPECT_TRUE(nearest("softmax", Names{"x", "", "gather", "convolution"}).empty());
  EXPECT_TRUE(nearest("", Names{"convolution"}).empty());
  EXPECT_TRUE(nearest("ab", Names{"xy"}).empty()) << "nothing of it is left";
  EXPECT_TRUE(nearest("a", {}).empty());
}

TEST(Nearest, TakesNamesOfAnyLength) {
  const std::string longest(100000, 'n'), other = longest + "x";
  EXPECT_EQ(nearest(longest, Names{other, "n"}), Names{other});
}

}  // namespace
}  // namespace ingot
