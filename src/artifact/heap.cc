// artifact/heap.cc: blocks in the order in which they were made.
#include "artifact/heap.h"

#include <stdlib.h>

namespace ingot::artifact {

struct alignas(kAlignment) RunHeap::Block {
  Block* older;
  i64 bytes;
  bool reached;

  bool holds(const void* address) const {
    const u8* at = static_cast<const u8*>(address);
    const u8* begin = reinterpret_cast<const u8*>(this + 1);
    return at >= begin && at < begin + bytes;
  }
};

namespace {

int by_address(const void* a, const void* b) {
  const auto left = reinterpret_cast<uintptr_t>(*static_cast<void* const*>(a));
  const auto right = reinterpret_cast<uintptr_t>(*static_cast<void* const*>(b));
  return left < right ? -1 : left > right ? 1 : 0;
}

}  // namespace

void* RunHeap::allocate(i64 bytes) {
  const i64 held = bytes < 1 ? 1 : bytes;  // every block has an address of its own
  void* memory = artifact::allocate(add_size(held, sizeof(Block)));
  if (memory == nullptr) return nullptr;
  auto* block = new (In{memory}) Block{newest_, held, false};
  newest_ = block;
  bytes_ = add_size(bytes_, held);
  return block + 1;
}

void RunHeap::free_after(Block* since) {
  while (newest_ != since) {
    Block* older = newest_->older;
    bytes_ -= newest_->bytes;
    release(newest_);
    newest_ = older;
  }
}

bool RunHeap::begin_collection(Block* since) {
  count_ = 0;
  for (Block* block = newest_; block != since; block = block->older) ++count_;
  by_address_ = allocate_array<Block*>(count_);
  if (by_address_ == nullptr) return false;
  i64 next = 0;
  for (Block* block = newest_; block != since; block = block->older) {
    block->reached = false;
    by_address_[next++] = block;
  }
  qsort(by_address_, static_cast<size_t>(count_), sizeof(Block*), by_address);
  return true;
}

void RunHeap::end_collection(Block* since) {
  release(by_address_);
  by_address_ = nullptr;
  Block** link = &newest_;
  while (*link != since) {
    Block* block = *link;
    if (block->reached) {
      link = &block->older;
      continue;
    }
    *link = block->older;
    bytes_ -= block->bytes;
    release(block);
  }
}

bool RunHeap::reach(const void* address) {
  i64 first = 0, end = count_;
  while (first < end) {  // the last block that begins before the address
    const i64 middle = first + (end - first) / 2;
    if (reinterpret_cast<uintptr_t>(by_address_[middle]) <= reinterpret_cast<uintptr_t>(address)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == 0) return false;
  Block* block = by_address_[first - 1];
  if (!block->holds(address) || block->reached) return false;
  block->reached = true;
  return true;
}

void RunHeap::keep_strings(const ingot_string* const* handles, i64 count) {
  for (i64 k = 0; k < count; ++k) {
    if (handles[k] == nullptr) continue;
    reach(handles[k]);
    reach(handles[k]->data);
  }
}

void RunHeap::keep_container(const ingot_container* container) {
  // What is reached has had all that it refers to announced, unless its items lie in older blocks.
  if (!reach(container)) return;
  for (i64 k = 0; k < container->count; ++k) {
    const ingot_tensor& item = container->items[k];
    if (item.kind != INGOT_KIND_TENSOR) {
      keep_container(static_cast<const ingot_container*>(item.data));
      continue;
    }
    const bool has_new_dims = reach(item.dims), has_new_data = reach(item.data);  // often one block
    if ((!has_new_dims && !has_new_data) || item.dtype != INGOT_STRING) continue;
    i64 elements = 1;
    for (i32 a = 0; a < item.rank; ++a) elements *= item.dims[a];
    const auto* strings = static_cast<const ingot_string*>(item.data);
    for (i64 j = 0; j < elements; ++j) reach(strings[j].data);
  }
}

}  // namespace ingot::artifact
