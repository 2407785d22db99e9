// artifact/control.h: steps whose work is that of other programs: branches and loops.
#pragma once

#include "artifact/run.h"

namespace ingot::artifact {

/// Whether a program has control steps.
bool has_control(const Program& program);

/// Makes the runtimes of all bodies, and of theirs. Errors: as make_program_runtime.
ingot_status make_control_runtimes(ProgramRuntime* runtime, i32 max_runs);
void free_control_runtimes(ProgramRuntime* runtime);
/// One that was never made is fine.
void free_control_memory(ControlMemory* memory);

/// Runs the bodies of the step that is the run's turn. A step that defines no symbols has its
/// outputs afterwards; for others the symbols are set, and copy_control_outputs() fills the outputs
/// once they have memory. Errors: as execute().
ingot_status run_control(Run& run, const Control& control);
void copy_control_outputs(Run& run, const Control& control);

}  // namespace ingot::artifact
