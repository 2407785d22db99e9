// artifact/bind.h: connecting a run's values with the caller's memory, checking everything.
#pragma once

#include "artifact/run.h"

namespace ingot::artifact {

/// Bits of one element of a dtype in ONNX's numbering; 0 if there is no such dtype.
i32 dtype_bits(i32 dtype);
/// Bits of one element inside of a program, where strings are handles.
i32 value_bits(i32 dtype);
/// "float32"; "dtype 99" for a number without a name is just "unknown".
const char* dtype_name(i32 dtype);
/// Alignment of an element in bytes; 1 for packed ones.
i64 dtype_alignment(i32 dtype);
/// Bytes of a dense tensor of these dims; kTooManyBytes if they do not fit.
i64 dense_bytes(i32 dtype, u32 rank, const i64* dims);

/// Checks the inputs and states, sets the symbols that they tell, and checks what is assumed of
/// those. Sets no value yet. Errors: invalid_argument.
ingot_status bind_symbols(Run& run);
/// Checks what is assumed of symbols that are known when so many steps have run.
/// Errors: invalid_argument.
ingot_status check_assumptions(const Run& run, u32 steps);
/// Sets the values of inputs, states, constants and of the arena's
/// group 0; copies strided inputs. Needs the plan.
ingot_status bind_inputs(Run& run, void* arena);
/// Binds the outputs of a group, allocating those that the caller left to us.
ingot_status bind_outputs(Run& run, u32 group);
/// Checks that no output lies in the memory of another output or of an input.
ingot_status check_overlaps(const Run& run);
/// Sets the values that are aliases into roots of a group.
void bind_aliases(Run& run, u32 group);
/// After success: copies staged outputs out, packs those with handles, fills in shapes, advances
/// the states. Errors: as those of bind_outputs; then no state was advanced.
ingot_status finish_outputs(Run& run);
/// After failure: frees what was allocated for the caller.
void drop_outputs(Run& run);

/// The dims [rank] of an output, once its symbols are known.
void output_dims(const Run& run, const Port& port, i64* dims);

}  // namespace ingot::artifact
