// tests/compiled/maps_test.cc: maps of compiled models as their callers see them.
#include "ops/maps.h"

#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/compiled/model_runner.h"
#include "tests/op_harness.h"

namespace ingot {
namespace {

/// maps = a map of each row of x; row = what m has for the labels; same = m.
Graph map_graph(DType key) {
  Graph graph;
  const Expr n = graph.pool().symbol("n"), c = graph.pool().symbol("c");
  const ValueId m = graph.add_input("m", ops::map_type(key, DType::f32));
  const ValueId labels = graph.add_input("labels", TensorType{key, {c}});
  const ValueId x = graph.add_input("x", TensorType{DType::f32, {n, c}});
  const ValueId none = graph.add_constant(to_constant(Tensor::scalar(DType::f32, -1)));
  const ValueId zero = graph.add_constant(to_constant(Tensor::scalar(DType::i64, 0)));
  const ValueId maps = graph.must_add(ops::MapRows{}, {labels, x});
  const ValueId row = graph.must_add(ops::MapGet{}, {m, labels, none});
  const ValueId first = graph.must_add(ops::ContainerAt{}, {maps, zero});
  const ValueId values = graph.must_add(ops::MapValues{}, {first});
  graph.set_outputs({{"maps", maps}, {"row", row}, {"same", m}, {"values", values}});
  return graph;
}

TEST(Maps, AreDescribed) {
  const auto model = compile_and_open(map_graph(DType::str));
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(model->input(0).kind, INGOT_KIND_MAP);
  EXPECT_EQ(model->input(0).dtype, INGOT_FLOAT32);
  EXPECT_EQ(model->input(0).key_dtype, INGOT_STRING);
  EXPECT_EQ(model->input(1).key_dtype, 0);
  EXPECT_EQ(model->output(0).kind, INGOT_KIND_SEQUENCE);
  EXPECT_EQ(model->output(0).element_kind, INGOT_KIND_MAP);
  EXPECT_EQ(model->output(0).dtype, INGOT_FLOAT32);
  EXPECT_EQ(model->output(0).key_dtype, INGOT_STRING);
}

TEST(Maps, GoInAndOut) {
  const std::vector<std::string> texts = {"b", "", std::string("\0\xFF", 2)}, more = {"", "c", "b"};
  for (const bool of_strings : {false, true}) {
    const Graph graph = map_graph(of_strings ? DType::str : DType::i64);
    const auto model = compile_and_open(graph);
    ASSERT_TRUE(model) << to_text(model.error());
    const Tensor labels = of_strings ? Tensor::of_strings({3}, texts) : Tensor::of_ints({9, -4, 0});
    const Tensor keys = of_strings ? Tensor::of_strings({3}, more) : Tensor::of_ints({-4, 8, 9});
    const Tensor map = Tensor::container({keys, tensor_of(DType::f32, {3}, {1, 2, 3})});
    for (const int64_t rows : {1, 5}) {
      Tensor x(DType::f32, {rows, 3});
      for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, static_cast<double>(k) / 4);
      const std::vector<Tensor> inputs = {map, labels, x};
      const auto expected = Interpreter(graph).run(inputs);
      ASSERT_TRUE(expected) << to_text(expected.error());
      const auto got = run_model(*model, inputs);
      ASSERT_TRUE(got) << to_text(got.error());
      EXPECT_TRUE(is_same(*got, *expected));
    }
  }
}

}  // namespace
}  // namespace ingot
