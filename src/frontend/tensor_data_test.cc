// frontend/tensor_data_test.cc: every encoding of a TensorProto, and every way to get one wrong.
#include "frontend/onnx/tensor_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/test_model.h"

namespace ingot::onnx {
namespace {

using ingot::testing::Ints;
using ingot::testing::Message;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ConstantData> decode(const std::string& bytes) {
  TRY(const TensorProto proto, read_tensor(bytes));
  return decode_tensor(proto, {});
}

std::vector<double> values(const std::string& bytes) {
  auto data = decode(bytes);
  if (!data) {
    ADD_FAILURE() << to_text(data.error());
    return {};
  }
  std::vector<double> out;
  for (int64_t k = 0; k < count_of(data->dims); ++k) {
    out.push_back(load_as_double(data->dtype, data->bytes.data(), static_cast<size_t>(k)));
  }
  return out;
}

std::string failure(const std::string& bytes) {
  auto data = decode(bytes);
  return data ? "no error" : to_text(data.error());
}

Message typed(int64_t type, const Ints& dims) {
  return Message().numbers(1, dims).number(2, type);
}

TEST(TensorData, RawData) {
  EXPECT_THAT(values(ingot::testing::floats("x", {3}, {1.5F, -2, 0})), ElementsAre(1.5, -2, 0));
}

TEST(TensorData, FloatDataPackedAndNot) {
  Message loose = typed(1, {2});
  loose.real(4, 1.5F).real(4, -3);
  EXPECT_THAT(values(loose.bytes), ElementsAre(1.5, -3));
  Message packed = typed(1, {2});
  const std::vector<float> numbers = {1.5F, -3};
  protozero::pbf_writer(packed.bytes).add_packed_float(4, numbers.begin(), numbers.end());
  EXPECT_THAT(values(packed.bytes), ElementsAre(1.5, -3));
}

TEST(TensorData, DimsNeedNotBePacked) {
  Message m;
  m.number(1, 2).number(1, 1).number(2, 7).numbers(7, {5, -6});
  EXPECT_THAT(values(m.bytes), ElementsAre(5, -6));
}

TEST(TensorData, SmallTypesInInt32Data) {
  EXPECT_THAT(values(typed(6, {2}).numbers(5, {-5, 7}).bytes), ElementsAre(-5, 7));      // int32
  EXPECT_THAT(values(typed(3, {2}).numbers(5, {-5, 127}).bytes), ElementsAre(-5, 127));  // int8
  EXPECT_THAT(values(typed(2, {1}).numbers(5, {255}).bytes), ElementsAre(255));          // uint8
  EXPECT_THAT(values(typed(4, {1}).numbers(5, {65535}).bytes), ElementsAre(65535));      // uint16
  EXPECT_THAT(values(typed(9, {3}).numbers(5, {0, 1, 7}).bytes), ElementsAre(0, 1, 1));  // bool
  EXPECT_THAT(values(typed(10, {1}).numbers(5, {0x3C00}).bytes), ElementsAre(1.0));      // float16
  EXPECT_THAT(values(typed(16, {1}).numbers(5, {0x3FC0}).bytes), ElementsAre(1.5));      // bfloat16
  EXPECT_THAT(values(typed(17, {1}).numbers(5, {0x38}).bytes), ElementsAre(1.0));        // e4m3fn
  // int4: two in each entry, the first in the low half.
  EXPECT_THAT(values(typed(22, {3}).numbers(5, {0xF1, 0x07}).bytes), ElementsAre(1, -1, 7));
}

TEST(TensorData, WideTypesInTheirFields) {
  EXPECT_THAT(values(typed(7, {2}).numbers(7, {1, -1}).bytes), ElementsAre(1, -1));
  EXPECT_THAT(values(typed(12, {1}).numbers(11, {4294967295}).bytes), ElementsAre(4294967295.0));
  EXPECT_THAT(values(typed(13, {1}).numbers(11, {3}).bytes), ElementsAre(3));
  Message doubles = typed(11, {1});
  protozero::pbf_writer(doubles.bytes).add_double(10, 0.1);
  EXPECT_THAT(values(doubles.bytes), ElementsAre(0.1));
}

TEST(TensorData, Strings) {
  auto data = decode(typed(8, {2}).texts(6, {"a", std::string("b\0c", 3)}).bytes);
  ASSERT_TRUE(data);
  EXPECT_THAT(data->strings, ElementsAre("a", std::string("b\0c", 3)));
}

TEST(TensorData, EmptyAndScalar) {
  EXPECT_TRUE(values(typed(1, {0, 5}).bytes).empty());
  EXPECT_THAT(values(ingot::testing::floats("x", {}, {4})), ElementsAre(4));
}

TEST(TensorData, ErrorsSayWhatWasExpected) {
  EXPECT_THAT(failure(ingot::testing::floats("x", {3}, {1, 2})),
              HasSubstr("expected 12 bytes of raw data for f32[3], got 8"));
  EXPECT_THAT(failure(typed(7, {3}).numbers(7, {1}).bytes),
              HasSubstr("expected 3 values of i64 for the shape [3], got 1"));
  EXPECT_THAT(failure(typed(7, {1}).numbers(5, {1}).bytes), HasSubstr("values of another type"));
  EXPECT_THAT(failure(typed(0, {1}).bytes), HasSubstr("element type from 1 to 26, got 0"));
  EXPECT_THAT(failure(typed(99, {1}).bytes), HasSubstr("got 99"));
  EXPECT_THAT(failure(typed(1, {-1}).bytes), HasSubstr("dims of 0 or more"));
  EXPECT_THAT(failure(typed(1, {1'000'000, 1'000'000}).bytes),
              HasSubstr("expected 1000000000000 values"));
  EXPECT_THAT(failure(typed(1, {int64_t{1} << 62, 4}).bytes), HasSubstr("too many elements"));
  EXPECT_THAT(failure(typed(1, {0, int64_t{1} << 31}).bytes),
              HasSubstr("dims of at most 2147483647, got [0, 2147483648]"));
  EXPECT_THAT(failure(typed(1, Ints(65, 1)).bytes), HasSubstr("at most 64 dims"));
  EXPECT_THAT(failure(typed(8, {1}).text(9, "a").bytes), HasSubstr("strings must lie"));
  EXPECT_THAT(failure(typed(1, {1}).text(3, "").bytes), HasSubstr("segments"));
}

TEST(TensorData, DamagedMessages) {
  const std::string whole = ingot::testing::floats("x", {3}, {1, 2, 3});
  EXPECT_THAT(failure(whole.substr(0, whole.size() - 1)), HasSubstr("ends too early"));
  EXPECT_THAT(failure(Message().text(2, "one").bytes), HasSubstr("wrong wire type"));
}

}  // namespace
}  // namespace ingot::onnx
