// artifact/heap.h: what the strings and containers of a run refer to.
#pragma once

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// Blocks of one run of the whole model; those of its bodies are here too. A block refers only to
/// older ones, and to memory of the caller and of the model.
class RunHeap {
 public:
  RunHeap() = default;
  ~RunHeap() { free_after(nullptr); }
  RunHeap(const RunHeap&) = delete;
  RunHeap& operator=(const RunHeap&) = delete;

  /// `bytes` bytes aligned to 64, or null.
  void* allocate(i64 bytes);

  struct Block;
  /// The newest block: what is made later lies behind it.
  Block* mark() const { return newest_; }
  i64 bytes() const { return bytes_; }

  /// Frees those blocks behind `since` that nothing refers to. Handles that are alive are announced
  /// by `visit_roots`, which calls keep_container() for all containers and then keep_strings().
  /// False: no memory to do so.
  template <class VisitRoots>
  bool collect(Block* since, const VisitRoots& visit_roots) {
    if (!begin_collection(since)) return false;
    visit_roots();
    end_collection(since);
    return true;
  }
  void keep_strings(const ingot_string* const* handles, i64 count);
  void keep_container(const ingot_container* container);

 private:
  void free_after(Block* since);
  bool begin_collection(Block* since);
  void end_collection(Block* since);
  /// Whether the address lies in a block that nobody has announced yet; it counts as announced
  /// then.
  bool reach(const void* address);

  Block* newest_ = nullptr;
  i64 bytes_ = 0;
  Block** by_address_ = nullptr;  // of a collection: its blocks, sorted
  i64 count_ = 0;
};

}  // namespace ingot::artifact
