// artifact/file.cc: maps files, and finds the folder that this library lies in.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dl_iterate_phdr
#endif
#include "artifact/file.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/error.h"

namespace ingot::artifact {
namespace {

struct Search {
  uintptr_t address;  // of something in this library
  char* folder;
  size_t folder_bytes;
  bool found;
};

// dl_iterate_phdr() because dladdr() has moved between libraries, and this one never did.
int visit_library(dl_phdr_info* info, size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD || search.address < begin ||
        search.address - begin >= info->dlpi_phdr[i].p_memsz) {
      continue;
    }
    const char* name = info->dlpi_name;
    if (name[0] == 0) name = "/proc/self/exe";  // linked into the program
    const int length = snprintf(search.folder, search.folder_bytes, "%s", name);
    search.found = length >= 0 && static_cast<size_t>(length) < search.folder_bytes;
    return 1;
  }
  return 0;
}

bool find_own_folder(char* folder, size_t folder_bytes) {
  Search search = {reinterpret_cast<uintptr_t>(&visit_library), folder, folder_bytes, false};
  dl_iterate_phdr(visit_library, &search);
  if (!search.found) return false;
  if (strcmp(folder, "/proc/self/exe") == 0) {
    const ssize_t length = readlink("/proc/self/exe", folder, folder_bytes - 1);
    if (length <= 0) return false;
    folder[length] = 0;
  } else if (strncmp(folder, "/proc/", 6) == 0 || strncmp(folder, "/memfd:", 7) == 0) {
    return false;  // loaded from memory
  }
  char* slash = strrchr(folder, '/');
  if (slash == nullptr) {
    snprintf(folder, folder_bytes, ".");
  } else {
    *slash = 0;
  }
  return true;
}

}  // namespace

ingot_status map_file(const char* path, const char* what, MappedFile* file) {
  *file = {};
  // Not blocking, in case it is a pipe, which then cannot be measured.
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail(INGOT_IO, "%s '%s': cannot open: %s", what, path, strerror(errno));
  char first;
  const bool readable = pread(descriptor, &first, 1, 0) >= 0;  // a directory is not
  const off_t bytes = readable ? lseek(descriptor, 0, SEEK_END) : -1;
  void* data = MAP_FAILED;
  if (bytes > 0)
    data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (bytes == 0) return fail(INGOT_IO, "%s '%s': the file is empty", what, path);
  if (bytes < 0 || data == MAP_FAILED) {
    return fail(INGOT_IO, "%s '%s': cannot read: %s", what, path, strerror(error));
  }
  *file = {data, bytes};
  return INGOT_OK;
}

void unmap_file(MappedFile* file) {
  if (file->data != nullptr) munmap(file->data, static_cast<size_t>(file->bytes));
  *file = {};
}

ingot_status join_path(const char* folder, const char* name, char* path, size_t path_bytes) {
  char own[4096];
  if (folder == nullptr) {
    if (!find_own_folder(own, sizeof own)) {
      return fail(INGOT_IO,
                  "open: '%s' lies beside the library, but the library was loaded from "
                  "memory; name its place in the open options",
                  name);
    }
    folder = own;
  }
  const int length = snprintf(path, path_bytes, "%s/%s", folder, name);
  if (length < 0 || static_cast<size_t>(length) >= path_bytes) {
    return fail(INGOT_IO, "open: the path of '%s' is too long", name);
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
