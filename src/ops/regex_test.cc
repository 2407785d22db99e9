// ops/regex_test.cc: patterns against RE2's answers.
#include "ops/regex.h"

#include <gtest/gtest.h>

namespace ingot::ops {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto table = compile_regex(pattern);
  EXPECT_TRUE(table) << to_text(table.error());
  return table && table->matches(text);
}

struct Row {
  std::string_view pattern;
  std::vector<std::string_view> good;
  std::vector<std::string_view> bad;
};

TEST(Regex, Matches) {
  const Row rows[] = {
      {"", {""}, {"a"}},
      {"a|bc", {"a", "bc"}, {"", "ab", "b"}},
      {"a*b+c?", {"b", "aabbc"}, {"a", "bcc"}},
      {"(ab)*", {"", "abab"}, {"aba"}},
      {"(?:a|b){2,3}", {"ab", "bab"}, {"a", "abab"}},
      {"a{2}", {"aa"}, {"a", "aaa"}},
      {"a{2,}", {"aa", "aaaa"}, {"a"}},
      {"a{,2}", {"a{,2}"}, {"aa"}},
      {"x{0}y", {"y"}, {"xy"}},
      {"a.c",
       {"abc",
        "a\xE2\x82\xAC"
        "c"},
       {"ac", "a\nc",
        "a\xFF"
        "c"}},
      {"(?s)a.c", {"a\nc"}, {}},
      {"(?i)stra\xC3\x9F"
       "e",
       {"STRA\xC3\x9F"
        "E",
        "Stra\xC3\x9F"
        "e"},
       {"STRASSE"}},
      {"(?i:a)b", {"Ab", "ab"}, {"AB"}},
      {"(a(?i)b)c", {"abc", "aBc"}, {"aBC", "Abc"}},
      {"a|(?i)b|c", {"a", "B", "C"}, {"A"}},
      {"(?i)sk", {"SK", "\xC5\xBF\xE2\x84\xAA"}, {}},
      {"(?P<name>a)(?<other>b)", {"ab"}, {"a"}},
      {"[a-c]", {"a", "c"}, {"d", ""}},
      {"[^a-c]", {"d", "\xC3\x84"}, {"a"}},
      {"[]a]", {"]", "a"}, {"b"}},
      {"[a-]", {"-", "a"}, {"b"}},
      {"[[:digit:]x]+", {"1x2"}, {"y"}},
      {"[[:^digit:]]", {"x"}, {"1"}},
      {"\\d\\D\\w\\W\\s\\S", {"1aa- a", "1a_- x"}, {"1aa a"}},
      {"[\\d.]+", {"1.5"}, {"a"}},
      {"\\x41\\x{20AC}", {"A\xE2\x82\xAC"}, {}},
      {"\\Qa.b\\E+", {"a.b", "a.bb"}, {"aab", "a.b+", "a.ba.b"}},
      {"a\\Q*b", {"a*b"}, {"ab"}},
      {"\\.\\*\\\\", {".*\\"}, {}},
      {"^a$", {"a"}, {"aa"}},
      {"\\Aa\\z", {"a"}, {}},
      {"a^b", {}, {"ab", "a^b"}},
      {"(^a|b)*", {"ab", "b", "abb"}, {"ba"}},
      {"a*?b+?", {"b", "aabb"}, {"a"}},
      {"[\xC3\xA4-\xC3\xBC]+", {"\xC3\xB6\xC3\xBC"}, {"a", "\xC3\x9F"}},
      {"[\\x{10000}-\\x{10FFFF}]", {"\xF0\x9F\x98\x80"}, {"\xE2\x82\xAC"}},
      {"(a?){20}a{20}", {"aaaaaaaaaaaaaaaaaaaa"}, {"aaaaaaaaaaaaaaaaaaa"}},
      {"\\w+@\\w+\\.(com|org)", {"a@b.com"}, {"a@b.net", "@b.com"}},
      {"\\bab?\\b", {"a", "ab"}, {"", "b"}},
      {".*\\bcat\\b.*", {"cat", "a cat!", "cat\xC3\xA4"}, {"concat", "cats", "_cat"}},
      {".*\\Bcat.*", {"concat", "_cats"}, {"cat", "a cat"}},
      {"\\B", {""}, {"a"}},
      {"\\b", {}, {"", "a"}},
      {"a\\b-\\bb", {"a-b"}, {"ab"}},
      {"a\\B-|a\\bb", {}, {"a-", "ab"}},
      {"a*$^", {""}, {"a", "aa"}},
      {"(?m)^a$\n^b$", {"a\nb"}, {"a", "ab", "a\n\nb"}},
      {"(?m)a$(?s).*(?-m)$", {"a", "a\nb"}, {"ab"}},
      {"(?m)\\Aa\n^", {"a\n"}, {"a"}},
      {"(?m)(^\\b|\\b$|\n)*a?", {"a", "\na"}, {"aa"}},
      {"a(?i)*", {"", "aa"}, {"A"}},
      {"ab\\Q\\E{2}", {"abb"}, {"ab"}},
      {"\\Qab\\E{2}", {"abb"}, {"abab"}},
      {"a*(?s)+(?)?", {"", "aa"}, {"b"}},
      {"\\101\\0\\_", {std::string_view("A\0_", 3)}, {}},
      {"\\C\\C", {"\xC3\xA4", "ab", "\xFF\n"}, {"a", "\xE2\x82\xAC"}},
      {"(?i)i", {"i", "I"}, {"\xC4\xB0", "\xC4\xB1"}},
      {"(?i)\xC4\xB0", {"\xC4\xB0"}, {"i", "I", "\xC4\xB1"}},
      {"(?i)\xCE\xBC", {"\xC2\xB5", "\xCE\x9C", "\xCE\xBC"}, {"u"}},
      {"(?i)\\W", {"-"}, {"k", "\xE2\x84\xAA", "\xC5\xBF"}},
      {"(?i)[^\\W]", {"k", "\xE2\x84\xAA"}, {"-"}},
      {"(?i)[[:^word:]]", {"-"}, {"s", "\xC5\xBF"}},
      {"(?i)\xEF\xAC\x85", {"\xEF\xAC\x86"}, {"s"}},
      {".{999}", {}, {"a"}},
  };
  for (const Row& row : rows) {
    for (const std::string_view text : row.good) {
      EXPECT_TRUE(matches(row.pattern, text)) << row.pattern << " on " << text;
    }
    for (const std::string_view text : row.bad) {
      EXPECT_FALSE(matches(row.pattern, text)) << row.pattern << " on " << text;
    }
  }
}

