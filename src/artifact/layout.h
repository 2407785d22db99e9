// artifact/layout.h: what is known of a program's values before any dimension is: whose memory a
// value lies in, when that is alive, and when its size becomes known.
#pragma once

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// A root is a value with memory of its own; aliases lie in a root's memory.
struct Layout {
  const Program* program;
  u32* root;         // [values]
  i64* root_offset;  // [values] where in the root's memory
  u32* first_step;   // [values] of a root: lifetime with all of its aliases, both ends included
  u32* last_step;
  u32* group;  // [values] 0: the size is known from the inputs; g: when group_step[g - 1] knows
  u32 group_count;
  u32* group_step;    // [groups] the steps that define symbols, in order
  u32 most_operands;  // of any step
  u32 most_kernel_symbols;
  u8* bound;     // [symbols] 1 if an input or state tells its value
  void* memory;  // behind all of the arrays
};

/// Computes what the program derives from its symbols; `symbols` has room for it.
void derive_symbols(const Program& program, i64* symbols);
/// The symbols that a step's kernel is given, of all that the program has; `room` is for
/// Layout::most_kernel_symbols.
const i64* gather_symbols(const Step& step, const i64* symbols, i64* room);

/// Errors: invalid_model if the program contradicts itself, resource_exhausted.
ingot_status make_layout(const Program& program, Layout* layout);
void free_layout(Layout* layout);

}  // namespace ingot::artifact
