// ops/read_size_test.cc: literal cases and the numbered constraints.
#include "ops/read_size.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

int64_t size_read(double value) {
  const Tensor y =
      run_reference(ReadSize{}, std::make_shared<ExprPool>(), {tensor_of(DType::i64, {}, {value})});
  EXPECT_EQ(y.size(), 0);
  return y.dim(0) - ReadSize::kOffset;
}

TEST(ReadSize, SaysTheNumber) {
  EXPECT_EQ(size_read(0), 0);
  EXPECT_EQ(size_read(17), 17);
  EXPECT_EQ(size_read(-3), -3);
  EXPECT_EQ(size_read(1e15), kMaxDim);  // the end of a slice that means "all"
  EXPECT_EQ(size_read(-1e15), -kMaxDim);
}

TEST(ReadSize, Infer) {
  ExprPool pool;
  EXPECT_EQ(infer_text(ReadSize{}, pool, {"i64[]"}), "b8[size, 0]");
  EXPECT_EQ(infer_text(ReadSize{}, pool, {"i32[]"}), "read_size: x: expected i64, got i32");  // C1
}

}  // namespace
}  // namespace ingot::ops
