// ops/map_values_test.cc
#include <gtest/gtest.h>

#include "ops/maps.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::string values_text(const Tensor& keys, const Tensor& values) {
  Graph graph;
  const ValueId m = graph.add_input("m", map_type(keys.dtype(), values.dtype()));
  graph.set_outputs({{"y", graph.must_add(MapValues{}, {m})}});
  const auto y = Interpreter(graph).run(std::vector{Tensor::container({keys, values})});
  return y ? concat((*y)[0].dims(), values_of((*y)[0])) : to_text(y.error());
}

TEST(MapValues, FollowTheOrderOfKeys) {
  const Tensor values = tensor_of(DType::f32, {4}, {1, 2, 3, 4});
  EXPECT_EQ(values_text(Tensor::of_ints({7, -1, 7, 3}), values), "[3][2, 4, 3]");
  const std::vector<std::string> texts = {"b", "", "\xFF", "a"};  // bytes above 127 come last
  EXPECT_EQ(values_text(Tensor::of_strings({4}, texts), values), "[4][2, 4, 1, 3]");
  EXPECT_EQ(values_text(Tensor::of_ints({}), tensor_of(DType::f32, {0}, {})), "[0][]");
}

TEST(MapValues, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(MapValues{}, pool, {"f32[2]"}),  // C1
            "map_values: m: expected a map from i64 or strings, got f32[2]");
}

}  // namespace
}  // namespace ingot::ops
