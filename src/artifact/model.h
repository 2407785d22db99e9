// artifact/model.h: an open model, the thing behind ingot_model*.
#pragma once

#include "artifact/constants.h"
#include "artifact/describe.h"
#include "artifact/run.h"
#include "artifact/weights.h"

/// Members are made in this order by open() and destroyed in the reverse one.
struct ingot_model {
  const ingot::artifact::Model* description = nullptr;
  const ingot::artifact::Level* level = nullptr;  // null: only described
  ingot_log log = {};
  ingot::artifact::ForkMark mark;  // of the process that opened it
  ingot::artifact::Tables tables;
  ingot::artifact::LoadedWeights weights;
  ingot::artifact::ProgramRuntime* main = nullptr;
  ingot::artifact::ConstantStore* constants = nullptr;
  ingot::artifact::ThreadPool* own_pool = nullptr;
  const ingot_thread_pool* pool = nullptr;
};

namespace ingot::artifact {

/// Errors: as ingot_model_api::open.
ingot_status open_model(const Model& description, const ingot_open_options* options,
                        ingot_model** model);
/// Null is fine.
void close_model(ingot_model* model);

/// Fails in a child of the process that opened the model, or if it is open for description only.
ingot_status check_usable(const ingot_model* model, const char* where);

/// Errors: invalid_argument if a part of the pool is missing.
ingot_status check_pool(const ingot_thread_pool& pool, const char* where);

/// Copies the caller's options of perhaps another version over `defaults`.
/// Errors: invalid_argument if struct_size was not set.
ingot_status copy_options(const void* options, void* defaults, size_t bytes, const char* where);

}  // namespace ingot::artifact
