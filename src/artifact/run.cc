// artifact/run.cc: binds, plans, runs the steps in order, finishes.
#include "artifact/run.h"

#include "artifact/bind.h"
#include "artifact/control.h"
#include "artifact/error.h"
#include "artifact/state.h"

namespace ingot::artifact {
namespace {

using ll = long long;

ingot_status fail_interrupted(const Run& run, ingot_status status) {
  const char* why =
      status == INGOT_CANCELLED ? "cancelled by the caller" : "the deadline has passed";
  return fail(status, "run: %s at step %u of %u ('%s')", why, run.step, run.program().step_count,
              run.program().steps[run.step].name);
}

// Memory for the planned values and each thread's scratch: the caller's, or the workspace's own.
ingot_status provide_arena(Run& run, void** arena, void** scratch) {
  const i64 needed =
      add_size(run.plan->arena_bytes, multiply_size(run.plan->scratch_bytes, run.threads));
  const ingot_run_options& options = *run.options;
  if (options.workspace != nullptr) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(options.workspace);
    const i64 skip = static_cast<i64>(-begin & (kAlignment - 1));
    if (options.workspace_bytes > static_cast<size_t>(PTRDIFF_MAX) ||
        static_cast<i64>(options.workspace_bytes) - skip < needed) {
      return fail(INGOT_INVALID_ARGUMENT,
                  "run: the workspace has %zu bytes, these dims and %d threads need %lld "
                  "(workspace_bytes() tells) if it is aligned to %lld",
                  options.workspace_bytes, run.threads, static_cast<ll>(needed),
                  static_cast<ll>(kAlignment));
    }
    *arena = at_offset(options.workspace, skip);
  } else {
    if (!run.workspace->arena.reserve(needed)) {
      return fail(INGOT_RESOURCE_EXHAUSTED, "run: no memory for a workspace of %lld bytes",
                  static_cast<ll>(needed));
    }
    *arena = run.workspace->arena.data;
  }
  *scratch = at_offset(*arena, run.plan->arena_bytes);
  return INGOT_OK;
}

ingot_status check_defined_symbols(const Run& run, const Step& step) {
  for (u32 s = step.first_symbol; s < step.first_symbol + step.symbol_count; ++s) {
    const Symbol& symbol = run.program().symbols[s];
    const i64 got = run.workspace->symbols[s];
    if (got >= symbol.lo && got <= symbol.hi) continue;
    return fail(INGOT_INVALID_ARGUMENT,
                "run: step '%s' of %s: '%s' became %lld, expected %lld..%lld", step.name,
                step.provenance, symbol.name, static_cast<ll>(got), static_cast<ll>(symbol.lo),
                static_cast<ll>(symbol.hi));
  }
  return INGOT_OK;
}

void gather_operands(const Run& run) {
  const Step& step = run.program().steps[run.step];
  for (u32 i = 0; i < step.operand_count; ++i) {
    run.workspace->operands[i] = run.workspace->values[step.operands[i]];
  }
}

// Places the values whose sizes the step that has just run found out.
ingot_status make_group_ready(Run& run, u32 group) {
  const Program& program = run.program();
  const Layout& layout = run.layout();
  Workspace& workspace = *run.workspace;
  ingot_status status = check_defined_symbols(run, program.steps[layout.group_step[group - 1]]);
  if (status != INGOT_OK) return status;
  derive_symbols(program, workspace.symbols);
  status = check_assumptions(run, run.step + 1);
  if (status != INGOT_OK) return status;
  program.value_bytes(workspace.symbols, workspace.late_bytes);
  u32 count = 0;
  for (u32 v = 0; v < program.value_count; ++v) {
    if (program.values[v].kind != ValueKind::arena || layout.group[v] != group) continue;
    workspace.intervals[count++] = {
        v, layout.first_step[v], layout.last_step[v],
        workspace.late_bytes[v] < 0 ? kTooManyBytes : workspace.late_bytes[v], 0};
  }
  const i64 bytes = place_intervals(workspace.intervals, count, workspace.order);
  Buffer& late = workspace.late[group - 1];
  if (!late.reserve(bytes)) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "run: step '%s': no memory for %lld bytes",
                program.steps[layout.group_step[group - 1]].name, static_cast<ll>(bytes));
  }
  for (u32 i = 0; i < count; ++i) {
    const Interval& interval = workspace.intervals[i];
    workspace.values[interval.value] = at_offset(late.data, interval.offset);
  }
  status = bind_outputs(run, group);
  if (status == INGOT_OK) status = check_overlaps(run);
  if (status != INGOT_OK) return status;
  bind_aliases(run, group);
  run.groups_ready = group;
  return INGOT_OK;
}

