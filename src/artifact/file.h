// artifact/file.h: files mapped for reading.
#pragma once

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// A whole file, mapped privately and read-only.
struct MappedFile {
  void* data = nullptr;
  i64 bytes = 0;
};

/// Errors: io. `what` begins the message: "weights".
ingot_status map_file(const char* path, const char* what, MappedFile* file);
/// An unmapped one is fine.
void unmap_file(MappedFile* file);

/// Writes "FOLDER/name" into `path`; the folder is that of this library's file if `folder` is null.
/// Errors: io if the library's place is unknown (loaded from memory) or the path is too long.
ingot_status join_path(const char* folder, const char* name, char* path, size_t path_bytes);

}  // namespace ingot::artifact
