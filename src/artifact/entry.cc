// artifact/entry.cc: the one symbol that an artefact exports, and the functions behind it.
#include "artifact/bind.h"
#include "artifact/error.h"
#include "artifact/model.h"

namespace ingot::artifact {
namespace {

ingot_status open(const ingot_open_options* options, ingot_model** model) {
  return open_model(ingot_model_description, options, model);
}

const ingot_description* describe(const ingot_model* model) {
  return model == nullptr ? nullptr : &model->tables.description;
}

template <class T>
const T* at(const T* array, u32 count, u32 index) {
  return index < count ? array + index : nullptr;
}

const ingot_value_info* input(const ingot_model* model, u32 index) {
  if (model == nullptr) return nullptr;
  return at(model->tables.inputs, model->tables.description.input_count, index);
}

const ingot_value_info* output(const ingot_model* model, u32 index) {
  if (model == nullptr) return nullptr;
  return at(model->tables.outputs, model->tables.description.output_count, index);
}

const ingot_state_info* state(const ingot_model* model, u32 index) {
  if (model == nullptr) return nullptr;
  return at(model->tables.states, model->tables.description.state_count, index);
}

const ingot_symbol_info* symbol(const ingot_model* model, u32 index) {
  if (model == nullptr) return nullptr;
  return at(model->tables.symbols, model->tables.description.symbol_count, index);
}

const ingot_constant_info* constant(const ingot_model* model, u32 index) {
  if (model == nullptr) return nullptr;
  return at(model->tables.constants, model->tables.description.constant_count, index);
}

ingot_status metadata(const ingot_model* model, u32 index, const char** key, const char** value) {
  if (model == nullptr || index >= model->description->metadata_count) {
    return fail(INGOT_INVALID_ARGUMENT, "metadata: expected an open model and 0..%u, got %u",
                model == nullptr ? 0 : model->description->metadata_count, index);
  }
  if (key == nullptr || value == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "metadata: expected places for key and value, got null");
  }
  *key = model->description->metadata[index].key;
  *value = model->description->metadata[index].value;
  return INGOT_OK;
}

ingot_status workspace_bytes(const ingot_model* model, const i64* symbols, u32 symbol_count,
                             i32 threads, u64* bytes) {
  ingot_status status = check_usable(model, "workspace_bytes");
  if (status != INGOT_OK) return status;
  const Program& program = *model->description->main;
  if (symbol_count != program.symbol_count || (symbol_count > 0 && symbols == nullptr) ||
      threads < 0 || bytes == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "workspace_bytes: expected %u symbols, got %u (threads %d)",
                program.symbol_count, symbol_count, threads);
  }
  i64* key = allocate_array<i64>(symbol_count + program.derived_count);
  if (key == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "workspace_bytes: no memory");
  for (u32 s = 0; s < symbol_count; ++s) {
    const Symbol& declared = program.symbols[s];
    if (declared.data_dependent) continue;
    key[s] = symbols[s];
    if (key[s] >= declared.lo && key[s] <= declared.hi &&
        (declared.divisor <= 1 || key[s] % declared.divisor == 0)) {
      continue;
    }
    status = fail(INGOT_INVALID_ARGUMENT,
                  "workspace_bytes: '%s': expected a multiple of %lld in %lld..%lld, got %lld",
                  declared.name, static_cast<long long>(max(declared.divisor, 1)),
                  static_cast<long long>(declared.lo), static_cast<long long>(declared.hi),
                  static_cast<long long>(key[s]));
  }
  const Plan* plan = nullptr;
  if (status == INGOT_OK) {
    derive_symbols(program, key);
    status = model->main->plans.acquire(key, &plan);
  }
  release(key);
  if (status != INGOT_OK) return status;
  const i64 most = min(model->pool->size, ThreadPool::kMaxSize);
  const i64 workers = threads == 0 ? most : min(threads, most);
  // And what aligning the caller's memory may cost.
  *bytes = static_cast<u64>(plan->arena_bytes + workers * plan->scratch_bytes + kAlignment - 1);
  model->main->plans.release_plan(plan);
  return INGOT_OK;
}

ingot_status check_arrays(const ingot_model& model, const Tensors& inputs, const Tensors& outputs) {
  const Program& program = *model.description->main;
  if (inputs.count != program.input_count + program.state_count ||
      outputs.count != program.output_count) {
    return fail(
        INGOT_INVALID_ARGUMENT,
        "run: expected %u inputs, %u states and %u outputs, got %u inputs and states, and %u "
        "outputs",
        program.input_count, program.state_count, program.output_count, inputs.count,
        outputs.count);
  }
  if ((inputs.count > 0 && inputs.first == nullptr) ||
      (outputs.count > 0 && outputs.first == nullptr)) {
    return fail(INGOT_INVALID_ARGUMENT, "run: the array of inputs or outputs is null");
  }
  return INGOT_OK;
}

