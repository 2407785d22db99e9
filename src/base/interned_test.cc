// base/interned_test.cc
#include "base/interned.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Interned, EqualTextsHaveOneNumberAndTheEmptyOneIsZero) {
  EXPECT_EQ(intern(""), 0);
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(intern(with_zero), intern(std::string_view(with_zero)));
  EXPECT_NE(intern(with_zero), intern("a"));
  EXPECT_EQ(interned(intern(with_zero)), with_zero);
  EXPECT_EQ(interned(0), "");
}

}  // namespace
}  // namespace ingot
