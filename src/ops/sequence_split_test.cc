// ops/sequence_split_test.cc
#include <gtest/gtest.h>

#include "ops/containers.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// The dims of the pieces of i64[2, 5].
std::string pieces(SequenceSplit op, const Tensor& size) {
  Graph graph;
  const ValueId x = graph.add_input(
      "x", TensorType{DType::i64, {graph.pool().integer(2), graph.pool().integer(5)}});
  std::vector<ValueId> inputs = {x};
  std::vector<Tensor> given = {Tensor(DType::i64, {2, 5})};
  if (op.has_sizes) {
    TensorType type{DType::i64, {}};
    for (const int64_t dim : size.dims()) type.dims.push_back(graph.pool().integer(dim));
    inputs.push_back(graph.add_input("size", type));
    given.push_back(size);
  }
  graph.set_outputs({{"y", graph.must_add(op, inputs)}});
  const auto y = Interpreter(graph).run(given);
  if (!y) return to_text(y.error());
  std::string text;
  for (const Tensor& item : (*y)[0].items()) text += concat(item.dims(), " ");
  return text;
}

TEST(SequenceSplit, CutsByOneSizeByManyOrToSingles) {
  EXPECT_EQ(pieces({1, true, true}, Tensor::scalar(DType::i64, 2)), "[2, 2] [2, 2] [2, 1] ");
  EXPECT_EQ(pieces({-1, true, true}, Tensor::of_ints({1, 0, 4})), "[2, 1] [2, 0] [2, 4] ");
  EXPECT_EQ(pieces({0, true, false}, {}), "[1, 5] [1, 5] ");
  EXPECT_EQ(pieces({0, false, false}, {}), "[5] [5] ");
}

TEST(SequenceSplit, EndsTheRun) {
  EXPECT_EQ(pieces({1, true, true}, Tensor::scalar(DType::i64, 0)),
            "sequence_split: expected a size above 0, got 0");
  EXPECT_EQ(pieces({1, true, true}, Tensor::of_ints({2, 2})),
            "sequence_split: expected sizes that add up to 5, got [2, 2]");
  EXPECT_EQ(pieces({1, true, true}, Tensor::of_ints({6, -1})),
            "sequence_split: expected sizes that add up to 5, got [6, -1]");
}

TEST(SequenceSplit, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(SequenceSplit{.axis = 2}, pool, {"f32[2, n]"}),  // C1
            "sequence_split: expected an axis in [-2, 2), got 2");
  EXPECT_EQ(infer_text(SequenceSplit{0, true, true}, pool, {"f32[n]", "i64[2, 2]"}),  // C2
            "sequence_split: size: expected i64[] or i64[n], got i64[2, 2]");
}

}  // namespace
}  // namespace ingot::ops
