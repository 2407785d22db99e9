// ops/map_get_test.cc
#include <gtest/gtest.h>

#include "ops/maps.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<double> got(const Tensor& map, std::vector<int64_t> keys) {
  Graph graph;
  const ValueId m = graph.add_input("m", map_type(DType::i64, DType::f32));
  const ValueId k =
      graph.add_input("k", TensorType{DType::i64, {graph.pool().integer(std::ssize(keys))}});
  const ValueId other = graph.add_input("other", TensorType{DType::f32, {}});
  graph.set_outputs({{"y", graph.must_add(MapGet{}, {m, k, other})}});
  const auto y = Interpreter(graph).run(
      std::vector{map, Tensor::of_ints(std::move(keys)), Tensor::scalar(DType::f32, -1)});
  return y ? values_of((*y)[0]) : std::vector<double>();
}

TEST(MapGet, TakesTheLastOfEqualKeys) {
  const Tensor map =
      Tensor::container({Tensor::of_ints({5, -2, 5}), tensor_of(DType::f32, {3}, {1, 2, 3})});
  EXPECT_EQ(got(map, {-2, 5, 0}), (std::vector<double>{2, 3, -1}));
  const Tensor none = Tensor::container({Tensor::of_ints({}), tensor_of(DType::f32, {0}, {})});
  EXPECT_EQ(got(none, {-2}), std::vector<double>{-1});
}

TEST(MapGet, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(MapGet{}, pool, {"sequence(f32[])", "i64[2]", "f32[]"}),  // C1
            "map_get: m: expected a map from i64 or strings, got sequence(f32[])");
  EXPECT_EQ(infer_text(MapGet{}, pool, {"map(i32, f32[])", "i32[2]", "f32[]"}),  // C1
            "map_get: m: expected a map from i64 or strings, got map(i32, f32[])");
  EXPECT_EQ(infer_text(MapGet{}, pool, {"map(i64, f32[])", "str[2]", "f32[]"}),  // C2
            "map_get: keys: expected i64, got str[2]");
  EXPECT_EQ(infer_text(MapGet{}, pool, {"map(i64, f32[])", "i64[2]", "f32[1]"}),  // C3
            "map_get: otherwise: expected f32[], got f32[1]");
}

}  // namespace
}  // namespace ingot::ops
