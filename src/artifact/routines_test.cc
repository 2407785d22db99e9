// artifact/routines_test.cc: each routine on literals, as a step calls it.
#include "artifact/routines.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ingot/ingot.h"

namespace ingot::artifact {
namespace {

// Calls nonzero() on elements of type T; the result row by row.
template <class T>
std::vector<i64> nonzero(i32 dtype, std::vector<i64> dims, const std::vector<T>& x) {
  struct Call {
    std::vector<i64> y;
    i64 symbols[4] = {-1, -1, -1, -1};
    void* values[2];
    u32 rank;
  } call;
  call.rank = static_cast<u32>(dims.size());
  call.values[0] = const_cast<T*>(x.data());
  const char* error = nullptr;
  RoutineArgs args = {};
  args.values = call.values;
  args.symbols = call.symbols;
  args.allocate_outputs = [](void* run) {
    Call& c = *static_cast<Call*>(run);
    c.y.assign(static_cast<size_t>(c.rank * c.symbols[2]), -9);
    c.values[1] = c.y.data();
    return 1;
  };
  args.run = &call;
  args.error = &error;
  args.first_symbol = 2;
  const RoutineTensor input = {dtype, call.rank, dims.data()};
  EXPECT_EQ(ingot_nonzero(args, &input), INGOT_OK) << error;
  return call.y;
}

TEST(Nonzero, ListsIndicesInRowMajorOrder) {
  EXPECT_EQ(nonzero<i32>(INGOT_INT32, {2, 3}, {0, 5, 0, -1, 0, 7}),
            (std::vector<i64>{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(nonzero<u8>(INGOT_BOOL, {4}, {0, 1, 1, 0}), (std::vector<i64>{1, 2}));
}

TEST(Nonzero, NegativeZeroIsZeroAndNanIsNot) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(nonzero<float>(INGOT_FLOAT32, {4}, {-0.0f, nan, 0, 1e-45f}), (std::vector<i64>{1, 3}));
  EXPECT_EQ(nonzero<double>(INGOT_FLOAT64, {2}, {-0.0, 1}), (std::vector<i64>{1}));
  EXPECT_EQ(nonzero<uint16_t>(INGOT_BFLOAT16, {2}, {0x8000, 1}), (std::vector<i64>{1}));
  // In the FNUZ format the bits of negative zero are its NaN.
  EXPECT_EQ(nonzero<u8>(INGOT_FLOAT8E4M3FN, {1}, {0x80}), (std::vector<i64>{}));
  EXPECT_EQ(nonzero<u8>(INGOT_FLOAT8E4M3FNUZ, {1}, {0x80}), (std::vector<i64>{0}));
}

TEST(Nonzero, ReadsPackedElements) {
  EXPECT_EQ(nonzero<u8>(INGOT_INT4, {3}, {0xf0, 0x01}), (std::vector<i64>{1, 2}));
}

TEST(Nonzero, TakesScalarsAndNothing) {
  EXPECT_EQ(nonzero<i64>(INGOT_INT64, {}, {3}), std::vector<i64>{});  // [0, 1]
  EXPECT_EQ(nonzero<i64>(INGOT_INT64, {0, 5}, {}), std::vector<i64>{});
}

TEST(Nonzero, RefusesStrings) {
  const char* error = nullptr;
  RoutineArgs args = {};
  args.error = &error;
  const i64 dims[1] = {1};
  const RoutineTensor input = {INGOT_STRING, 1, dims};
  EXPECT_EQ(ingot_nonzero(args, &input), INGOT_UNSUPPORTED);
  EXPECT_STREQ(error, "nonzero: the element type is not supported");
}

}  // namespace
}  // namespace ingot::artifact
