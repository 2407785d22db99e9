// artifact/run.h: running a program once.
#pragma once

#include "artifact/heap.h"
#include "artifact/workspace.h"

namespace ingot::artifact {

struct ProgramRuntime;

/// The bodies of a control step; null for other steps.
struct ControlRuntime {
  ProgramRuntime* bodies[2];
};

/// A program with everything that its runs share.
struct ProgramRuntime {
  const Program* program;
  const KernelFn* kernels;
  const Layout layout;
  PlanCache plans;
  WorkspacePool workspaces;
  ControlRuntime* controls = nullptr;  // [steps], or null if the program has no control steps

  ProgramRuntime(const Program& p, const KernelFn* k, const Layout& l, i32 max_runs)
      : program(&p), kernels(k), layout(l), plans(layout), workspaces(layout, max_runs) {}
};

/// Errors: invalid_model, resource_exhausted.
ingot_status make_program_runtime(const Program& program, const KernelFn* kernels, i32 max_runs,
                                  ProgramRuntime** runtime);
/// Null is fine.
void free_program_runtime(ProgramRuntime* runtime);

/// Bytes of an ingot_tensor of any version: a greater struct_size was never set.
inline constexpr u32 kLongestTensorStruct = 4096;

/// The caller's tensors, whose struct may be of a later version and so longer than ours.
struct Tensors {
  u8* first;
  u32 count;
  u32 stride;

  ingot_tensor& operator[](u32 index) const {
    return *reinterpret_cast<ingot_tensor*>(first + static_cast<size_t>(index) * stride);
  }
};

/// One run in progress; lives on its caller's stack.
struct Run {
  ProgramRuntime* runtime;
  Workspace* workspace;
  const u8* weights;                // base of the constants' offsets
  const void* const* replacements;  // [values] new places of constants, or null, or null for each
  Tensors inputs, outputs;
  const ingot_run_options* options;
  const ingot_thread_pool* pool;
  i32 threads;
  Interrupt interrupt;
  RunHeap* heap;                       // of the whole run, its bodies included
  const i64* outer_symbols = nullptr;  // of a body: what the program around knows
  const Plan* plan = nullptr;
  u32 step = 0;
  u32 groups_ready = 0;            // groups of values whose size is known
  ingot_status status = INGOT_OK;  // of what a routine asked for

  const Program& program() const { return *runtime->program; }
  const Layout& layout() const { return runtime->layout; }
};

/// Runs `run.runtime`'s program with everything above `plan` filled in but the workspace.
/// Errors: as ingot_model_api::run.
ingot_status execute(Run& run);

}  // namespace ingot::artifact