Tensors view_tensors(const ingot_tensor* tensors, u32 count) {
  const u32 bytes = sizeof(ingot_tensor);
  u32 stride = bytes;
  if (count > 0 && tensors != nullptr && tensors->struct_size > bytes &&
      tensors->struct_size <= kLongestTensorStruct) {
    stride = tensors->struct_size;
  }
  return {reinterpret_cast<u8*>(const_cast<ingot_tensor*>(tensors)), count, stride};
}

ingot_status check_run_options(const ingot_run_options& options) {
  if (options.stream != nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "run: stream: expected null for the target cpu");
  }
  if (options.threads < 0) {
    return fail(INGOT_INVALID_ARGUMENT, "run: threads: expected at least 0, got %d",
                options.threads);
  }
  if (options.deadline_ns < 0) {
    return fail(INGOT_INVALID_ARGUMENT, "run: deadline_ns: expected at least 0, got %lld",
                static_cast<long long>(options.deadline_ns));
  }
  return options.pool == nullptr ? INGOT_OK : check_pool(*options.pool, "run");
}

ingot_status run(ingot_model* model, const ingot_tensor* inputs, u32 input_count,
                 ingot_tensor* outputs, u32 output_count, const ingot_run_options* options) {
  ingot_status status = check_usable(model, "run");
  if (status != INGOT_OK) return status;
  ingot_run_options chosen = {};
  status = copy_options(options, &chosen, sizeof chosen, "run");
  if (status == INGOT_OK) status = check_run_options(chosen);
  if (status != INGOT_OK) return status;
  RunHeap heap;
  Run run = {};
  run.heap = &heap;
  run.inputs = view_tensors(inputs, input_count);
  run.outputs = view_tensors(outputs, output_count);
  status = check_arrays(*model, run.inputs, run.outputs);
  if (status != INGOT_OK) return status;
  run.runtime = model->main;
  run.weights = model->weights.base;
  run.options = &chosen;
  run.pool = chosen.pool != nullptr ? chosen.pool : model->pool;
  const i64 most = min(run.pool->size, ThreadPool::kMaxSize);
  run.threads = static_cast<i32>(chosen.threads == 0 ? most : min(chosen.threads, most));
  run.interrupt = {chosen.cancel, chosen.deadline_ns};
  ConstantSet* set = model->constants->acquire();
  run.replacements = set->has_replacements ? set->replacements : nullptr;
  status = execute(run);
  model->constants->give_back(set);
  return status;
}

void free_output(ingot_model*, void* data) {
  release(data);
}

ingot_status set_constants(ingot_model* model, const char* const* names, const ingot_tensor* values,
                           u32 count) {
  const ingot_status status = check_usable(model, "set_constants");
  if (status != INGOT_OK) return status;
  if (count > 0 && (names == nullptr || values == nullptr)) {
    return fail(INGOT_INVALID_ARGUMENT, "set_constants: expected names and values, got null");
  }
  if (count == 0) return INGOT_OK;
  return model->constants->set(names, view_tensors(values, count), *model->pool);
}

ingot_status get_constant(ingot_model* model, const char* name, ingot_tensor* value) {
  const ingot_status status = check_usable(model, "get_constant");
  if (status != INGOT_OK) return status;
  if (value == nullptr || value->struct_size < sizeof *value) {
    return fail(INGOT_INVALID_ARGUMENT, "get_constant: expected a tensor with its struct_size");
  }
  return model->constants->get(name, value);
}

ingot_status verify_weights(const ingot_model* model) {
  const ingot_status status = check_usable(model, "verify_weights");
  return status != INGOT_OK ? status : check_weights(*model->description, model->weights);
}

constexpr ingot_model_api kApi = {
    .struct_size = sizeof(ingot_model_api),
    .abi_version = INGOT_ABI_VERSION,
    .open = open,
    .close = close_model,
    .last_error = last_error,
    .describe = describe,
    .input = input,
    .output = output,
    .state = state,
    .symbol = symbol,
    .constant = constant,
    .metadata = metadata,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .free_output = free_output,
    .set_constants = set_constants,
    .get_constant = get_constant,
    .verify_weights = verify_weights,
};

}  // namespace
}  // namespace ingot::artifact

extern "C" __attribute__((visibility("default"))) const ingot_model_api* ingot_model_v1(void) {
  return &ingot::artifact::kApi;
}
