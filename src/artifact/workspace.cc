// artifact/workspace.cc: making workspaces and lending them out.
#include "artifact/workspace.h"

#include "artifact/control.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

// How often a waiting run looks at its cancel flag, which wakes nobody.
constexpr i64 kPollNs = 5000000;

template <class T>
T* take(u8*& next, i64 count) {
  T* array = reinterpret_cast<T*>(next);
  next += round_up(count * static_cast<i64>(sizeof(T)), 8);
  return array;
}

}  // namespace

ingot_status make_workspace(const Layout& layout, Workspace** result) {
  const Program& program = *layout.program;
  const i64 values = program.value_count, symbols = program.symbol_count;
  const i64 inputs = program.input_count, outputs = program.output_count;
  const i64 controls = has_control(program) ? program.step_count : 0;
  const i64 bytes = static_cast<i64>(sizeof(Workspace)) +
                    values * static_cast<i64>(sizeof(Interval) + 2 * sizeof(i64) + sizeof(u32)) +
                    symbols * 16 + (program.derived_count + layout.most_kernel_symbols) * i64{8} +
                    (layout.most_operands + program.output_dim_count + inputs) * 8 + outputs * 24 +
                    layout.group_count * static_cast<i64>(sizeof(Buffer)) +
                    controls * static_cast<i64>(sizeof(ControlMemory)) + i64{19} * 8;
  u8* next = allocate_array<u8>(bytes);
  if (next == nullptr) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "run: no memory for a workspace of %lld bytes",
                static_cast<long long>(bytes));
  }
  Workspace* workspace = new (In{next}) Workspace{};
  next += round_up(sizeof(Workspace), 8);
  workspace->values = take<void*>(next, values);
  workspace->operands = take<void*>(next, layout.most_operands);
  workspace->symbols = take<i64>(next, symbols + program.derived_count);
  workspace->kernel_symbols = take<i64>(next, layout.most_kernel_symbols);
  workspace->bound_port = take<u32>(next, symbols);
  workspace->bound_axis = take<u32>(next, symbols);
  workspace->late_bytes = take<i64>(next, values);
  workspace->dims = take<i64>(next, program.output_dim_count);
  workspace->intervals = take<Interval>(next, values);
  workspace->order = take<u32>(next, values);
  workspace->staged_inputs = take<void*>(next, inputs);
  workspace->staged_outputs = take<void*>(next, outputs);
  workspace->own_outputs = take<void*>(next, outputs);
  workspace->output_bytes = take<i64>(next, outputs);
  workspace->late = take<Buffer>(next, layout.group_count);
  if (controls > 0) workspace->controls = take<ControlMemory>(next, controls);
  *result = workspace;
  return INGOT_OK;
}

void free_workspace(const Layout& layout, Workspace* workspace) {
  if (workspace == nullptr) return;
  for (u32 g = 0; g < layout.group_count; ++g) workspace->late[g].clear();
  if (workspace->controls != nullptr) {
    for (u32 s = 0; s < layout.program->step_count; ++s) {
      free_control_memory(&workspace->controls[s]);
    }
  }
  workspace->arena.clear();
  workspace->scratch.clear();
  workspace->staging.clear();
  release(workspace);
}

WorkspacePool::~WorkspacePool() {
  while (free_ != nullptr) {
    Workspace* next = free_->next;
    free_workspace(layout_, free_);
    free_ = next;
  }
}

ingot_status WorkspacePool::acquire(bool wait, const Interrupt& interrupt, Workspace** workspace) {
  while (true) {
    const u32 seen = load(returns_);
    {
      Locked locked(mutex_);
      if (free_ != nullptr) {
        *workspace = free_;
        free_ = free_->next;
        return INGOT_OK;
      }
      if (made_ < limit_) {
        ++made_;
        break;
      }
    }
    if (!wait) {
      return fail(INGOT_RESOURCE_EXHAUSTED,
                  "run: all %d workspaces are in use; wait, or open with more max_concurrent_runs",
                  limit_);
    }
    const ingot_status status = interrupt.check();
    if (status != INGOT_OK) {
      return fail(status, "run: %s while waiting for a workspace", status_name(status));
    }
    i64 until = interrupt.deadline_ns;
    if (interrupt.cancel != nullptr) {
      const i64 poll = now_ns() + kPollNs;
      if (until == 0 || poll < until) until = poll;
    }
    fetch_add(waiting_, 1u);
    futex_wait(returns_, seen, until);
    fetch_add(waiting_, ~0u);
  }
  const ingot_status status = make_workspace(layout_, workspace);
  if (status != INGOT_OK) {
    {
      Locked locked(mutex_);
      --made_;
    }
    wake_one();
  }
  return status;
}

void WorkspacePool::give_back(Workspace* workspace) {
  {
    Locked locked(mutex_);
    workspace->next = free_;
    free_ = workspace;
  }
  wake_one();
}

void WorkspacePool::wake_one() {
  fetch_add(returns_, 1u);
  if (__atomic_load_n(&waiting_, __ATOMIC_SEQ_CST) > 0) futex_wake(returns_, 1);
}

}  // namespace ingot::artifact