TEST(Regex, SaysWhatIsWrong) {
  const auto error = [](std::string_view pattern) {
    const auto table = compile_regex(pattern);
    return table ? std::string("none") : to_text(table.error());
  };
  EXPECT_EQ(error("a)"), "pattern \"a)\": an unmatched ) at byte 1");
  EXPECT_EQ(error("*a"), "pattern \"*a\": nothing to repeat at byte 0");
  EXPECT_EQ(error("a|{2}"), "pattern \"a|{2}\": nothing to repeat at byte 2");
  EXPECT_EQ(error("(?i)+"), "pattern \"(\\077i)+\": nothing to repeat at byte 4");
  EXPECT_EQ(error("(?i-)a"), "pattern \"(\\077i-)a\": a - without a flag at byte 4");
  EXPECT_EQ(error("(?-s-i)a"), "pattern \"(\\077-s-i)a\": an unknown kind of group at byte 4");
  EXPECT_EQ(error("(?P<a-b>a)"), "pattern \"(\\077P<a-b>a)\": a group without a name at byte 4");
  EXPECT_EQ(error("(?<>a)"), "pattern \"(\\077<>a)\": a group without a name at byte 3");
  EXPECT_EQ(error("a**"), "pattern \"a**\": two repetitions in a row at byte 3");
  EXPECT_EQ(error("[b-a]"),
            "pattern \"[b-a]\": a range that is out of order at "
            "byte 4");
  EXPECT_EQ(error("[a"), "pattern \"[a\": a class without an end at byte 2");
  EXPECT_EQ(error("a{3,2}"),
            "pattern \"a{3,2}\": a repetition that is out of "
            "range at byte 6");
  EXPECT_EQ(error("\\1"), "pattern \"\\\\1\": an unknown escape at byte 1");
  EXPECT_EQ(error("(?=a)"),
            "pattern \"(\\077=a)\": an unknown kind of group at "
            "byte 2");
  EXPECT_EQ(error("\\pL"), "pattern \"\\\\pL\": a Unicode property at byte 1");
  EXPECT_EQ(error("(a{2}){501}"),
            "pattern \"(a{2}){501}\": repetitions that multiply out of range at byte 11");
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int k = 0; k < times; ++k) result += text;
  return result;
}

// Each of these would take minutes or gigabytes.
TEST(Regex, RefusesWhatGrowsWithoutEnd) {
  for (const std::string& pattern :
       {std::string("(a|b)*a(a|b){20}"), std::string("(.?){1000}"),
        std::string("[ab]{0,1000}[bc]{0,1000}[cd]{0,1000}"), repeated("a?", 9000),
        "(?i)" + repeated("[ -\xF4\x8F\xBF\xBF]?", 300), repeated("(.|a)?", 600)}) {
    const auto table = compile_regex(pattern);
    ASSERT_FALSE(table) << pattern.substr(0, 50);
    EXPECT_EQ(table.error().code, Code::kUnsupported) << pattern.substr(0, 50);
    EXPECT_LT(to_text(table.error()).size(), 600u);
  }
  EXPECT_FALSE(compile_regex("((((){1000}){1000}){1000}){1000}"));
  EXPECT_FALSE(compile_regex("(?i)" + repeated("\\D", 100000)));
}

}  // namespace
}  // namespace ingot::ops
