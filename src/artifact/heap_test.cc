// artifact/heap_test.cc: a collection frees what nothing refers to, and nothing else.
#include "artifact/heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ingot::artifact {
namespace {

ingot_string* make_string(RunHeap& heap, const char* text) {
  auto* bytes = static_cast<char*>(heap.allocate(static_cast<i64>(std::strlen(text))));
  std::memcpy(bytes, text, std::strlen(text));
  auto* string = static_cast<ingot_string*>(heap.allocate(sizeof(ingot_string)));
  *string = {bytes, std::strlen(text)};
  return string;
}

/// A sequence of one tensor of one string.
ingot_container* make_sequence(RunHeap& heap, const ingot_string& text) {
  auto* memory = static_cast<u8*>(heap.allocate(64 + sizeof(ingot_string)));
  auto* strings = reinterpret_cast<ingot_string*>(memory + 64);
  *strings = text;
  auto* made =
      static_cast<ingot_container*>(heap.allocate(sizeof(ingot_container) + sizeof(ingot_tensor)));
  *made = {sizeof *made, 1, reinterpret_cast<ingot_tensor*>(made + 1)};
  made->items[0] = {};
  made->items[0].struct_size = sizeof(ingot_tensor);
  made->items[0].dtype = INGOT_STRING;
  made->items[0].dims = reinterpret_cast<int64_t*>(memory);
  made->items[0].data = strings;
  return made;
}

TEST(RunHeap, KeepsWhatIsReachedAndFreesTheRest) {
  RunHeap heap;
  make_string(heap, "before");
  const i64 before = heap.bytes();
  RunHeap::Block* const mark = heap.mark();
  const ingot_string* kept = make_string(heap, "kept");
  const i64 one = heap.bytes() - before;
  make_string(heap, "lost");
  const ingot_container* sequence = make_sequence(heap, *make_string(heap, "held"));
  make_sequence(heap, *kept);
  ASSERT_TRUE(heap.collect(mark, [&] {
    heap.keep_container(sequence);
    const std::vector<const ingot_string*> handles = {nullptr, kept, kept};
    heap.keep_strings(handles.data(), static_cast<i64>(handles.size()));
  }));
  EXPECT_EQ(std::string_view(kept->data, kept->length), "kept");
  const auto& held = *static_cast<const ingot_string*>(sequence->items[0].data);
  EXPECT_EQ(std::string_view(held.data, held.length), "held");
  EXPECT_GT(heap.bytes(), before + one);
  ASSERT_TRUE(heap.collect(mark, [] {}));
  EXPECT_EQ(heap.bytes(), before) << "what is older than the mark stays";
}

TEST(RunHeap, FindsHandlesIntoItems) {
  RunHeap heap;
  const ingot_container* sequence = make_sequence(heap, *make_string(heap, "held"));
  const auto* handle = static_cast<const ingot_string*>(sequence->items[0].data);
  ASSERT_TRUE(heap.collect(nullptr, [&] { heap.keep_strings(&handle, 1); }));
  EXPECT_EQ(std::string_view(handle->data, handle->length), "held");
}

TEST(RunHeap, RefusesMoreThanThereIs) {
  RunHeap heap;
  EXPECT_EQ(heap.allocate(kTooManyBytes), nullptr);
  EXPECT_EQ(heap.bytes(), 0);
}

}  // namespace
}  // namespace ingot::artifact
