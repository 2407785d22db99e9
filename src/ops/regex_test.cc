// ops/regex_test.cc: patterns against what RE2 documents, and what Python's re answers.
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
  EXPECT_EQ(error("(a{1000}){1000}"), "pattern \"(a{1000}){1000}\": its automaton is too large");
  EXPECT_EQ(error("(a|b)*a(a|b){20}"), "pattern \"(a|b)*a(a|b){20}\": its automaton is too large");
}

}  // namespace
}  // namespace ingot::ops
