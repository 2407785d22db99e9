// fuzz/loader_fuzz.cc: the check of an artefact's file stays inside any bytes it is given.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "ingot/loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ingot_status status = ingot_check_memory(data, size, "fuzz");
  const bool told = status == INGOT_OK || ingot_loader_error()[0] != 0;
  if (!told ||
      (status != INGOT_OK && status != INGOT_INVALID_MODEL && status != INGOT_WRONG_TARGET)) {
    std::abort();
  }
  return 0;
}
