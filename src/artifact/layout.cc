// artifact/layout.cc: resolves aliases, joins lifetimes, groups values by when sizes become known.
#include "artifact/layout.h"

#include "artifact/error.h"

namespace ingot::artifact {
namespace {

// Hands out zeroed arrays from one block of memory.
struct Carver {
  u8* next;

  template <class T>
  T* take(i64 count) {
    T* array = reinterpret_cast<T*>(next);
    next += round_up(count * static_cast<i64>(sizeof(T)), 8);
    return array;
  }
};

ingot_status check_ranks(const Program& program) {
  for (u32 i = 0; i < program.input_count + program.output_count; ++i) {
    const Port& port =
        i < program.input_count ? program.inputs[i] : program.outputs[i - program.input_count];
    if (port.rank <= kMaxRank) continue;
    return fail(INGOT_INVALID_MODEL, "open: '%s' has %u dims, expected at most %u", port.name,
                port.rank, kMaxRank);
  }
  return INGOT_OK;
}

ingot_status find_roots(Layout* layout) {
  const Program& program = *layout->program;
  for (u32 v = 0; v < program.value_count; ++v) {
    u32 root = v, hops = 0;
    i64 offset = 0;
    while (program.values[root].kind == ValueKind::alias) {
      offset += program.values[root].offset;
      root = program.values[root].base;
      if (root >= program.value_count || ++hops > program.value_count) {
        return fail(INGOT_INVALID_MODEL, "open: value %u of the program is an alias of nothing", v);
      }
    }
    layout->root[v] = root;
    layout->root_offset[v] = offset;
  }
  return INGOT_OK;
}

void join_lifetimes(Layout* layout) {
  const Program& program = *layout->program;
  for (u32 v = 0; v < program.value_count; ++v) {
    layout->first_step[v] = program.values[v].first_step;
    layout->last_step[v] = program.values[v].last_step;
  }
  for (u32 v = 0; v < program.value_count; ++v) {
    const Value& value = program.values[v];
    const u32 root = layout->root[v];
    if (value.first_step < layout->first_step[root]) layout->first_step[root] = value.first_step;
    if (value.last_step > layout->last_step[root]) layout->last_step[root] = value.last_step;
  }
}

ingot_status group_values(Layout* layout) {
  const Program& program = *layout->program;
  for (u32 s = 0; s < program.step_count; ++s) {
    const u32 operands = program.steps[s].operand_count;
    if (operands > layout->most_operands) layout->most_operands = operands;
    layout->most_kernel_symbols =
        max(layout->most_kernel_symbols, program.steps[s].kernel_symbol_count);
    if (program.steps[s].symbol_count > 0) layout->group_step[layout->group_count++] = s;
  }
  for (u32 v = 0; v < program.value_count; ++v) {
    const u32 root = layout->root[v];
    const u32 needs = program.values[root].needs_symbol;
    if (needs == 0) continue;
    u32 group = 0;
    for (u32 g = 0; g < layout->group_count; ++g) {
      const Step& step = program.steps[layout->group_step[g]];
      const u32 symbol = needs - 1;
      if (symbol >= step.first_symbol && symbol < step.first_symbol + step.symbol_count) {
        group = g + 1;
      }
    }
    if (group == 0) {
      return fail(INGOT_INVALID_MODEL,
                  "open: value %u of the program needs symbol %u, which no step defines", root,
                  needs - 1);
    }
    layout->group[v] = group;
  }
  return INGOT_OK;
}

void mark(Layout* layout, i32 symbol) {
  if (symbol >= 0) layout->bound[symbol] = 1;
}

void mark_bound_symbols(Layout* layout) {
  const Program& program = *layout->program;
  for (u32 i = 0; i < program.input_count; ++i) {
    for (u32 a = 0; a < program.inputs[i].rank; ++a) mark(layout, program.inputs[i].dims[a].symbol);
  }
  for (u32 i = 0; i < program.state_count; ++i) {
    const StatePort& state = program.states[i];
    mark(layout, state.batch_symbol);
    mark(layout, state.capacity_symbol);
    mark(layout, state.table_symbol);
    mark(layout, state.max_length_symbol);
  }
}

}  // namespace

void derive_symbols(const Program& program, i64* symbols) {
  if (program.derived_count > 0) program.derive(symbols);
}

const i64* gather_symbols(const Step& step, const i64* symbols, i64* room) {
  for (u32 k = 0; k < step.kernel_symbol_count; ++k) room[k] = symbols[step.kernel_symbols[k]];
  return room;
}

ingot_status make_layout(const Program& program, Layout* layout) {
  const i64 values = program.value_count, steps = program.step_count;
  *layout = {};
  layout->program = &program;
  layout->memory =
      allocate_array<u8>(values * i64{5 * 4 + 8} + steps * 4 + program.symbol_count + i64{8} * 8);
  if (layout->memory == nullptr) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for the program's tables");
  }
  Carver carver = {static_cast<u8*>(layout->memory)};
  layout->root = carver.take<u32>(values);
  layout->root_offset = carver.take<i64>(values);
  layout->first_step = carver.take<u32>(values);
  layout->last_step = carver.take<u32>(values);
  layout->group = carver.take<u32>(values);
  layout->group_step = carver.take<u32>(program.step_count);
  layout->bound = carver.take<u8>(program.symbol_count);
  ingot_status status = check_ranks(program);
  if (status == INGOT_OK) status = find_roots(layout);
  if (status != INGOT_OK) return status;
  join_lifetimes(layout);
  mark_bound_symbols(layout);
  for (u32 s = 0; s < program.symbol_count; ++s) {
    const Symbol& symbol = program.symbols[s];
    if (layout->bound[s] == 0 && !program.is_body && !symbol.data_dependent &&
        symbol.lo != symbol.hi) {
      return fail(INGOT_INVALID_MODEL, "open: no input tells the value of symbol '%s'",
                  symbol.name);
    }
  }
  return group_values(layout);
}

void free_layout(Layout* layout) {
  release(layout->memory);
  *layout = {};
}

}  // namespace ingot::artifact
