// artifact/handles.h: strings, sequences and optionals on their way in and out of a run.
//
// Inside of a program they are handles (routines.h), values of 8 bytes that kernels move like any
// number. Outside they are the elements and structs of ingot.h.
#pragma once

#include "artifact/run.h"

namespace ingot::artifact {

/// The string behind a handle; null is the empty one.
inline ingot_string text_of(const ingot_string* handle) {
  return handle == nullptr ? ingot_string{nullptr, 0} : *handle;
}

/// Checks the contents of an input that holds handles; the dims of strings have been checked.
/// Errors: invalid_argument.
ingot_status check_handles(const ingot_tensor& tensor, const Port& port);
/// Makes the handles of such an input. `data` is dense. Errors: resource_exhausted.
ingot_status take_handles(RunHeap& heap, const ingot_tensor& tensor, const Port& port,
                          const void* data, void** handles);

/// Bytes of the block that such an output becomes; saturates.
i64 packed_bytes(const Port& port, const void* handles, i64 count);
/// Writes the block, of so many bytes, which needs the alignment of a pointer.
void pack_handles(const Port& port, const void* handles, i64 count, void* block);

/// What a routine returns that could not allocate.
inline int no_memory(RoutineArgs& args) {
  *args.error = "no memory";
  return INGOT_RESOURCE_EXHAUSTED;
}
/// One more item of a container: a copy of a value of the run. False: no memory.
bool make_item(void* (*allocate)(void* run, i64 bytes), void* run, const RoutineTensor& type,
               const void* value, ingot_tensor* item);
/// Elements of a tensor of these dims.
i64 count_elements(u32 rank, const i64* dims);

}  // namespace ingot::artifact
