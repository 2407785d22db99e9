// artifact/state.h: binding states (KV caches) and advancing their lengths.
#pragma once

#include "artifact/run.h"

namespace ingot::artifact {

/// Checks state number `index` against its description, sets its symbols and its values (planes).
/// Errors: invalid_argument (also when the tokens to come do not fit).
ingot_status bind_state(Run& run, u32 index);

/// Checks, once all symbols are bound, that what the run appends fits in every sequence.
/// Errors: invalid_argument.
ingot_status check_state_room(const Run& run);

/// Adds what the run appended to the lengths; a lengths array shared by states advances once.
void advance_states(const Run& run);

}  // namespace ingot::artifact
