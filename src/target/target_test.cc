// target/target_test.cc: text forms of targets and the errors of their names.
#include "target/target.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

TEST(Target, PrintsAndParsesBack) {
  const Target target{{CpuLevel::v4, CpuLevel::v3}};
  EXPECT_EQ(to_text(target), "cpu:x86-64-v4,x86-64-v3");
  auto parsed = parse_target(to_text(target));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, target);
}

TEST(Target, LevelsAreSortedBestFirstAndUnique) {
  const std::vector<std::string> cpus = {"x86-64", "x86-64-v4", "x86-64"};
  auto target = make_target("cpu", cpus);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->levels, (std::vector{CpuLevel::v4, CpuLevel::v1}));
}

TEST(Target, NoCpuMeansTheHost) {
  auto target = make_target("cpu", {});
  ASSERT_TRUE(target);
  EXPECT_EQ(target->levels, std::vector{host_level()});
}

TEST(Target, UnknownNamesAreErrors) {
  const std::vector<std::string> cpus = {"pentium"};
  auto target = make_target("cpu", cpus);
  ASSERT_FALSE(target);
  EXPECT_EQ(to_text(target.error()),
            "--cpu: expected native, x86-64, x86-64-v3, x86-64-v4, got 'pentium'");
  EXPECT_EQ(make_target("tpu", {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(make_target("cuda:sm_90a", {}).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace ingot
