// runtime/testdata/copy_output.cc: must not compile: an Output owns its memory.
#include "ingot/ingot.hpp"

ingot::api::Output copy(const ingot::api::Output& output) {
  return output;
}
