// ir/tensor_test.cc: storage bytes of every dtype.
#include "ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ingot {
namespace {

std::vector<int> bytes_of(const Tensor& tensor) {
  std::vector<int> result;
  for (const std::byte b : tensor.to_bytes()) result.push_back(static_cast<int>(b));
  return result;
}

Tensor tensor_of(DType dtype, const std::vector<double>& values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

TEST(TensorBytes, AreLittleEndianStorage) {
  EXPECT_EQ(bytes_of(tensor_of(DType::i32, {1, -2})),
            (std::vector<int>{1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(bytes_of(tensor_of(DType::f32, {1})), (std::vector<int>{0, 0, 0x80, 0x3F}));
  EXPECT_EQ(bytes_of(tensor_of(DType::f16, {1, -2})), (std::vector<int>{0, 0x3C, 0, 0xC0}));
  EXPECT_EQ(bytes_of(tensor_of(DType::bf16, {1})), (std::vector<int>{0x80, 0x3F}));
  EXPECT_EQ(bytes_of(tensor_of(DType::b8, {1, 0})), (std::vector<int>{1, 0}));
}

TEST(TensorBytes, PackSmallElementsLowNibbleFirst) {
  EXPECT_EQ(bytes_of(tensor_of(DType::u4, {1, 2, 15})), (std::vector<int>{0x21, 0x0F}));
  EXPECT_EQ(bytes_of(tensor_of(DType::i4, {-1, 7})), (std::vector<int>{0x7F}));
  EXPECT_EQ(bytes_of(tensor_of(DType::u2, {0, 1, 2, 3, 1})), (std::vector<int>{0xE4, 0x01}));
}

TEST(TensorBytes, ReadBackForEveryDType) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.kind == DTypeKind::kString || row.kind == DTypeKind::kComplex) continue;
    const Tensor tensor = tensor_of(row.dtype, {1, 0.5, 0, 1, 1});
    const auto back = Tensor::from_bytes(row.dtype, {5}, tensor.to_bytes());
    ASSERT_TRUE(back) << row.name << ": " << to_text(back.error());
    EXPECT_EQ(back->to_bytes(), tensor.to_bytes()) << row.name;
    if (is_float(row.dtype)) {
      EXPECT_EQ(back->real(1), 0.5) << row.name;
    }
    EXPECT_EQ(back->real(3), 1) << row.name;
  }
}

TEST(TensorBytes, SignExtendAndWrap) {
  const Tensor tensor = tensor_of(DType::i4, {-8, 7});
  const auto back = Tensor::from_bytes(DType::i4, {2}, tensor.to_bytes());
  EXPECT_EQ(back->integer(0), -8);
  EXPECT_EQ(back->integer(1), 7);
  Tensor byte(DType::u8, {1});
  byte.set_integer(0, 257);
  EXPECT_EQ(byte.integer(0), 1);
}

TEST(TensorBytes, RefuseSizesThatDoNotFit) {
  const std::vector<std::byte> six(6);
  EXPECT_FALSE(Tensor::from_bytes(DType::f32, {2}, six));
  EXPECT_FALSE(Tensor::from_bytes(DType::f32, {-1}, six));
  EXPECT_FALSE(Tensor::from_bytes(DType::u8, {int64_t{1} << 31, int64_t{1} << 31, 4}, six));
  EXPECT_FALSE(Tensor::from_bytes(DType::str, {1}, six));
}

TEST(Tensor, ConvertsBetweenRealsAndIntegers) {
  const Tensor x = tensor_of(DType::f32, {2.9, -2.9, NAN, 1e30});
  EXPECT_EQ(x.integer(0), 2);
  EXPECT_EQ(x.integer(1), -2);
  EXPECT_EQ(x.integer(2), 0);
  EXPECT_EQ(x.integer(3), std::numeric_limits<int64_t>::max());
  Tensor u(DType::u64, {1});
  u.set_integer(0, -1);
  EXPECT_EQ(u.real(0), 18446744073709551615.0);
}

TEST(Tensor, WalksRowMajor) {
  std::vector<std::vector<int64_t>> seen;
  const std::vector<int64_t> dims = {2, 2};
  for_each_index(dims, [&](int64_t, std::span<const int64_t> index) {
    seen.emplace_back(index.begin(), index.end());
  });
  EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(strides_of(std::vector<int64_t>{2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(count_of(std::vector<int64_t>{2, 0}), 0);
}

}  // namespace
}  // namespace ingot
