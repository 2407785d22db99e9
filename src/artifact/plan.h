// artifact/plan.h: where each value of a program lies in the arena, for concrete symbols.
#pragma once

#include "artifact/layout.h"

namespace ingot::artifact {

/// A value that wants a place.
struct Interval {
  u32 value;
  u32 first_step, last_step;  // both included
  i64 bytes;
  i64 offset;  // the answer: a multiple of kAlignment
};

/// Gives each interval an offset such that no two that are alive at once overlap: the largest
/// first, each into the smallest hole that holds it. Returns the bytes needed altogether, or
/// kTooManyBytes. `order` has room for `count` numbers. The intervals change their order.
i64 place_intervals(Interval* intervals, u32 count, u32* order);

/// The arena and the work of a program for concrete symbols. Immutable once made.
struct Plan {
  i64* symbols;       // [symbols] the key
  i64* bytes;         // [values]
  i64* offsets;       // [values] in the arena, of arena roots of group 0
  Work* work;         // [steps] of those that need no data-dependent symbol, see known_steps
  u32 known_steps;    // so many first steps
  i64 arena_bytes;    // without scratch
  i64 scratch_bytes;  // for each thread, a multiple of kAlignment
  u32 uses;           // guarded by the cache's mutex, like the next two
  bool cached;
  u64 last_use;
};

/// The plans of the last few symbol tuples of one program. Safe for concurrent use.
class PlanCache {
 public:
  static constexpr u32 kCapacity = 16;

  explicit PlanCache(const Layout& layout) : layout_(layout) {}
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// The plan for these symbols and what is derived from them; give it back with release_plan().
  /// Data-dependent symbols must be 0. Errors: resource_exhausted when the sizes exceed any memory.
  ingot_status acquire(const i64* symbols, const Plan** plan);
  void release_plan(const Plan* plan);

 private:
  Plan* find(const i64* symbols);
  Plan* insert(Plan* plan);
  ingot_status make(const i64* symbols, Plan** plan);

  const Layout& layout_;
  Mutex mutex_;  // guards all below, and the plans' counts
  Plan* plans_[kCapacity] = {};
  u64 clock_ = 0;
};

}  // namespace ingot::artifact
