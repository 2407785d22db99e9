// artifact/model.cc: opening and closing a model.
#include "artifact/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "artifact/bind.h"
#include "artifact/cpu.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

constexpr i32 kDefaultConcurrentRuns = 16;

void write_log(const ingot_model& model, i32 level, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

void write_log(const ingot_model& model, i32 level, const char* format, ...) {
  if (model.log.write == nullptr) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  model.log.write(model.log.context, level, line);
}

// The best level that this machine can run, or the named one.
ingot_status choose_level(const Model& description, const char* name, const Level** level) {
  const u64 features = detect_cpu();
  const Level* least = nullptr;
  for (u32 i = 0; i < description.level_count; ++i) {
    const Level& candidate = description.levels[i];
    if (name != nullptr && strcmp(candidate.name, name) != 0) continue;
    least = &candidate;
    if ((candidate.features & ~features) != 0) continue;
    *level = &candidate;
    return INGOT_OK;
  }
  if (least == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "open: the artefact '%s' has no code for level '%s'",
                description.name, name != nullptr ? name : "any");
  }
  char machine[128];
  print_cpu(features, machine, sizeof machine);
  return fail(INGOT_WRONG_TARGET, "open: the artefact '%s' needs %s; this machine has %s",
              description.name, least->name, machine);
}

ingot_status choose_pool(const ingot_open_options& options, ingot_model* model) {
  if (options.pool != nullptr) {
    model->pool = options.pool;
    return check_pool(*options.pool, "open");
  }
  if (options.threads < 0 || options.threads > ThreadPool::kMaxSize) {
    return fail(INGOT_INVALID_ARGUMENT, "open: threads: expected 0..%d, got %d",
                ThreadPool::kMaxSize, options.threads);
  }
  void* memory = allocate(sizeof(ThreadPool));
  if (memory == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for threads");
  model->own_pool = new (In{memory}) ThreadPool(options.threads);
  model->pool = model->own_pool->as_interface();
  return INGOT_OK;
}

ingot_status open_constants(ingot_model* model) {
  void* memory = allocate(sizeof(ConstantStore));
  if (memory == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for constants");
  model->constants =
      new (In{memory}) ConstantStore(*model->description, model->weights, *model->main);
  return model->constants->open(model->level->prepare_kernels, model->weights.writable,
                                *model->pool);
}

ingot_status open_parts(const ingot_open_options& options, ingot_model* model) {
  const Model& description = *model->description;
  if (description.format != kFormat || description.struct_size != sizeof(Model)) {
    return fail(INGOT_INVALID_MODEL, "open: the model has format %u, its runtime reads %u",
                description.format, kFormat);
  }
  ingot_status status = INGOT_OK;
  if (options.describe_only == 0) status = choose_level(description, options.level, &model->level);
  if (status == INGOT_OK) status = make_tables(description, model->level, &model->tables);
  if (status != INGOT_OK || options.describe_only != 0) return status;
  if (options.max_concurrent_runs < 0) {
    return fail(INGOT_INVALID_ARGUMENT, "open: max_concurrent_runs: expected at least 0, got %d",
                options.max_concurrent_runs);
  }
  const i32 runs =
      options.max_concurrent_runs > 0 ? options.max_concurrent_runs : kDefaultConcurrentRuns;
  status = make_program_runtime(*description.main, model->level->kernels, runs, &model->main);
  if (status == INGOT_OK) status = choose_pool(options, model);
  if (status == INGOT_OK) status = load_weights(description, options, &model->weights);
  if (status == INGOT_OK && options.verify_weights != 0) {
    status = check_weights(description, model->weights);
  }
  if (status == INGOT_OK) status = open_constants(model);
  return status;
}

}  // namespace

ingot_status check_pool(const ingot_thread_pool& pool, const char* where) {
  if (pool.struct_size >= sizeof(ingot_thread_pool) && pool.size >= 1 &&
      pool.parallel_for != nullptr) {
    return INGOT_OK;
  }
  return fail(
      INGOT_INVALID_ARGUMENT,
      "%s: the thread pool must have its struct_size, a size of at least 1 and a parallel_for",
      where);
}

ingot_status copy_options(const void* options, void* defaults, size_t bytes, const char* where) {
  if (options == nullptr) return INGOT_OK;
  u32 given;
  memcpy(&given, options, sizeof given);
  if (given < sizeof given) {
    return fail(INGOT_INVALID_ARGUMENT,
                "%s: the options' struct_size is %u; initialise them with INGOT_INIT", where,
                given);
  }
  memcpy(defaults, options, given < bytes ? given : bytes);
  return INGOT_OK;
}

ingot_status check_usable(const ingot_model* model, const char* where) {
  if (model == nullptr) return fail(INGOT_INVALID_ARGUMENT, "%s: the model is null", where);
  if (model->main == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "%s: the model was opened for description only", where);
  }
  if (model->mark.is_child()) {
    return fail(INGOT_INVALID_ARGUMENT,
                "%s: the model was opened by process %d, this is its child %d: open it anew after "
                "fork()",
                where, model->mark.process(), getpid());
  }
  return INGOT_OK;
}

ingot_status open_model(const Model& description, const ingot_open_options* options,
                        ingot_model** result) {
  if (result == nullptr)
    return fail(INGOT_INVALID_ARGUMENT, "open: expected a place for the model");
  *result = nullptr;
  ingot_open_options chosen = {};
  ingot_status status = copy_options(options, &chosen, sizeof chosen, "open");
  if (status != INGOT_OK) return status;
  void* memory = allocate(sizeof(ingot_model));
  if (memory == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for a model");
  ingot_model* model = new (In{memory}) ingot_model{};
  model->description = &description;
  model->log = chosen.log;
  status = open_parts(chosen, model);
  if (status != INGOT_OK) {
    close_model(model);
    return status;
  }
  if (model->level != nullptr) {
    write_log(*model, INGOT_LOG_INFO, "model=%s level=%s threads=%d weights=%s weight_bytes=%llu%s",
              description.name, model->level->name, model->pool->size,
              weights_kind_name(description.weights.kind),
              static_cast<unsigned long long>(description.weights.bytes),
              model->weights.huge != nullptr ? " huge_pages=asked" : "");
  }
  *result = model;
  return INGOT_OK;
}

void close_model(ingot_model* model) {
  if (model == nullptr) return;
  if (model->own_pool != nullptr) {
    model->own_pool->~ThreadPool();
    release(model->own_pool);
  }
  if (model->constants != nullptr) {
    model->constants->~ConstantStore();
    release(model->constants);
  }
  free_program_runtime(model->main);
  free_weights(&model->weights);
  free_tables(&model->tables);
  model->~ingot_model();
  release(model);
}

}  // namespace ingot::artifact
