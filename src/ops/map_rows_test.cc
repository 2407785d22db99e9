// ops/map_rows_test.cc
#include <gtest/gtest.h>

#include "ops/maps.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(MapRows, MakesAMapOfEachRow) {
  const Tensor keys = Tensor::of_strings({2}, std::vector<std::string>{"b", ""});
  const Tensor maps = run_reference(MapRows{}, std::make_shared<ExprPool>(),
                                    {keys, tensor_of(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(maps.items().size(), 3);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(maps.items()[k].items()[0].strings(), (std::vector<std::string>{"b", ""}));
  }
  EXPECT_EQ(values_of(maps.items()[1].items()[1]), (std::vector<double>{3, 4}));
}

TEST(MapRows, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(MapRows{}, pool, {"i32[2]", "f32[3, 2]"}),  // C1
            "map_rows: keys: expected i64[c] or str[c], got i32[2]");
  EXPECT_EQ(infer_text(MapRows{}, pool, {"i64[2]", "f32[2]"}),  // C2
            "map_rows: x: expected [n, c], got f32[2]");
  EXPECT_EQ(infer_text(MapRows{}, pool, {"i64[2]", "f32[2, 3]"}),  // C2
            "map_rows: expected keys and columns to be equal, got 2 and 3");
}

}  // namespace
}  // namespace ingot::ops
