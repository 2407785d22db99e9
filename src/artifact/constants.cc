// artifact/constants.cc: finding, replacing, preparing and reading back constants.
#include "artifact/constants.h"

#include "artifact/bind.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

using ll = long long;

i64 constant_bytes(const Constant& constant) {
  return dense_bytes(constant.dtype, constant.rank, constant.dims);
}

void free_set(ConstantSet* set) {
  if (set == nullptr) return;
  release(set->copies);
  release(set->prepared);
  release(set);
}

ingot_status fail_for_memory(i64 bytes) {
  return fail(INGOT_RESOURCE_EXHAUSTED, "constants: no memory for %lld bytes",
              static_cast<ll>(bytes));
}

}  // namespace

ConstantStore::~ConstantStore() {
  free_set(current_);
  free_program_runtime(prepare_);
  release(prepared_bytes_);
  release(prepared_of_);
  for (u32 i = 0; aligned_ != nullptr && i < model_.constant_count; ++i) release(aligned_[i]);
  release(aligned_);
}

ConstantSet* ConstantStore::acquire() {
  Locked locked(mutex_);
  ++current_->uses;
  return current_;
}

void ConstantStore::give_back(ConstantSet* set) {
  bool last;
  {
    Locked locked(mutex_);
    last = --set->uses == 0;
  }
  if (last) free_set(set);
}

ingot_status ConstantStore::find(const char* name, const char* where, u32* index) const {
  if (name == nullptr) return fail(INGOT_INVALID_ARGUMENT, "%s: expected a name, got null", where);
  for (u32 i = 0; i < model_.constant_count; ++i) {
    if (strcmp(model_.constants[i].name, name) != 0) continue;
    *index = i;
    return INGOT_OK;
  }
  return fail(INGOT_INVALID_ARGUMENT, "%s: the model has no constant '%s'", where, name);
}

ingot_status ConstantStore::make_set(ConstantSet** set) const {
  const i64 head = round_up(sizeof(ConstantSet), 8);
  const i64 constants = model_.constant_count, values = main_.program->value_count;
  u8* memory = allocate_array<u8>(head + 8 * (constants + values) + constants);
  if (memory == nullptr) return fail_for_memory(head + 8 * (constants + values) + constants);
  *set = new (In{memory}) ConstantSet{};
  (*set)->uses = 1;
  (*set)->originals = reinterpret_cast<const void**>(memory + head);
  (*set)->replacements = reinterpret_cast<const void**>(memory + head + 8 * constants);
  (*set)->is_replaced = memory + head + 8 * (constants + values);
  return INGOT_OK;
}

// Where a constant's original bytes are, if they came with the model.
ingot_status ConstantStore::find_original(u32 index, const void** original) {
  const Constant& constant = model_.constants[index];
  *original = nullptr;
  if (constant.offset >= 0 && weights_.base != nullptr) {
    *original = weights_.base + constant.offset;
  } else if (constant.source_file != 0 && constant.source_file <= weights_.source_count) {
    const MappedFile& file = weights_.sources[constant.source_file - 1];
    const i64 bytes = constant_bytes(constant);
    if (constant.source_offset > static_cast<u64>(file.bytes) ||
        static_cast<u64>(bytes) > static_cast<u64>(file.bytes) - constant.source_offset) {
      return fail(INGOT_INVALID_MODEL, "constant '%s': lies outside its original file",
                  constant.name);
    }
    *original = at_offset(file.data, static_cast<i64>(constant.source_offset));
    if (is_aligned(*original, dtype_alignment(constant.dtype))) return INGOT_OK;
    aligned_[index] = allocate(bytes);
    if (aligned_[index] == nullptr) return fail_for_memory(bytes);
    memcpy(aligned_[index], *original, static_cast<size_t>(bytes));
    *original = aligned_[index];
  }
  return INGOT_OK;
}

