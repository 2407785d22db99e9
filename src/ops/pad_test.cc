// ops/pad_test.cc: literal cases and the numbered constraints.
#include "ops/pad.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

std::vector<double> padded(const std::string& mode, int64_t begin, int64_t end) {
  const auto pool = std::make_shared<ExprPool>();
  const Pad op{{pool->integer(begin)}, {pool->integer(end)}, mode};
  return values_of(run_reference(op, pool, {tensor_of(DType::f32, {3}, {1, 2, 3})}));
}

// Expected values: numpy.pad.
TEST(Pad, Modes) {
  EXPECT_EQ(padded("constant", 1, 2), (std::vector<double>{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(padded("edge", 2, 1), (std::vector<double>{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("reflect", 2, 2), (std::vector<double>{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("reflect", 5, 0), (std::vector<double>{2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(padded("wrap", 2, 4), (std::vector<double>{2, 3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(Pad, TakesItsValue) {
  const auto pool = std::make_shared<ExprPool>();
  const Pad op{{pool->integer(1)}, {pool->integer(0)}};
  EXPECT_EQ(values_of(run_reference(
                op, pool, {tensor_of(DType::i8, {1}, {1}), tensor_of(DType::i8, {}, {-7})})),
            (std::vector<double>{-7, 1}));
}

TEST(Pad, Infer) {
  ExprPool pool;
  const Expr one = pool.integer(1);
  EXPECT_EQ(infer_text(Pad{{one}, {pool.symbol("n")}}, pool, {"f32[2]"}), "f32[n + 3]");
  EXPECT_EQ(infer_text(Pad{{one}, {one, one}}, pool, {"f32[2]"}),  // C1
            "pad: expected 1 begins and ends, got {1} and {1, 1}");
  EXPECT_EQ(infer_text(Pad{{pool.integer(-1)}, {one}}, pool, {"f32[2]"}),  // C1
            "pad: begin and end: pad: expected dims between 0 and 2147483647, got [-1]");
  EXPECT_EQ(infer_text(Pad{{one}, {one}, "mirror"}, pool, {"f32[2]"}),  // C2
            "pad: expected mode constant, reflect, edge or wrap, got 'mirror'");
  EXPECT_EQ(infer_text(Pad{{one}, {one}}, pool, {"f32[2]", "f32[1]"}),  // C3
            "pad: expected value of rank 0, got f32[1]");
  EXPECT_EQ(infer_text(Pad{{one}, {one}, "edge"}, pool, {"f32[2]", "f32[]"}),  // C3
            "pad: expected a value for mode constant only, got mode edge");
  EXPECT_EQ(infer_text(Pad{{one}, {one}, "edge"}, pool, {"f32[0]"}),  // C4
            "pad: expected elements to repeat along axis 0, got f32[0]");
}

}  // namespace
}  // namespace ingot::ops
