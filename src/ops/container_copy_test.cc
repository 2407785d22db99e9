// ops/container_copy_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ContainerCopy, TakesContainersAlone) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ContainerCopy{}, pool, {"optional(str[])"}), "optional(str[])");
  EXPECT_EQ(infer_text(ContainerCopy{}, pool, {"map(i64, str[])"}), "map(i64, str[])");
  EXPECT_EQ(infer_text(ContainerCopy{}, pool, {"f32[2]"}),  // C1
            "container_copy: x: expected a container, got f32[2]");
}

}  // namespace
}  // namespace ingot::ops