// How big the prepared constants are, and which values of the main program lie in them.
ingot_status ConstantStore::measure_prepared() {
  const Program& program = *model_.prepare;
  const Program& main = *main_.program;
  if (program.output_count != model_.prepared_count) {
    return fail(INGOT_INVALID_MODEL,
                "open: %u outputs of the prepare program, %u prepared constants",
                program.output_count, model_.prepared_count);
  }
  prepared_bytes_ = allocate_array<i64>(model_.prepared_count);
  prepared_of_ = allocate_array<u32>(main.value_count);
  if (prepared_bytes_ == nullptr || prepared_of_ == nullptr) return fail_for_memory(0);
  for (u32 i = 0; i < model_.prepared_count; ++i) {
    const Port& port = program.outputs[model_.prepared[i].prepare_output];
    i64 dims[kMaxRank];
    for (u32 a = 0; a < port.rank; ++a) {
      if (port.dims[a].symbol != -1) {
        return fail(INGOT_INVALID_MODEL, "open: prepared constant '%s' has a variable shape",
                    port.name);
      }
      dims[a] = port.dims[a].value;
    }
    prepared_bytes_[i] = dense_bytes(port.dtype, port.rank, dims);
    prepared_total_ = add_size(prepared_total_, round_up(prepared_bytes_[i], kAlignment));
    for (u32 v = 0; v < main.value_count; ++v) {
      const i64 offset = main.values[v].offset - model_.prepared[i].offset;
      const bool inside = offset == 0 || (offset > 0 && offset < prepared_bytes_[i]);
      if (main.values[v].kind == ValueKind::constant && inside) prepared_of_[v] = i + 1;
    }
  }
  return INGOT_OK;
}

ingot_status ConstantStore::open(const KernelFn* prepare_kernels, u8* writable,
                                 const ingot_thread_pool& pool) {
  ConstantSet* set = nullptr;
  ingot_status status = make_set(&set);
  if (status != INGOT_OK) return status;
  current_ = set;
  aligned_ = allocate_array<void*>(model_.constant_count);
  if (aligned_ == nullptr) return fail_for_memory(0);
  for (u32 i = 0; i < model_.constant_count; ++i) {
    status = find_original(i, &set->originals[i]);
    if (status != INGOT_OK) return status;
  }
  if (model_.prepare == nullptr || prepare_kernels == nullptr) {
    if (writable == nullptr) return INGOT_OK;
    return fail(INGOT_INVALID_MODEL, "open: stripped weights, but no program that prepares them");
  }
  status = measure_prepared();
  if (status == INGOT_OK) {
    status = make_program_runtime(*model_.prepare, prepare_kernels, 1, &prepare_);
  }
  if (status != INGOT_OK || writable == nullptr) return status;
  return prepare_stripped(*set, writable, pool);
}

ingot_status ConstantStore::prepare(const ConstantSet& set, u8* const* places,
                                    const ingot_thread_pool& pool) {
  const Program& program = *model_.prepare;
  ingot_tensor* tensors = allocate_array<ingot_tensor>(program.input_count + program.output_count);
  if (tensors == nullptr) return fail_for_memory(0);
  ingot_tensor* outputs = tensors + program.input_count;
  for (u32 i = 0; i < program.input_count + program.output_count; ++i) {
    const bool is_input = i < program.input_count;
    const Port& port = is_input ? program.inputs[i] : program.outputs[i - program.input_count];
    tensors[i].struct_size = sizeof(ingot_tensor);
    tensors[i].dtype = port.dtype;
    tensors[i].rank = static_cast<i32>(port.rank);
  }
  ingot_status status = INGOT_OK;
  for (u32 i = 0; i < model_.constant_count; ++i) {
    const Constant& constant = model_.constants[i];
    if (!constant.replaceable || constant.prepare_input >= program.input_count) continue;
    tensors[constant.prepare_input].data = const_cast<void*>(set.originals[i]);
    tensors[constant.prepare_input].dims = const_cast<i64*>(constant.dims);
    if (set.originals[i] == nullptr && constant_bytes(constant) > 0) {
      status = fail(INGOT_UNSUPPORTED,
                    "constant '%s': its original value was not kept; set it in the same call",
                    constant.name);
    }
  }
  for (u32 i = 0; i < model_.prepared_count; ++i) {
    ingot_tensor& output = outputs[model_.prepared[i].prepare_output];
    output.data = places[i];
    output.dims = nullptr;
    output.data_bytes = static_cast<size_t>(max(prepared_bytes_[i], 1));
  }
  if (status == INGOT_OK) {
    const ingot_run_options options = {};
    RunHeap heap;
    Run run = {};
    run.heap = &heap;
    run.runtime = prepare_;
    run.weights = weights_.base;
    run.inputs = {reinterpret_cast<u8*>(tensors), program.input_count, sizeof(ingot_tensor)};
    run.outputs = {reinterpret_cast<u8*>(outputs), program.output_count, sizeof(ingot_tensor)};
    run.options = &options;
    run.pool = &pool;
    run.threads = pool.size;
    status = execute(run);
  }
  release(tensors);
  return status;
}

