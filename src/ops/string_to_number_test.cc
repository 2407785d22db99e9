// ops/string_to_number_test.cc
#include <gtest/gtest.h>

#include "ops/strings.h"
#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// The number that the reference reads, or what it says.
std::string number_text(DType dtype, std::string text) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType{DType::str, {}});
  graph.set_outputs({{"y", graph.must_add(StringToNumber{dtype}, {x})}});
  const auto y = Interpreter(graph).run(
      std::vector{Tensor::of_strings({}, std::vector<std::string>{std::move(text)})});
  return y ? concat(values_of((*y)[0])) : to_text(y.error());
}

TEST(StringToNumber, ReadsDecimals) {
  EXPECT_EQ(number_text(DType::f64, " 1.5e3 "), "[1500]");
  EXPECT_EQ(number_text(DType::f32, "-inf"), "[-inf]");
  EXPECT_EQ(number_text(DType::f32, "NaN"), "[nan]");
  EXPECT_EQ(number_text(DType::i64, "\t-12"), "[-12]");
  EXPECT_EQ(number_text(DType::u64, "+7\n"), "[7]");
  EXPECT_EQ(number_text(DType::i64, "100.5"), "[100]");  // ONNX Cast's own example
  EXPECT_EQ(number_text(DType::i64, "-1.9e1"), "[-19]");
  EXPECT_EQ(number_text(DType::i64, "-9.223372036854775808e18"), "[-9.223372036854776e+18]");
  EXPECT_EQ(number_text(DType::u64, ".5"), "[0]");
}

TEST(StringToNumber, EndsTheRun) {
  const auto refused = [](std::string_view text) {
    return "string_to_number: expected the text of a number, got " + std::string(text);
  };
  EXPECT_EQ(number_text(DType::f32, ""), refused("\"\""));
  EXPECT_EQ(number_text(DType::f32, "1,5"), refused("\"1,5\""));
  EXPECT_EQ(number_text(DType::i64, "1.5x"), refused("\"1.5x\""));
  EXPECT_EQ(number_text(DType::i64, "inf"), refused("\"inf\""));
  EXPECT_EQ(number_text(DType::i64, "nan"), refused("\"nan\""));
  EXPECT_EQ(number_text(DType::i64, "9.3e18"), refused("\"9.3e18\""));
  EXPECT_EQ(number_text(DType::i64, "-9223372036854777856.5"),
            refused("\"-9223372036854777856.5\""));
  EXPECT_EQ(number_text(DType::u64, "1e20"), refused("\"1e20\""));
  EXPECT_EQ(number_text(DType::u64, "-0.5"), refused("\"-0.5\""));
  EXPECT_EQ(number_text(DType::i64, "9223372036854775808"), refused("\"9223372036854775808\""));
  EXPECT_EQ(number_text(DType::u64, "-1"), refused("\"-1\""));
  EXPECT_EQ(number_text(DType::f64, std::string("1\0", 2)), refused("\"1\\000\""));
}

TEST(StringToNumber, Refuses) {
  ExprPool pool;
  EXPECT_EQ(infer_text(StringToNumber{}, pool, {"f32[2]"}),  // C1
            "string_to_number: expected x to be strings, got f32");
  EXPECT_EQ(infer_text(StringToNumber{DType::b8}, pool, {"str[2]"}),  // C2
            "string_to_number: expected f32, f64, i64 or u64, got b8");
}

}  // namespace
}  // namespace ingot::ops
