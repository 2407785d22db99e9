// tests/gpu/emulator/instrumentation.cc: answers the calls that -fsanitize=thread puts into
// kernels.
//
// GCC calls __tsan_readN/__tsan_writeN before each access of N bytes; clang does the same and also
// replaces memcpy and its kin. On the host, outside a launch, they mean nothing.
#include <cstring>

#include "machine.h"

namespace {

void check(const void* pointer, size_t bytes, bool write, bool must_align, const void* pc) {
  if (ingot::emu::current_fiber() == nullptr) return;
  ingot::emu::check_access(
      {.address = pointer, .bytes = bytes, .write = write, .must_align = must_align, .pc = pc});
}

}  // namespace

#define INGOT_TSAN_ACCESS(name, bytes, write, must_align)                  \
  void __tsan_##name(void* pointer) {                                      \
    check(pointer, bytes, write, must_align, __builtin_return_address(0)); \
  }
#define INGOT_TSAN_SIZE(bytes)                                  \
  INGOT_TSAN_ACCESS(read##bytes, bytes, false, true)            \
  INGOT_TSAN_ACCESS(write##bytes, bytes, true, true)            \
  INGOT_TSAN_ACCESS(volatile_read##bytes, bytes, false, true)   \
  INGOT_TSAN_ACCESS(volatile_write##bytes, bytes, true, true)   \
  INGOT_TSAN_ACCESS(unaligned_read##bytes, bytes, false, false) \
  INGOT_TSAN_ACCESS(unaligned_write##bytes, bytes, true, false)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

INGOT_TSAN_SIZE(1)
INGOT_TSAN_SIZE(2)
INGOT_TSAN_SIZE(4)
INGOT_TSAN_SIZE(8)
INGOT_TSAN_SIZE(16)

void __tsan_read_range(void* pointer, size_t bytes) {
  check(pointer, bytes, false, false, __builtin_return_address(0));
}

void __tsan_write_range(void* pointer, size_t bytes) {
  check(pointer, bytes, true, false, __builtin_return_address(0));
}

void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  check(from, bytes, false, false, __builtin_return_address(0));
  check(to, bytes, true, false, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}

void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  check(from, bytes, false, false, __builtin_return_address(0));
  check(to, bytes, true, false, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}

void* __tsan_memset(void* to, int value, size_t bytes) {
  check(to, bytes, true, false, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

}  // extern "C"
