// base/text_test.cc: text functions, ids.
#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace ingot {
namespace {

TEST(Text, JoinSplitTrimIndent) {
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(join(std::vector<std::string>{}, ","), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(trim(" \t x y\n"), "x y");
  EXPECT_EQ(indent("a\n\nb\n", 2), "  a\n\n  b\n");
}

TEST(Text, QuoteLeavesNothingThatEndsTheLiteral) {
  EXPECT_EQ(quote("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(quote(std::string_view("\0"
                                   "1",
                                   2)),
            R"("\0001")");
  EXPECT_EQ(quote("?\?/"), R"("\077\077/")");
  EXPECT_EQ(quote("\xC3\xA9"), R"("\303\251")");
}

TEST(Text, UnquoteReadsBackEveryByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(unquote(quote(all)), all);
  for (const char* bad : {"", "\"", "a", "\"a", "\"a\"b\"", "\"\\\"", "\"\\9\"", "\"\\777\""}) {
    EXPECT_EQ(unquote(bad), std::nullopt) << bad;
  }
}

TEST(Text, IdentifiersAreValidInC) {
  EXPECT_EQ(to_identifier("layer1.0/conv:weight"), "layer1_0_conv_weight");
  EXPECT_EQ(to_identifier("3x"), "v3x");
  EXPECT_EQ(to_identifier(""), "v");
  EXPECT_EQ(to_identifier("___"), "v");
  EXPECT_EQ(to_identifier("int"), "int_");
  EXPECT_EQ(to_identifier("__a__b__"), "a_b");
  EXPECT_EQ(to_identifier(std::string(100, 'x')).size(), 48u);
}

TEST(Text, CommentsStayInTheirLine) {
  EXPECT_EQ(to_comment("a*/b\n#include\\"), "a* /b?#include?");
  EXPECT_EQ(to_comment("//*"), "/ / *");
  EXPECT_EQ(to_comment(std::string(200, 'x')), std::string(120, 'x') + "...");
  EXPECT_EQ(to_comment(std::string(119, 'x') + "\u00e9"), std::string(119, 'x') + "...");
}

TEST(Text, CommentsKeepLettersOfAllLanguages) {
  EXPECT_EQ(to_comment("caf\u00e9 \u753b\u50cf \U0001f600"), "caf\u00e9 \u753b\u50cf \U0001f600");
  // A control, no-break controls of C1, a zero-width space, two that turn the line's direction.
  EXPECT_EQ(to_comment("a\x1b b\u0085 c\u200b d\u202e e\u2066 f\ufeff"),
            "a? b?? c??? d??? e??? f???");
  // Not UTF-8: a lone byte, too long forms of '/', a surrogate, beyond U+10FFFF, a cut sequence.
  EXPECT_EQ(to_comment("\xff|\xc0\xaf|\xe0\x80\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe7\x94"),
            "?|??|???|???|????|??");
}

TEST(Text, NumbersAreShortAndExact) {
  EXPECT_EQ(format_number(1.0), "1.0");
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(0.1f), "0.1");
  EXPECT_EQ(format_number(1e-30), "1e-30");
  EXPECT_EQ(format_number(-0.0), "-0.0");
  EXPECT_EQ(format_number(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(format_number(std::numeric_limits<float>::quiet_NaN()), "nan");
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const double value = random.normal() * random.real(0, 1e20);
    EXPECT_EQ(parse_number(format_number(value)), value);
  }
}

TEST(Text, Bytes) {
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(2ULL << 30), "2.0 GiB");
}

TEST(Text, ParsingTakesTheWholeText) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("+12"), 12);
  for (const char* bad : {"", "1x", " 1", "1.5", "99999999999999999999", "+-1"}) {
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_number("1.5e3"), 1500);
  EXPECT_EQ(parse_number("1.5e3 "), std::nullopt);
}

TEST(Ids, AreTypedComparableAndHashable) {
  using NodeId = Id<struct NodeTag>;
  static_assert(!std::is_convertible_v<NodeId, Id<struct ValueTag>>);
  EXPECT_FALSE(NodeId().valid());
  EXPECT_EQ(to_text(NodeId()), "none");
  EXPECT_EQ(to_text(NodeId(7)), "7");
  EXPECT_LT(NodeId(1), NodeId(2));
  std::unordered_map<NodeId, int> map = {{NodeId(1), 10}, {NodeId(2), 20}};
  EXPECT_EQ(map.at(NodeId(2)), 20);
}

}  // namespace
}  // namespace ingot
