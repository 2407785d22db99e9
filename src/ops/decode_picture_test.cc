// ops/decode_picture_test.cc: literal cases and the numbered constraints; src/picture has the rest.
#include "ops/decode_picture.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

Tensor decode(std::string_view file, int64_t pixels) {
  const auto x = Tensor::from_bytes(DType::u8, {static_cast<int64_t>(file.size())},
                                    std::as_bytes(std::span(file)));
  return run_reference(DecodePicture{pixels}, std::make_shared<ExprPool>(), {*x});
}

TEST(DecodePicture, OrdersColours) {
  constexpr std::string_view kFile = "P6 1 2 255\n\x01\x02\x03\x7f\x7f\x7f";
  const Tensor y = decode(kFile, 0);
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(values_of(y), (std::vector<double>{1, 2, 3, 127, 127, 127}));
  EXPECT_EQ(values_of(decode(kFile, 1)), (std::vector<double>{3, 2, 1, 127, 127, 127}));
  EXPECT_EQ(decode(kFile, 2).dims(), (std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(values_of(decode(kFile, 2)), (std::vector<double>{2, 127}));
}

TEST(DecodePicture, WhatIsNoPictureHasNoPixels) {
  EXPECT_EQ(decode("", 2).dims(), (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(decode("P6 1 2 255\n", 0).dims(), (std::vector<int64_t>{0, 0, 3}));
}

TEST(DecodePicture, Constraints) {
  ExprPool pool;
  std::vector<Type> types = {*parse_type("u8[9]", pool)};
  InferContext ctx{pool, types, {true}, {}};
  const auto out = DecodePicture{}.infer(ctx);
  ASSERT_TRUE(out);
  EXPECT_TRUE(pool.symbol_info((*out)[0].tensor.dims[1].symbol()).data_dependent);
  EXPECT_EQ(infer_text(DecodePicture{}, pool, {"u8[1, 1]"}),  // C1
            "decode_picture: expected x of rank 1, got u8[1, 1]");
  EXPECT_EQ(infer_text(DecodePicture{}, pool, {"i8[1]"}),  // C1
            "decode_picture: x: expected u8, got i8");
  EXPECT_EQ(infer_text(DecodePicture{3}, pool, {"u8[1]"}),  // C2
            "decode_picture: pixels: expected 0 to 2, got 3");
}

}  // namespace
}  // namespace ingot::ops
