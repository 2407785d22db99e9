// artifact/workspace.h: what one run at a time needs, and the bounded pool of such things.
#pragma once

#include "artifact/plan.h"
#include "artifact/threads.h"

namespace ingot::artifact {

/// What a control step keeps between its turns and between runs; made by the first.
struct ControlMemory {
  i64* dims;              // of the step's inputs, kMaxRank apart
  ingot_tensor* inputs;   // of the body
  ingot_tensor* outputs;  // of the body
  Buffer* given;          // [2 * outputs] what the body gave in even and odd turns
  Buffer* stacks;         // [outputs] what is stacked over the turns
  i64* stacked_bytes;     // [outputs]
  u32 output_count;
  void* memory;  // behind all of the arrays
};

/// Tables and memory of one run of one program. Kept between runs, so that running again with the
/// same dims allocates nothing.
struct Workspace {
  void** values;        // [values]
  void** operands;      // [most_operands] the values that the present step names
  i64* symbols;         // [symbols + derived]
  i64* kernel_symbols;  // [most_kernel_symbols] those that the present step's kernel is given
  u32* bound_port;      // [symbols] which input's dim told the symbol, for messages
  u32* bound_axis;
  i64* late_bytes;      // [values] once data-dependent symbols are known
  i64* dims;            // [output_dim_count] the outputs' dimension expressions
  Interval* intervals;  // [values] for placing late values
  u32* order;
  void** staged_inputs;   // [inputs] the contiguous copy of a strided input
  void** staged_outputs;  // [outputs]
  void** own_outputs;     // [outputs] what this run has allocated, to free when it fails
  i64* output_bytes;      // [outputs]
  Buffer arena;
  Buffer scratch;  // of steps whose work only the run finds out
  Buffer staging;
  Buffer* late;             // [groups]
  ControlMemory* controls;  // [steps], or null if the program has no control steps
  Workspace* next;          // in the list of free ones
};

/// Errors: resource_exhausted.
ingot_status make_workspace(const Layout& layout, Workspace** workspace);
/// Null is fine.
void free_workspace(const Layout& layout, Workspace* workspace);

/// At most `limit` workspaces of one program. Safe for concurrent use.
class WorkspacePool {
 public:
  WorkspacePool(const Layout& layout, i32 limit) : layout_(layout), limit_(limit) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// A workspace of the caller's own until give_back(). When all are in use: waits, or fails at
  /// once. Errors: resource_exhausted, cancelled, deadline.
  ingot_status acquire(bool wait, const Interrupt& interrupt, Workspace** workspace);
  void give_back(Workspace* workspace);

 private:
  void wake_one();

  const Layout& layout_;
  const i32 limit_;
  Mutex mutex_;  // guards the next two
  Workspace* free_ = nullptr;
  i32 made_ = 0;
  u32 returns_ = 0;  // counts give_back(); those who wait sleep on it
  u32 waiting_ = 0;
};

}  // namespace ingot::artifact
