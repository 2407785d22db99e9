// base/interned.cc: the table of all texts that tensors have held.
#include "base/interned.h"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/check.h"

namespace ingot {
namespace {

struct Table {
  std::mutex mutex;                      // guards both
  std::deque<std::string> texts = {""};  // by number; elements never move
  std::unordered_map<std::string_view, int64_t> numbers = {{"", 0}};
};

Table& table() {
  static Table* const kTable = new Table;  // outlives every other static object
  return *kTable;
}

}  // namespace

int64_t intern(std::string_view text) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.numbers.find(text); found != all.numbers.end()) return found->second;
  const auto number = static_cast<int64_t>(all.texts.size());
  all.numbers.emplace(all.texts.emplace_back(text), number);
  return number;
}

const std::string& interned(int64_t number) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  CHECK(number >= 0 && number < static_cast<int64_t>(all.texts.size()), "interned: no text ",
        number);
  return all.texts[static_cast<size_t>(number)];
}

}  // namespace ingot