ingot_status ConstantStore::prepare_stripped(const ConstantSet& set, u8* writable,
                                             const ingot_thread_pool& pool) {
  u8** places = allocate_array<u8*>(model_.prepared_count);
  if (places == nullptr) return fail_for_memory(0);
  for (u32 i = 0; i < model_.prepared_count; ++i) places[i] = writable + model_.prepared[i].offset;
  const ingot_status status = prepare(set, places, pool);
  release(places);
  return status;
}

ingot_status ConstantStore::prepare_new(ConstantSet* set, const ingot_thread_pool& pool) {
  u8** places = allocate_array<u8*>(model_.prepared_count);
  set->prepared = allocate(prepared_total_, kPageBytes);
  if (places == nullptr || set->prepared == nullptr) {
    release(places);
    return fail_for_memory(prepared_total_);
  }
  u8* next = static_cast<u8*>(set->prepared);
  for (u32 i = 0; i < model_.prepared_count; ++i) {
    places[i] = next;
    next += round_up(prepared_bytes_[i], kAlignment);
  }
  for (u32 v = 0; v < main_.program->value_count; ++v) {
    if (prepared_of_[v] == 0) continue;
    const u32 i = prepared_of_[v] - 1;
    set->replacements[v] =
        at_offset(places[i], main_.program->values[v].offset - model_.prepared[i].offset);
  }
  set->has_replacements = true;
  const ingot_status status = prepare(*set, places, pool);
  release(places);
  return status;
}

ingot_status ConstantStore::check_value(u32 index, const ingot_tensor& value) const {
  const Constant& constant = model_.constants[index];
  const char* name = constant.name;
  if (value.struct_size < sizeof(ingot_tensor)) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': struct_size is %u, expected %zu", name,
                value.struct_size, sizeof(ingot_tensor));
  }
  if (value.kind != INGOT_KIND_TENSOR || value.strides != nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected a row-major tensor", name);
  }
  if (value.dtype != constant.dtype) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected %s, got %s (dtype %d)", name,
                dtype_name(constant.dtype), dtype_name(value.dtype), value.dtype);
  }
  if (value.rank != static_cast<i32>(constant.rank) ||
      (constant.rank > 0 && value.dims == nullptr)) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected rank %u, got %d", name,
                constant.rank, value.dims == nullptr ? 0 : value.rank);
  }
  for (u32 a = 0; a < constant.rank; ++a) {
    if (value.dims[a] == constant.dims[a]) continue;
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': dim %u: expected %lld, got %lld", name, a,
                static_cast<ll>(constant.dims[a]), static_cast<ll>(value.dims[a]));
  }
  const i64 bytes = constant_bytes(constant);
  if ((value.data == nullptr && bytes > 0) ||
      (value.data_bytes != 0 && value.data_bytes < static_cast<size_t>(bytes))) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected %lld bytes, got %s", name,
                static_cast<ll>(bytes), value.data == nullptr ? "null" : "fewer");
  }
  return INGOT_OK;
}

