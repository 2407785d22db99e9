// artifact/describe.cc: makes the tables of the description when a model is opened.
#include "artifact/describe.h"

#include <stdio.h>

#include "artifact/bind.h"
#include "artifact/error.h"
#include "artifact/weights.h"

namespace ingot::artifact {
namespace {

ingot_dim_info describe_symbol_dim(const Program& program, i32 symbol) {
  const Symbol& s = program.symbols[symbol];
  return {-1, symbol, 0, s.lo, s.hi, max(s.divisor, 1), s.name};
}

ingot_dim_info describe_dim(const Program& program, const Dim& dim, const char* text) {
  ingot_dim_info info = {-1, -1, 0, 0, INT64_MAX, 1, text};
  if (dim.symbol >= 0) {
    info = describe_symbol_dim(program, dim.symbol);
    if (text != nullptr) info.text = text;
  } else if (dim.symbol == -1) {
    info.value = info.min = info.max = dim.value;
  }
  return info;
}

u32 count_dims(const Program& program) {
  u32 count = 0;
  for (u32 i = 0; i < program.input_count; ++i) count += program.inputs[i].rank;
  for (u32 i = 0; i < program.output_count; ++i) count += program.outputs[i].rank;
  return count;
}

void describe_port(const Program& program, const Port& port, ingot_dim_info*& dims,
                   ingot_value_info* info) {
  info->struct_size = sizeof *info;
  info->dtype = port.dtype;
  info->kind = port.kind;
  info->element_kind = port.element_kind;
  info->key_dtype = port.key_dtype;
  info->rank = static_cast<i32>(port.rank);
  info->name = port.name;
  info->dims = dims;
  info->alignment = static_cast<u32>(port.kind == INGOT_KIND_TENSOR ? dtype_alignment(port.dtype)
                                                                    : alignof(ingot_container));
  info->data_dependent = program.values[port.value].needs_symbol != 0;
  for (u32 a = 0; a < port.rank; ++a) {
    *dims++ =
        describe_dim(program, port.dims[a], port.dim_text == nullptr ? nullptr : port.dim_text[a]);
  }
}

void describe_state(const Program& program, const StatePort& port, ingot_state_info* info) {
  info->struct_size = sizeof *info;
  info->dtype = port.dtype;
  info->layout = port.layout == StateLayout::paged ? INGOT_STATE_PAGED : INGOT_STATE_CONTIGUOUS;
  info->token_rank = static_cast<i32>(port.token_rank);
  info->name = port.name;
  info->output_name = port.output_name;
  info->token_dims = port.token_dims;
  info->block_size = port.block_size;
  info->batch = describe_dim(
      program, {port.fixed_batch, port.batch_symbol < 0 ? -1 : port.batch_symbol}, nullptr);
  info->appended = port.appended >= 0 ? port.appended : -1;
  info->appended_symbol = port.appended >= 0 ? -1 : static_cast<i32>(-1 - port.appended);
}

template <class T>
T* take(u8*& next, i64 count) {
  T* array = reinterpret_cast<T*>(next);
  next += count * static_cast<i64>(sizeof(T));
  return array;
}

// "x86-64-v4, x86-64-v3" into `text`, or with null the bytes that it takes.
i64 join_levels(const Model& model, char* text) {
  i64 length = 0;
  for (u32 i = 0; i < model.level_count; ++i) {
    if (i > 0) {
      if (text != nullptr) memcpy(text + length, ", ", 2);
      length += 2;
    }
    const i64 bytes = static_cast<i64>(strlen(model.levels[i].name));
    if (text != nullptr) memcpy(text + length, model.levels[i].name, static_cast<size_t>(bytes));
    length += bytes;
  }
  if (text != nullptr) text[length] = 0;
  return length + 1;
}

void describe_model(const Model& model, const Level* level, char* levels, ingot_description* info) {
  const Program& program = *model.main;
  info->struct_size = sizeof *info;
  info->input_count = program.input_count;
  info->output_count = program.output_count;
  info->state_count = program.state_count;
  info->symbol_count = program.symbol_count;
  info->constant_count = model.constant_count;
  info->metadata_count = model.metadata_count;
  info->step_count = program.step_count;
  info->name = model.name;
  info->hash = model.hash;
  info->target = model.target;
  info->level = level == nullptr ? nullptr : level->name;
  info->levels = levels;
  info->toolchain = model.toolchain;
  info->compiler_version = model.compiler_version;
  info->weight_bytes = model.weights.bytes;
  info->weights = weights_kind_name(model.weights.kind);
}

}  // namespace

ingot_status make_tables(const Model& model, const Level* level, Tables* tables) {
  const Program& program = *model.main;
  const i64 bytes =
      static_cast<i64>(sizeof(ingot_value_info)) * (program.input_count + program.output_count) +
      static_cast<i64>(sizeof(ingot_state_info)) * program.state_count +
      static_cast<i64>(sizeof(ingot_symbol_info)) * program.symbol_count +
      static_cast<i64>(sizeof(ingot_constant_info)) * model.constant_count +
      static_cast<i64>(sizeof(ingot_dim_info)) * count_dims(program) + join_levels(model, nullptr);
  *tables = {};
  u8* next = allocate_array<u8>(bytes);
  if (next == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for the description");
  tables->memory = next;
  tables->inputs = take<ingot_value_info>(next, program.input_count);
  tables->outputs = take<ingot_value_info>(next, program.output_count);
  tables->states = take<ingot_state_info>(next, program.state_count);
  tables->symbols = take<ingot_symbol_info>(next, program.symbol_count);
  tables->constants = take<ingot_constant_info>(next, model.constant_count);
  ingot_dim_info* dims = take<ingot_dim_info>(next, count_dims(program));
  char* levels = reinterpret_cast<char*>(next);
  join_levels(model, levels);
  describe_model(model, level, levels, &tables->description);
  for (u32 i = 0; i < program.input_count; ++i) {
    describe_port(program, program.inputs[i], dims, &tables->inputs[i]);
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    describe_port(program, program.outputs[i], dims, &tables->outputs[i]);
  }
  for (u32 i = 0; i < program.state_count; ++i) {
    describe_state(program, program.states[i], &tables->states[i]);
  }
  for (u32 i = 0; i < program.symbol_count; ++i) {
    const Symbol& s = program.symbols[i];
    tables->symbols[i] = {sizeof(ingot_symbol_info), s.data_dependent, s.name, s.lo, s.hi,
                          max(s.divisor, 1)};
  }
  for (u32 i = 0; i < model.constant_count; ++i) {
    const Constant& c = model.constants[i];
    tables->constants[i] = {sizeof(ingot_constant_info),
                            c.dtype,
                            static_cast<i32>(c.rank),
                            c.replaceable,
                            c.name,
                            c.dims,
                            c.offset >= 0 || c.source_file != 0};
  }
  return INGOT_OK;
}

void free_tables(Tables* tables) {
  release(tables->memory);
  *tables = {};
}

}  // namespace ingot::artifact
