// ops/pack_panels_test.cc: literal cases and the numbered constraints.
#include "ops/pack_panels.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(PackPanels, CutsColumnsAndFillsUp) {
  const auto pool = std::make_shared<ExprPool>();
  const Tensor b = tensor_of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values_of(run_reference(PackPanels{.width = 2}, pool, {b})),
            (std::vector<double>{1, 2, 4, 5, 3, 0, 6, 0}));
}

TEST(PackPanels, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(PackPanels{}, pool, {"f32[2, k, 65]"}), "f32[2, 2, k, 64]");
  EXPECT_EQ(infer_text(PackPanels{}, pool, {"f32[65]"}),  // C1
            "pack_panels: expected b of rank 2 or more, got f32[65]");
  EXPECT_EQ(infer_text(PackPanels{.width = 0}, pool, {"f32[2, 3]"}),  // C2
            "pack_panels: expected a width between 1 and 4096, got 0");
}

}  // namespace
}  // namespace ingot::ops