// The new set owns copies of every original that is not the model's own.
ingot_status ConstantStore::copy_originals(const ConstantSet& before, const void* const* given,
                                           ConstantSet* set) const {
  i64 total = 0;
  for (u32 i = 0; i < model_.constant_count; ++i) {
    set->is_replaced[i] = given[i] != nullptr || before.is_replaced[i] != 0;
    if (set->is_replaced[i] == 0) continue;
    total = add_size(total, round_up(constant_bytes(model_.constants[i]), kAlignment));
  }
  set->copies = allocate(total);
  if (set->copies == nullptr) return fail_for_memory(total);
  u8* next = static_cast<u8*>(set->copies);
  for (u32 i = 0; i < model_.constant_count; ++i) {
    set->originals[i] = before.originals[i];
    if (set->is_replaced[i] == 0) continue;
    const i64 bytes = constant_bytes(model_.constants[i]);
    memcpy(next, given[i] != nullptr ? given[i] : before.originals[i], static_cast<size_t>(bytes));
    set->originals[i] = next;
    next += round_up(bytes, kAlignment);
  }
  return INGOT_OK;
}

// Where the caller's new values are, by constant.
ingot_status ConstantStore::check_values(const char* const* names, const Tensors& values,
                                         const void** given) const {
  for (u32 k = 0; k < values.count; ++k) {
    u32 index = 0;
    ingot_status status = find(names[k], "set_constants", &index);
    if (status != INGOT_OK) return status;
    const Constant& constant = model_.constants[index];
    if (!constant.replaceable || prepare_ == nullptr) {
      return fail(INGOT_INVALID_ARGUMENT,
                  "constant '%s': cannot be replaced; compile the model with --updatable",
                  constant.name);
    }
    if (given[index] != nullptr) {
      return fail(INGOT_INVALID_ARGUMENT, "constant '%s': given twice", constant.name);
    }
    status = check_value(index, values[k]);
    if (status != INGOT_OK) return status;
    given[index] = values[k].data != nullptr ? values[k].data : this;  // no bytes: never read
  }
  return INGOT_OK;
}

ingot_status ConstantStore::set(const char* const* names, const Tensors& values,
                                const ingot_thread_pool& pool) {
  Locked locked(update_);
  const void** given = allocate_array<const void*>(model_.constant_count);
  ConstantSet* set = nullptr;
  ingot_status status = given == nullptr ? fail_for_memory(i64{8} * model_.constant_count)
                                         : check_values(names, values, given);
  if (status == INGOT_OK) status = make_set(&set);
  if (status == INGOT_OK) status = copy_originals(*current_, given, set);
  if (status == INGOT_OK) status = prepare_new(set, pool);
  release(given);
  if (status != INGOT_OK) {
    free_set(set);
    return status;
  }
  ConstantSet* before;
  {
    Locked swap(mutex_);
    before = current_;
    current_ = set;
  }
  give_back(before);
  return INGOT_OK;
}

ingot_status ConstantStore::get(const char* name, ingot_tensor* value) {
  u32 index = 0;
  ingot_status status = find(name, "get_constant", &index);
  if (status != INGOT_OK) return status;
  const Constant& constant = model_.constants[index];
  const i64 bytes = constant_bytes(constant);
  if (value->data == nullptr && bytes > 0) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected room for %lld bytes, got null",
                name, static_cast<ll>(bytes));
  }
  if (value->dims != nullptr && value->rank != static_cast<i32>(constant.rank)) {
    return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected rank %u, got %d", name,
                constant.rank, value->rank);
  }
  if (value->data_bytes != 0 && value->data_bytes >= static_cast<size_t>(bytes)) {
    if (value->dtype != constant.dtype) {
      return fail(INGOT_INVALID_ARGUMENT, "constant '%s': expected %s, got %s (dtype %d)", name,
                  dtype_name(constant.dtype), dtype_name(value->dtype), value->dtype);
    }
  } else {
    status = check_value(index, *value);
    if (status != INGOT_OK) return status;
  }
  ConstantSet* set = acquire();
  const void* original = set->originals[index];
  if (original != nullptr && bytes > 0) memcpy(value->data, original, static_cast<size_t>(bytes));
  give_back(set);
  if (original == nullptr) {
    return fail(INGOT_UNSUPPORTED, "constant '%s': its original value was not kept", name);
  }
  value->rank = static_cast<i32>(constant.rank);
  for (u32 a = 0; value->dims != nullptr && a < constant.rank; ++a)
    value->dims[a] = constant.dims[a];
  return INGOT_OK;
}

}  // namespace ingot::artifact
