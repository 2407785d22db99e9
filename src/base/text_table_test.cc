// base/text_table_test.cc: what src/artifact finds in a table is in its own tests.
#include "base/text_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace ingot {
namespace {

TEST(TextTable, HashesTellTextsApart) {
  // Zeros at the end count, and so does each byte of a long text.
  const std::string bytes = "0123456789abcdefg";
  std::set<uint64_t> hashes;
  for (size_t k = 0; k <= bytes.size(); ++k) {
    hashes.insert(hash_for_table(bytes.substr(0, k), 3));
    hashes.insert(hash_for_table(std::string(k, '\0'), 3));
    if (k == bytes.size()) break;
    std::string other = bytes;
    other[k] ^= 1;
    hashes.insert(hash_for_table(other, 3));
  }
  EXPECT_EQ(hashes.size(), 18 + 17 + 17);  // both empty texts are one
  EXPECT_NE(hash_for_table("a", 0), hash_for_table("a", 1));
}

// Texts made to collide in a hash whose steps forget the seed: a difference that multiplication
// leaves where it is, taken back by the next word; a length that the first word takes back.
TEST(TextTable, NoTextsCollideWithEverySeed) {
  std::string high(16, 'x'), low = high;
  low[7] ^= '\x80';
  low[15] ^= '\x80';
  low[11] ^= '\x80';
  const std::vector<std::string> texts = {"\x03", std::string(2, '\0'), high, low};
  EXPECT_FALSE(text_table(texts).empty());
}

TEST(TextTable, HoldsARowForEachText) {
  const std::vector<std::string> texts = {"", "a", "b"};
  const std::string table = text_table(texts);
  EXPECT_EQ(table.size(), 16 + 8 * 2 + 4 * 16);
  std::multiset<int> rows;
  for (size_t k = 0; k < 16; ++k) {
    int32_t row;
    std::memcpy(&row, table.data() + 32 + 4 * k, sizeof row);
    rows.insert(row);
  }
  EXPECT_EQ(rows.count(-1), 13);
  EXPECT_EQ(std::multiset<int>(rows.upper_bound(-1), rows.end()), (std::multiset<int>{0, 1, 2}));
}

}  // namespace
}  // namespace ingot
