// base/letter_case_test.cc: expected cases are those of the Unicode character database.
#include "base/letter_case.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(LetterCase, MapsOneForOne) {
  EXPECT_EQ(upper_case('a'), uint32_t{'A'});
  EXPECT_EQ(lower_case(0xC4), 0xE4u);    // Ä
  EXPECT_EQ(upper_case(0xFF), 0x178u);   // ÿ
  EXPECT_EQ(lower_case(0x130), 0x130u);  // İ has no lower case of one code point
  EXPECT_EQ(upper_case(0xDF), 0xDFu);    // ß likewise
  EXPECT_EQ(upper_case(0x101), 0x100u);  // every other one of a block
  EXPECT_EQ(lower_case(0x101), 0x101u);
  EXPECT_EQ(lower_case(0x10400), 0x10428u);
  EXPECT_EQ(to_upper("a\xFF\xC3\xA4"), "A\xFF\xC3\x84");
}

TEST(LetterCase, DecodesNothingButUtf8) {
  for (const std::string_view bad : {"", "\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(decode_rune(bad)) << bad;
  }
  for (const uint32_t rune : {0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    append_rune(rune, text);
    const auto decoded = decode_rune(text);
    ASSERT_TRUE(decoded) << rune;
    EXPECT_EQ(decoded->rune, rune);
    EXPECT_EQ(decoded->bytes, text.size());
  }
}

}  // namespace
}  // namespace ingot
