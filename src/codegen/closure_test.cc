// codegen/closure_test.cc: epilogues without the names of one kernel.
#include "codegen/closure.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

const Captures kScope = {{"x_1", "const f32*"},
                         {"bias_2", "const f32*"},
                         {"y_3", "f32*"},
                         {"rows_s0", "i64"},
                         {"y_30", "f32*"}};

TEST(Closure, CapturesBuffersSymbolsAndFactors) {
  const Closure c = close_epilogue(
      "    const auto t0 = (acc + load_partial(bias_2 + n, count));\n"
      "    store_partial(y_3 + (((m * 64) + n) + rows_s0), t0, count);\n",
      kScope);
  EXPECT_EQ(c.arguments, "{bias_2, y_3, 64, rows_s0}");
  EXPECT_EQ(c.definition, "struct " + c.type + R"( {
  const f32* own0;
  f32* own1;
  i64 own2;
  i64 own3;
  INGOT_MEMBER void operator()([[maybe_unused]] i64 m, [[maybe_unused]] i64 n, vf32 acc, i64 count) const {
    const auto t0 = (acc + load_partial(own0 + n, count));
    store_partial(own1 + (((m * own2) + n) + own3), t0, count);
  }
};
)");
}

TEST(Closure, SameArithmeticIsTheSameType) {
  const auto of = [](const char* text) { return close_epilogue(text, kScope).type; };
  const std::string first = of("store_partial(y_3 + ((m * 64) + n), acc, count);\n");
  EXPECT_EQ(of("store_partial(y_30 + ((m * 128) + n), acc, count);\n"), first);
  EXPECT_EQ(of("const auto t7 = -acc;\nstore(y_3, t7);\n"),
            of("const auto t1 = -acc;\nstore(y_30, t1);\n"));
  EXPECT_NE(of("store_partial(y_30 + ((m * 128) + n), -acc, count);\n"), first);
  // A constant divides faster, so it stays.
  EXPECT_NE(of("store_partial(y_3 + (m / 49), acc, count);\n"),
            of("store_partial(y_3 + (m / 50), acc, count);\n"));
}

TEST(Closure, NumbersThatAreNoFactorsStay) {
  const Closure c =
      close_epilogue("store_partial(y_3 + n, acc * 2.5f + splat<W>(16.0f), count);\n", kScope);
  EXPECT_EQ(c.arguments, "{y_3}");
  EXPECT_NE(c.definition.find("acc * 2.5f + splat<W>(16.0f)"), std::string::npos);
}

}  // namespace
}  // namespace ingot