// What RoutineArgs::allocate_outputs calls.
int allocate_outputs(void* context) {
  Run& run = *static_cast<Run*>(context);
  const u32 group = run.groups_ready + 1;
  const Layout& layout = run.layout();
  if (group > layout.group_count || layout.group_step[group - 1] != run.step) return 1;
  run.status = make_group_ready(run, group);
  gather_operands(run);
  return run.status == INGOT_OK;
}

// What RoutineArgs::allocate calls.
void* allocate_in_heap(void* context, i64 bytes) {
  return static_cast<const Run*>(context)->heap->allocate(bytes);
}

ingot_status run_control_step(Run& run, const Step& step) {
  ingot_status status = run_control(run, *step.control);
  if (status != INGOT_OK || step.symbol_count == 0) return status;
  run.status = INGOT_OK;
  allocate_outputs(&run);
  if (run.status == INGOT_OK) copy_control_outputs(run, *step.control);
  return run.status;
}

ingot_status run_routine(Run& run, const Step& step) {
  const char* error = nullptr;
  RoutineArgs args = {run.workspace->operands,
                      run.workspace->symbols,
                      step.attributes,
                      allocate_outputs,
                      &run,
                      &error,
                      step.first_symbol,
                      nullptr,
                      nullptr,
                      allocate_in_heap};
  run.status = INGOT_OK;
  const int status = step.routine(args);
  if (run.status != INGOT_OK) return run.status;
  if (status != 0) {
    return fail(static_cast<ingot_status>(status), "run: step '%s' of %s: %s", step.name,
                step.provenance, error != nullptr ? error : "failed");
  }
  allocate_outputs(&run);  // a routine with nothing to write need not have asked
  return run.status;
}

ingot_status run_kernel(Run& run, const Step& step, void* scratch, ingot_profile_event* event) {
  StepJob job;
  job.kernel = run.runtime->kernels[step.kernel];
  job.values = run.workspace->operands;
  job.symbols = gather_symbols(step, run.workspace->symbols, run.workspace->kernel_symbols);
  job.work = run.step < run.plan->known_steps ? run.plan->work[run.step] : step.work(job.symbols);
  if (job.work.units <= 0) return INGOT_OK;
  job.scratch = scratch;
  job.scratch_bytes = run.plan->scratch_bytes;
  job.threads = choose_threads(job.work, run.threads);
  job.interrupt = &run.interrupt;
  if (job.work.scratch_bytes > job.scratch_bytes) {
    const i64 each = round_up(job.work.scratch_bytes, kAlignment);
    const i64 bytes = multiply_size(each, job.threads);
    if (!run.workspace->scratch.reserve(bytes)) {
      return fail(INGOT_RESOURCE_EXHAUSTED, "run: step '%s': no memory for %lld bytes of scratch",
                  step.name, static_cast<ll>(bytes));
    }
    job.scratch = run.workspace->scratch.data;
    job.scratch_bytes = each;
  }
  event->units = job.work.units;
  event->flops = job.work.flops;
  event->threads = job.threads;
  const ingot_status status = run_units(job, *run.pool);
  return status == INGOT_OK ? INGOT_OK : fail_interrupted(run, status);
}

