// ops/container_of_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ContainerOf, TellsWhatItHolds) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ContainerOf{.count = 2}, pool, {"f32[2, n]", "f32[]"}), "sequence(f32[])");
  EXPECT_EQ(infer_text(ContainerOf{.optional = true, .dtype = DType::str}, pool, {}),
            "optional(str[])");
  EXPECT_EQ(infer_text(ContainerOf{1, true, true}, pool, {"sequence(f32[])"}),
            "optional(sequence(f32[]))");
}

TEST(ContainerOf, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ContainerOf{.count = 1}, pool, {"i64[2]"}),  // C1
            "container_of: item 0: expected a tensor of f32, got i64[2]");
  EXPECT_EQ(infer_text(ContainerOf{.count = 2}, pool, {"f32[2]"}),  // C1
            "container_of: expected 2 inputs, got 1");
  EXPECT_EQ(infer_text(ContainerOf{1, true, true}, pool, {"f32[]"}),  // C1
            "container_of: item 0: expected sequence(f32[]), got f32[]");
  EXPECT_EQ(infer_text(ContainerOf{.count = 2, .optional = true}, pool, {"f32[]", "f32[]"}),  // C2
            "container_of: expected at most one input, 2 inputs, got 2");
  EXPECT_EQ(infer_text(ContainerOf{.nested = true}, pool, {}),  // C2
            "container_of: a sequence of sequences");
}

}  // namespace
}  // namespace ingot::ops
