// ops/container_length_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

TEST(ContainerLength, TakesContainersAlone) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ContainerLength{}, pool, {"sequence(f32[])"}), "i64[]");
  EXPECT_EQ(infer_text(ContainerLength{}, pool, {"map(i64, f32[])"}),  // C1
            "container_length: x: expected a sequence or optional, got map(i64, "
            "f32[])");
}

TEST(ContainerLength, CountsWhatIsOfItsTypeAlone) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::f32, {}}));
  graph.set_outputs({{"n", graph.must_add(ContainerLength{}, {s})}});
  const auto count = [&](Tensor given) {
    const auto n = Interpreter(graph).run(std::vector{std::move(given)});
    return n ? concat(values_of((*n)[0])) : to_text(n.error());
  };
  const Tensor item = Tensor::scalar(DType::f32, 1);
  EXPECT_EQ(count(Tensor::container({item, item})), "[2]");
  const std::string refused = "input 's': expected sequence(f32[]), got other items";
  EXPECT_EQ(count(Tensor(DType::u64, {})), refused);
  EXPECT_EQ(count(Tensor::container({Tensor::scalar(DType::i64, 1)})), refused);
  EXPECT_EQ(count(Tensor::container({Tensor::container({item})})), refused);
}

}  // namespace
}  // namespace ingot::ops