// What a step reads and writes at least once: its operands.
double operand_bytes(const Run& run, const Step& step) {
  const Program& program = run.program();
  if (program.value_bytes == nullptr) return 0;
  i64* bytes = run.workspace->late_bytes;  // free between steps
  program.value_bytes(run.workspace->symbols, bytes);
  double sum = 0;
  for (u32 i = 0; i < step.operand_count; ++i) {
    sum += static_cast<double>(max(bytes[step.operands[i]], 0));
  }
  return sum;
}

ingot_status run_step(Run& run, void* scratch) {
  const Step& step = run.program().steps[run.step];
  const ingot_profile_sink& sink = run.options->profile;
  if (run.interrupt.is_set()) {
    const ingot_status status = run.interrupt.check();
    if (status != INGOT_OK) return fail_interrupted(run, status);
  }
  ingot_profile_event event = {};
  event.threads = 1;
  gather_operands(run);
  if (sink.step != nullptr) event.start_ns = now_ns();
  const ingot_status status = step.control != nullptr   ? run_control_step(run, step)
                              : step.routine != nullptr ? run_routine(run, step)
                                                        : run_kernel(run, step, scratch, &event);
  if (status != INGOT_OK || sink.step == nullptr) return status;
  event.end_ns = now_ns();
  event.struct_size = sizeof event;
  event.step = run.step;
  event.name = step.name;
  event.provenance = step.provenance;
  const double units = event.units > 0 ? static_cast<double>(event.units) : 1;
  event.flops += step.flops_per_unit * units;
  event.bytes = step.bytes_per_unit > 0 ? step.bytes_per_unit * units : operand_bytes(run, step);
  sink.step(sink.context, &event);
  return INGOT_OK;
}

ingot_status run_steps(Run& run) {
  ingot_status status = bind_symbols(run);
  if (status == INGOT_OK) status = check_state_room(run);
  if (status == INGOT_OK) status = run.runtime->plans.acquire(run.workspace->symbols, &run.plan);
  if (status != INGOT_OK) return status;
  void* arena = nullptr;
  void* scratch = nullptr;
  status = provide_arena(run, &arena, &scratch);
  if (status == INGOT_OK) status = bind_inputs(run, arena);
  if (status == INGOT_OK) status = bind_outputs(run, 0);
  if (status == INGOT_OK) status = check_overlaps(run);
  if (status != INGOT_OK) return status;
  bind_aliases(run, 0);
  for (run.step = 0; run.step < run.program().step_count; ++run.step) {
    status = run_step(run, scratch);
    if (status != INGOT_OK) return status;
  }
  return INGOT_OK;
}

}  // namespace

ingot_status make_program_runtime(const Program& program, const KernelFn* kernels, i32 max_runs,
                                  ProgramRuntime** runtime) {
  Layout layout;
  ingot_status status = make_layout(program, &layout);
  void* memory = status == INGOT_OK ? allocate(sizeof(ProgramRuntime)) : nullptr;
  if (memory == nullptr) {
    free_layout(&layout);
    return status != INGOT_OK ? status : fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory");
  }
  *runtime = new (In{memory}) ProgramRuntime(program, kernels, layout, max_runs);
  status = make_control_runtimes(*runtime, max_runs);
  if (status != INGOT_OK) {
    free_program_runtime(*runtime);
    *runtime = nullptr;
  }
  return status;
}

void free_program_runtime(ProgramRuntime* runtime) {
  if (runtime == nullptr) return;
  free_control_runtimes(runtime);
  Layout layout = runtime->layout;
  runtime->~ProgramRuntime();
  free_layout(&layout);
  release(runtime);
}

ingot_status execute(Run& run) {
  ingot_status status = run.runtime->workspaces.acquire(run.options->non_blocking == 0,
                                                        run.interrupt, &run.workspace);
  if (status != INGOT_OK) return status;
  status = run_steps(run);
  if (status == INGOT_OK) status = finish_outputs(run);
  if (status != INGOT_OK) drop_outputs(run);
  run.runtime->plans.release_plan(run.plan);
  run.runtime->workspaces.give_back(run.workspace);
  return status;
}

}  // namespace ingot::artifact
