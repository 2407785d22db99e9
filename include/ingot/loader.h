/* ingot/loader.h: opens compiled models from files or memory. Optional: a program can as well call
 * dlopen() and ingot_model_v1() itself, or link a model statically.
 *
 * Link libingot_loader and libingot_artifact (both static; they need libc, libpthread and libdl).
 */
#ifndef INGOT_LOADER_H_
#define INGOT_LOADER_H_

#include "ingot/ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open model and where it came from. The members are for reading only. */
typedef struct ingot_loaded {
  uint32_t struct_size;
  int32_t file; /**< memory models: the descriptor that holds the copy; otherwise -1 */
  const ingot_model_api* api; /**< the model's functions */
  ingot_model* model;
  void* library;       /**< of dlopen() */
  int32_t shares_pool; /**< not 0: it uses the process's pool */
} ingot_loaded;

/** Opens the artefact at `path`. The file is checked before it is loaded: one that is truncated, no
 * artefact, or for another machine is refused without running any of its code. Models opened
 * without `pool` and `threads` in their options (null: the defaults) share one pool of threads.
 * Fill in loaded->struct_size first (INGOT_INIT). On failure it holds nothing to close.
 * Errors: io, invalid_model, wrong_target, and those of ingot_model_api::open. */
ingot_status ingot_open_file(const char* path, const ingot_open_options* options,
                             ingot_loaded* loaded);
/** The same for the bytes of an artefact, which are copied. Side weights need their path in the
 * options. */
ingot_status ingot_open_memory(const void* bytes, size_t size, const ingot_open_options* options,
                               ingot_loaded* loaded);
/** Closes the model and its library. Nothing of it may be in use. What holds nothing is fine. */
void ingot_close(ingot_loaded* loaded);

/** Checks what ingot_open_file() checks before it loads. Errors: io, invalid_model, wrong_target.
 */
ingot_status ingot_check_file(const char* path);
/** Likewise for bytes; `name` begins the messages. Errors: invalid_model, wrong_target. */
ingot_status ingot_check_memory(const void* bytes, size_t size, const char* name);

/** What went wrong last in this thread in one of these functions. */
const char* ingot_loader_error(void);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_LOADER_H_ */
