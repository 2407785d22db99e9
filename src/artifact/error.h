// artifact/error.h: failures of the runtime: a status, and a text kept for the thread.
#pragma once

#include "ingot/ingot.h"

namespace ingot::artifact {

/// Keeps the text ("where: what was expected, what was got, what to do") as the calling thread's
/// last error and returns `status`. Long texts are cut.
ingot_status fail(ingot_status status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/// The text of the calling thread's last failure, or "".
const char* last_error();

/// The name of a status, such as "invalid_argument".
const char* status_name(ingot_status status);

}  // namespace ingot::artifact
