// runtime/loader.cc: opens artefacts and lends them the process's one pool of threads.
#include "ingot/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "artifact/error.h"
#include "artifact/threads.h"

namespace ingot::artifact {
namespace {

// The pool lives while models use it. After fork() the parent's is left alone: its threads are not
// in the child.
struct SharedPool {
  Mutex mutex;
  ThreadPool* pool = nullptr;  // guarded by mutex, like the rest
  i32 users = 0;
  i32 process = 0;
};

SharedPool shared;

const ingot_thread_pool* acquire_pool() {
  Locked locked(shared.mutex);
  if (shared.pool == nullptr || shared.process != getpid()) {
    void* memory = allocate(sizeof(ThreadPool));
    if (memory == nullptr) return nullptr;
    shared.pool = new (In{memory}) ThreadPool(0);
    shared.process = getpid();
    shared.users = 0;
  }
  ++shared.users;
  return shared.pool->as_interface();
}

void give_back_pool() {
  Locked locked(shared.mutex);
  if (shared.process != getpid() || shared.pool == nullptr || --shared.users > 0) return;
  shared.pool->~ThreadPool();
  release(shared.pool);
  shared.pool = nullptr;
}

ingot_status check_loaded(const ingot_loaded* loaded) {
  if (loaded != nullptr && loaded->struct_size >= sizeof *loaded) return INGOT_OK;
  return fail(
      INGOT_INVALID_ARGUMENT,
      "loader: expected an ingot_loaded with its struct_size; initialise it with INGOT_INIT");
}

void clear(ingot_loaded* loaded) {
  loaded->file = -1;
  loaded->api = nullptr;
  loaded->model = nullptr;
  loaded->library = nullptr;
  loaded->shares_pool = 0;
}

// `name` is for messages, `path` for dlopen().
ingot_status load_library(const char* path, const char* name, ingot_loaded* loaded) {
  loaded->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (loaded->library == nullptr) {
    const char* why = dlerror();
    const bool too_new = why != nullptr && strstr(why, "GLIBC_") != nullptr;
    return fail(too_new ? INGOT_WRONG_TARGET : INGOT_INVALID_MODEL, "'%s': cannot be loaded: %s",
                name, why != nullptr ? why : "unknown");
  }
  using Entry = const ingot_model_api* (*)();
  const Entry entry = reinterpret_cast<Entry>(dlsym(loaded->library, "ingot_model_v1"));
  if (entry == nullptr) {
    return fail(INGOT_INVALID_MODEL, "'%s': the library does not export ingot_model_v1", name);
  }
  loaded->api = entry();
  if (loaded->api->abi_version != INGOT_ABI_VERSION ||
      loaded->api->struct_size < offsetof(ingot_model_api, run)) {
    return fail(INGOT_INVALID_MODEL, "'%s': made for interface version %u, this loader knows %d",
                name, loaded->api->abi_version, INGOT_ABI_VERSION);
  }
  return INGOT_OK;
}

// `name` is for messages.
ingot_status open_model(const char* name, const ingot_open_options* options, ingot_loaded* loaded) {
  ingot_open_options chosen = INGOT_INIT(ingot_open_options);
  if (options != nullptr) {
    if (options->struct_size < sizeof options->struct_size) {
      return fail(INGOT_INVALID_ARGUMENT,
                  "loader: the options' struct_size is %u; initialise them with INGOT_INIT",
                  options->struct_size);
    }
    const size_t given = options->struct_size;
    memcpy(&chosen, options, given < sizeof chosen ? given : sizeof chosen);
    chosen.struct_size = sizeof chosen;
  }
  if (chosen.pool == nullptr && chosen.threads == 0 && chosen.describe_only == 0) {
    chosen.pool = acquire_pool();
    if (chosen.pool == nullptr)
      return fail(INGOT_RESOURCE_EXHAUSTED, "loader: no memory for threads");
    loaded->shares_pool = 1;
  }
  const ingot_status status = loaded->api->open(&chosen, &loaded->model);
  return status == INGOT_OK ? INGOT_OK : fail(status, "'%s': %s", name, loaded->api->last_error());
}

ingot_status finish(ingot_status status, ingot_loaded* loaded) {
  if (status != INGOT_OK) ingot_close(loaded);
  return status;
}

// Because dlopen() knows a library again by its name, the descriptor in that name stays open, and
// so unique, as long as the library.
ingot_status copy_to_file(const void* bytes, size_t size, ingot_loaded* loaded) {
  constexpr unsigned kCloseOnExec = 1;  // MFD_CLOEXEC, which older headers lack
  loaded->file = static_cast<int32_t>(syscall(SYS_memfd_create, "ingot_model", kCloseOnExec));
  if (loaded->file < 0) {
    return fail(INGOT_IO, "loader: no memory file for a model of %zu bytes: %s", size,
                strerror(errno));
  }
  const u8* next = static_cast<const u8*>(bytes);
  while (size > 0) {
    const ssize_t written = write(loaded->file, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(INGOT_RESOURCE_EXHAUSTED, "loader: no memory for the model");
    next += written;
    size -= static_cast<size_t>(written);
  }
  return INGOT_OK;
}

}  // namespace
}  // namespace ingot::artifact

using namespace ingot::artifact;

ingot_status ingot_open_file(const char* path, const ingot_open_options* options,
                             ingot_loaded* loaded) {
  ingot_status status = check_loaded(loaded);
  if (status != INGOT_OK) return status;
  clear(loaded);
  status = ingot_check_file(path);
  if (status != INGOT_OK) return status;
  // A name without a slash would be looked for in the system's folders.
  char here[4096];
  if (strchr(path, '/') == nullptr) {
    if (snprintf(here, sizeof here, "./%s", path) >= static_cast<int>(sizeof here)) {
      return fail(INGOT_IO, "'%s': the path is too long", path);
    }
  } else {
    here[0] = 0;
  }
  status = load_library(here[0] != 0 ? here : path, path, loaded);
  if (status == INGOT_OK) status = open_model(path, options, loaded);
  return finish(status, loaded);
}

ingot_status ingot_open_memory(const void* bytes, size_t size, const ingot_open_options* options,
                               ingot_loaded* loaded) {
  ingot_status status = check_loaded(loaded);
  if (status != INGOT_OK) return status;
  clear(loaded);
  status = ingot_check_memory(bytes, size, "memory");
  if (status == INGOT_OK) status = copy_to_file(bytes, size, loaded);
  if (status == INGOT_OK) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", loaded->file);
    status = load_library(path, "memory", loaded);
  }
  if (status == INGOT_OK) status = open_model("memory", options, loaded);
  return finish(status, loaded);
}

void ingot_close(ingot_loaded* loaded) {
  if (loaded == nullptr || loaded->struct_size < sizeof *loaded) return;
  if (loaded->model != nullptr) loaded->api->close(loaded->model);
  if (loaded->shares_pool != 0) give_back_pool();
  if (loaded->library != nullptr) dlclose(loaded->library);
  if (loaded->file > 0) close(loaded->file);
  clear(loaded);
}

const char* ingot_loader_error(void) {
  return last_error();
}
