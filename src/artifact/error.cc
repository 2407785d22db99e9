// artifact/error.cc: the per-thread text of the last failure.
#include "artifact/error.h"

#include <stdarg.h>
#include <stdio.h>

namespace ingot::artifact {
namespace {

__thread char text[1024];

}  // namespace

ingot_status fail(ingot_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return status;
}

const char* last_error() {
  return text;
}

const char* status_name(ingot_status status) {
  switch (status) {
    case INGOT_OK:
      return "ok";
    case INGOT_INVALID_ARGUMENT:
      return "invalid_argument";
    case INGOT_UNSUPPORTED:
      return "unsupported";
    case INGOT_INVALID_MODEL:
      return "invalid_model";
    case INGOT_IO:
      return "io";
    case INGOT_TOOLCHAIN:
      return "toolchain";
    case INGOT_RESOURCE_EXHAUSTED:
      return "resource_exhausted";
    case INGOT_WRONG_TARGET:
      return "wrong_target";
    case INGOT_DEVICE:
      return "device";
    case INGOT_CANCELLED:
      return "cancelled";
    case INGOT_INTERNAL:
      return "internal";
    case INGOT_DEADLINE:
      return "deadline";
  }
  return "unknown";
}

}  // namespace ingot::artifact
