// artifact/bind.cc: checks the caller's tensors and connects them with a program's values.
#include "artifact/bind.h"

#include "artifact/copy.h"
#include "artifact/error.h"
#include "artifact/handles.h"
#include "artifact/state.h"

namespace ingot::artifact {
namespace {

using ll = long long;

// What values without a byte point to.
alignas(kAlignment) u8 nothing[kAlignment];

constexpr u32 kUnbound = ~0u;

// Whether the caller sees something else than the program, which has handles.
bool is_packed(const Port& port) {
  return port.kind != INGOT_KIND_TENSOR || port.dtype == INGOT_STRING;
}

// The fields that hold for inputs and outputs alike.
ingot_status check_tensor(const ingot_tensor& tensor, const Port& port, const char* side) {
  if (tensor.struct_size < sizeof(ingot_tensor) || tensor.struct_size > kLongestTensorStruct) {
    return fail(INGOT_INVALID_ARGUMENT,
                "%s '%s': struct_size is %u, expected %zu; initialise with INGOT_INIT", side,
                port.name, tensor.struct_size, sizeof(ingot_tensor));
  }
  if (tensor.kind != port.kind) {
    return fail(INGOT_INVALID_ARGUMENT, "%s '%s': expected %s, got kind %d", side, port.name,
                port.kind == INGOT_KIND_TENSOR     ? "a tensor"
                : port.kind == INGOT_KIND_SEQUENCE ? "a sequence"
                : port.kind == INGOT_KIND_MAP      ? "a map"
                                                   : "an optional",
                tensor.kind);
  }
  if (tensor.device_type != INGOT_DEVICE_DEFAULT && tensor.device_type != INGOT_DEVICE_CPU) {
    return fail(INGOT_INVALID_ARGUMENT, "%s '%s': expected memory of the CPU, got device type %d",
                side, port.name, tensor.device_type);
  }
  if (port.kind != INGOT_KIND_TENSOR) return INGOT_OK;
  if (tensor.dtype != port.dtype) {
    return fail(INGOT_INVALID_ARGUMENT, "%s '%s': expected %s, got %s (dtype %d)", side, port.name,
                dtype_name(port.dtype), dtype_name(tensor.dtype), tensor.dtype);
  }
  if (tensor.data != nullptr && !is_aligned(tensor.data, dtype_alignment(port.dtype))) {
    return fail(INGOT_INVALID_ARGUMENT,
                "%s '%s': data at %p is not aligned to its %lld-byte elements", side, port.name,
                tensor.data, static_cast<ll>(dtype_alignment(port.dtype)));
  }
  return INGOT_OK;
}

ingot_status check_strides(const ingot_tensor& tensor, const Port& port, const char* side) {
  if (tensor.strides == nullptr) return INGOT_OK;
  if (dtype_bits(port.dtype) < 8) {
    return fail(INGOT_INVALID_ARGUMENT, "%s '%s': %s is packed and cannot have strides", side,
                port.name, dtype_name(port.dtype));
  }
  for (u32 a = 0; a < port.rank; ++a) {
    if (tensor.strides[a] >= 0) continue;
    return fail(INGOT_INVALID_ARGUMENT, "%s '%s': stride %u: expected at least 0, got %lld", side,
                port.name, a, static_cast<ll>(tensor.strides[a]));
  }
  return INGOT_OK;
}

// An upper bound of the bytes that the tensor's elements span.
i64 spanned_bytes(const ingot_tensor& tensor, u32 rank, const i64* dims) {
  if (tensor.strides == nullptr) return dense_bytes(tensor.dtype, rank, dims);
  i64 last = 0;
  for (u32 a = 0; a < rank; ++a) {
    if (dims[a] == 0) return 0;
    last = add_size(last, multiply_size(tensor.strides[a], dims[a] - 1));
  }
  return multiply_size(add_size(last, 1), dtype_bits(tensor.dtype) / 8);
}

// One dim of an input: fixed, or a symbol's first or another value.
ingot_status bind_dim(Run& run, u32 input, u32 axis, i64 got) {
  const Port& port = run.program().inputs[input];
  const Dim& dim = port.dims[axis];
  Workspace& workspace = *run.workspace;
  if (dim.symbol < -1) return INGOT_OK;
  if (dim.symbol < 0) {
    if (got == dim.value) return INGOT_OK;
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': dim %u: expected %lld, got %lld", port.name,
                axis, static_cast<ll>(dim.value), static_cast<ll>(got));
  }
  const Symbol& symbol = run.program().symbols[dim.symbol];
  if (workspace.bound_port[dim.symbol] != kUnbound) {
    if (got == workspace.symbols[dim.symbol]) return INGOT_OK;
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': dim %u ('%s'): expected %lld as in dim %u of '%s', got %lld",
                port.name, axis, symbol.name, static_cast<ll>(workspace.symbols[dim.symbol]),
                workspace.bound_axis[dim.symbol],
                run.program().inputs[workspace.bound_port[dim.symbol]].name, static_cast<ll>(got));
  }
  if (got < symbol.lo || got > symbol.hi) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': dim %u ('%s'): expected %lld..%lld, got %lld",
                port.name, axis, symbol.name, static_cast<ll>(symbol.lo),
                static_cast<ll>(symbol.hi), static_cast<ll>(got));
  }
  if (symbol.divisor > 1 && got % symbol.divisor != 0) {
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': dim %u ('%s'): expected a multiple of %lld, got %lld", port.name, axis,
                symbol.name, static_cast<ll>(symbol.divisor), static_cast<ll>(got));
  }
  workspace.symbols[dim.symbol] = got;
  workspace.bound_port[dim.symbol] = input;
  workspace.bound_axis[dim.symbol] = axis;
  return INGOT_OK;
}

ingot_status check_input(Run& run, u32 index) {
  const Port& port = run.program().inputs[index];
  const ingot_tensor& tensor = run.inputs[index];
  ingot_status status = check_tensor(tensor, port, "input");
  if (status != INGOT_OK) return status;
  if (port.kind != INGOT_KIND_TENSOR) return check_handles(tensor, port);
  if (tensor.rank != static_cast<i32>(port.rank)) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected rank %u, got %d", port.name,
                port.rank, tensor.rank);
  }
  if (port.rank > 0 && tensor.dims == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected %u dims, got null", port.name,
                port.rank);
  }
  for (u32 a = 0; a < port.rank; ++a) {
    status = bind_dim(run, index, a, tensor.dims[a]);
    if (status != INGOT_OK) return status;
  }
  status = check_strides(tensor, port, "input");
  if (status != INGOT_OK) return status;
  const i64 bytes = spanned_bytes(tensor, port.rank, tensor.dims);
  if (tensor.data == nullptr && bytes > 0) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected data, got null", port.name);
  }
  if (bytes > PTRDIFF_MAX / 2 ||
      (tensor.data_bytes != 0 && static_cast<u64>(bytes) > tensor.data_bytes)) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected %lld bytes for its dims, got %zu",
                port.name, static_cast<ll>(bytes), tensor.data_bytes);
  }
  return is_packed(port) ? check_handles(tensor, port) : INGOT_OK;
}

bool is_strided(const Port& port, const ingot_tensor& tensor) {
  return port.kind == INGOT_KIND_TENSOR && !is_row_major(tensor);
}

ingot_status reserve_staging(Run& run) {
  i64 total = 0;
  const Program& program = run.program();
  for (u32 i = 0; i < program.input_count; ++i) {
    const ingot_tensor& tensor = run.inputs[i];
    run.workspace->staged_inputs[i] = nullptr;
    if (!is_strided(program.inputs[i], tensor)) continue;
    total = add_size(total,
                     round_up(dense_bytes(tensor.dtype, static_cast<u32>(tensor.rank), tensor.dims),
                              kAlignment));
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    const ingot_tensor& tensor = run.outputs[i];
    run.workspace->staged_outputs[i] = nullptr;
    if (tensor.data == nullptr || tensor.strides == nullptr) continue;
    total = add_size(total,
                     round_up(dense_bytes(tensor.dtype, static_cast<u32>(tensor.rank), tensor.dims),
                              kAlignment));
  }
  if (run.workspace->staging.reserve(total)) return INGOT_OK;
  return fail(INGOT_RESOURCE_EXHAUSTED,
              "run: no memory for %lld bytes of copies of strided tensors", static_cast<ll>(total));
}

void stage_tensors(Run& run) {
  u8* next = static_cast<u8*>(run.workspace->staging.data);
  const Program& program = run.program();
  for (u32 i = 0; i < program.input_count; ++i) {
    const ingot_tensor& tensor = run.inputs[i];
    if (!is_strided(program.inputs[i], tensor)) continue;
    copy_strided(tensor, next, CopyDirection::gather);
    run.workspace->staged_inputs[i] = next;
    next +=
        round_up(dense_bytes(tensor.dtype, static_cast<u32>(tensor.rank), tensor.dims), kAlignment);
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    const ingot_tensor& tensor = run.outputs[i];
    if (tensor.data == nullptr || tensor.strides == nullptr) continue;
    run.workspace->staged_outputs[i] = next;
    next +=
        round_up(dense_bytes(tensor.dtype, static_cast<u32>(tensor.rank), tensor.dims), kAlignment);
  }
}

// The fields of an output that can be checked before its shape is known.
ingot_status check_output(const Run& run, u32 index) {
  const Port& port = run.program().outputs[index];
  const ingot_tensor& tensor = run.outputs[index];
  ingot_status status = check_tensor(tensor, port, "output");
  if (status != INGOT_OK) return status;
  if (is_packed(port) &&
      (tensor.strides != nullptr || (tensor.data != nullptr && tensor.data_bytes == 0) ||
       !is_aligned(tensor.data, alignof(ingot_container)))) {
    return fail(INGOT_INVALID_ARGUMENT,
                "output '%s': expected no strides, and no data or aligned data_bytes for all that "
                "it refers to",
                port.name);
  }
  if ((tensor.dims != nullptr || tensor.strides != nullptr) &&
      tensor.rank != static_cast<i32>(port.rank)) {
    return fail(INGOT_INVALID_ARGUMENT, "output '%s': expected rank %u, got %d", port.name,
                port.rank, tensor.rank);
  }
  if (tensor.data == nullptr) return INGOT_OK;
  const bool needs_dims = port.rank > 0 && (tensor.strides != nullptr || tensor.data_bytes == 0);
  if (needs_dims && tensor.dims == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT,
                "output '%s': expected dims or data_bytes to tell how big its data is", port.name);
  }
  if (tensor.strides == nullptr) return INGOT_OK;
  status = check_strides(tensor, port, "output");
  if (status != INGOT_OK) return status;
  for (u32 a = 0; a < port.rank; ++a) {
    if (tensor.dims[a] < 0) {
      return fail(INGOT_INVALID_ARGUMENT, "output '%s': dim %u: expected at least 0, got %lld",
                  port.name, a, static_cast<ll>(tensor.dims[a]));
    }
    if (tensor.strides[a] == 0 && tensor.dims[a] > 1) {
      return fail(INGOT_INVALID_ARGUMENT, "output '%s': stride %u: expected at least 1, got 0",
                  port.name, a);
    }
  }
  const i64 bytes = spanned_bytes(tensor, port.rank, tensor.dims);
  if (bytes > PTRDIFF_MAX / 2 ||
      (tensor.data_bytes != 0 && static_cast<u64>(bytes) > tensor.data_bytes)) {
    return fail(INGOT_INVALID_ARGUMENT, "output '%s': expected %lld bytes for its strides, got %zu",
                port.name, static_cast<ll>(bytes), tensor.data_bytes);
  }
  return INGOT_OK;
}

ingot_status allocate_output(Run& run, u32 index, i64 bytes, void** data) {
  const Port& port = run.program().outputs[index];
  const ingot_allocator& allocator = run.options->allocator;
  const i64 asked = max(bytes, 1);
  if (allocator.allocate != nullptr) {
    *data = allocator.allocate(allocator.context, index, static_cast<size_t>(asked), kAlignment);
  } else {
    *data = allocate(asked);
    run.workspace->own_outputs[index] = *data;
  }
  if (*data == nullptr) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "output '%s': no memory for %lld bytes", port.name,
                static_cast<ll>(bytes));
  }
  const i64 wanted = is_packed(port) ? alignof(ingot_container) : dtype_alignment(port.dtype);
  if (!is_aligned(*data, wanted)) {
    return fail(INGOT_INVALID_ARGUMENT,
                "output '%s': the allocator returned %p, expected memory aligned to %lld",
                port.name, *data, static_cast<ll>(kAlignment));
  }
  return INGOT_OK;
}

ingot_status bind_output(Run& run, u32 index) {
  const Port& port = run.program().outputs[index];
  const ingot_tensor& tensor = run.outputs[index];
  i64 dims[kMaxRank];
  output_dims(run, port, dims);
  for (u32 a = 0; a < port.rank; ++a) {
    if (dims[a] >= 0) continue;
    return fail(INGOT_INVALID_ARGUMENT, "output '%s': dim %u (%s): expected at least 0, got %lld",
                port.name, a, port.dim_text[a], static_cast<ll>(dims[a]));
  }
  void*& value = run.workspace->values[port.value];
  if (is_packed(port)) {  // as long as the run goes on its handles lie in the heap
    const i64 handles = dense_bytes(INGOT_UINT64, port.rank, dims);
    value = run.heap->allocate(handles);
    if (value != nullptr) return INGOT_OK;
    return fail(INGOT_RESOURCE_EXHAUSTED, "output '%s': no memory for %lld bytes", port.name,
                static_cast<ll>(handles));
  }
  const i64 bytes = dense_bytes(port.dtype, port.rank, dims);
  run.workspace->output_bytes[index] = bytes;
  if (bytes > kSurelyThere && bytes > machine_bytes()) {
    return fail(INGOT_RESOURCE_EXHAUSTED, "output '%s': needs more memory than this machine has",
                port.name);
  }
  if (tensor.data == nullptr) return allocate_output(run, index, bytes, &value);
  if (tensor.data_bytes == 0 || tensor.strides != nullptr) {
    for (u32 a = 0; a < port.rank; ++a) {
      if (tensor.dims[a] == dims[a]) continue;
      return fail(INGOT_INVALID_ARGUMENT, "output '%s': dim %u (%s): expected %lld, got %lld",
                  port.name, a, port.dim_text[a], static_cast<ll>(dims[a]),
                  static_cast<ll>(tensor.dims[a]));
    }
  } else if (static_cast<u64>(bytes) > tensor.data_bytes) {
    return fail(INGOT_INVALID_ARGUMENT, "output '%s': expected room for %lld bytes, got %zu",
                port.name, static_cast<ll>(bytes), tensor.data_bytes);
  }
  void* staged = run.workspace->staged_outputs[index];
  value = staged != nullptr ? staged : tensor.data;
  return INGOT_OK;
}

struct Span {
  const u8* begin;
  const u8* end;
};

bool overlap(const Span& a, const Span& b) {
  return a.begin < b.end && b.begin < a.end;
}

// Where an output of the caller will be written; empty if its size is not known yet.
Span output_span(const Run& run, u32 index) {
  const ingot_tensor& tensor = run.outputs[index];
  const u8* data = static_cast<const u8*>(tensor.data);
  if (data == nullptr) return {nullptr, nullptr};
  i64 bytes = run.workspace->output_bytes[index];
  if (is_packed(run.program().outputs[index])) bytes = static_cast<i64>(tensor.data_bytes);
  if (tensor.strides != nullptr) {
    bytes = spanned_bytes(tensor, static_cast<u32>(tensor.rank), tensor.dims);
  }
  return {data, data + bytes};
}

// What the caller gave as an input; of a container only its first struct.
i64 input_bytes(const Run& run, u32 index) {
  const ingot_tensor& tensor = run.inputs[index];
  if (run.program().inputs[index].kind != INGOT_KIND_TENSOR) return sizeof(ingot_container);
  return spanned_bytes(tensor, static_cast<u32>(tensor.rank), tensor.dims);
}

// Makes one block of an output that holds handles and all that they refer to.
ingot_status pack_output(Run& run, u32 index) {
  const Port& port = run.program().outputs[index];
  ingot_tensor& tensor = run.outputs[index];
  i64 dims[kMaxRank];
  output_dims(run, port, dims);
  const i64 count = count_elements(port.rank, dims);
  const void* handles = run.workspace->values[port.value];
  const i64 bytes = packed_bytes(port, handles, count);
  void* block = tensor.data;
  if (block == nullptr) {
    const ingot_status status = allocate_output(run, index, bytes, &block);
    if (status != INGOT_OK) return status;
  } else if (static_cast<u64>(bytes) > tensor.data_bytes) {
    return fail(INGOT_INVALID_ARGUMENT, "output '%s': expected room for %lld bytes, got %zu",
                port.name, static_cast<ll>(bytes), tensor.data_bytes);
  }
  pack_handles(port, handles, count, block);
  run.workspace->values[port.value] = block;
  run.workspace->output_bytes[index] = bytes;
  return INGOT_OK;
}

}  // namespace

void output_dims(const Run& run, const Port& port, i64* dims) {
  for (u32 a = 0; a < port.rank; ++a) {
    const Dim& dim = port.dims[a];
    if (dim.symbol >= 0) {
      dims[a] = run.workspace->symbols[dim.symbol];
    } else {
      dims[a] = dim.symbol == -1 ? dim.value : run.workspace->dims[-2 - dim.symbol];
    }
  }
}

ingot_status bind_symbols(Run& run) {
  const Program& program = run.program();
  Workspace& workspace = *run.workspace;
  for (u32 s = 0; s < program.symbol_count; ++s) {
    const Symbol& symbol = program.symbols[s];
    workspace.bound_port[s] = kUnbound;
    workspace.symbols[s] = symbol.lo == symbol.hi && !symbol.data_dependent ? symbol.lo : 0;
    // What a body defines itself, as in an earlier turn, is nothing that it knows.
    if (run.outer_symbols != nullptr && !symbol.data_dependent) {
      workspace.symbols[s] = run.outer_symbols[s];
    }
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    workspace.own_outputs[i] = nullptr;
    workspace.output_bytes[i] = 0;
  }
  for (u32 i = 0; i < program.input_count; ++i) {
    const ingot_status status = check_input(run, i);
    if (status != INGOT_OK) return status;
  }
  for (u32 i = 0; i < program.state_count; ++i) {
    const ingot_status status = bind_state(run, i);
    if (status != INGOT_OK) return status;
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    const ingot_status status = check_output(run, i);
    if (status != INGOT_OK) return status;
  }
  derive_symbols(program, workspace.symbols);
  return check_assumptions(run, 0);
}

ingot_status check_assumptions(const Run& run, u32 steps) {
  const Program& program = run.program();
  if (program.check_assumptions == nullptr) return INGOT_OK;
  const i64 broken = program.check_assumptions(run.workspace->symbols, steps);
  if (broken < 0) return INGOT_OK;
  return fail(INGOT_INVALID_ARGUMENT,
              "run: the dims contradict what the model was compiled for: %s",
              program.assumptions[broken].text);
}

ingot_status bind_inputs(Run& run, void* arena) {
  const Program& program = run.program();
  Workspace& workspace = *run.workspace;
  const ingot_status status = reserve_staging(run);
  if (status != INGOT_OK) return status;
  stage_tensors(run);
  for (u32 i = 0; i < program.input_count; ++i) {
    void* data =
        workspace.staged_inputs[i] != nullptr ? workspace.staged_inputs[i] : run.inputs[i].data;
    void*& value = workspace.values[program.inputs[i].value];
    value = data != nullptr ? data : nothing;
    if (!is_packed(program.inputs[i])) continue;
    const ingot_status taken =
        take_handles(*run.heap, run.inputs[i], program.inputs[i], data, &value);
    if (taken != INGOT_OK) return taken;
  }
  for (u32 v = 0; v < program.value_count; ++v) {
    const Value& value = program.values[v];
    if (value.kind == ValueKind::constant) {
      const void* replacement = run.replacements == nullptr ? nullptr : run.replacements[v];
      workspace.values[v] = const_cast<void*>(
          replacement != nullptr ? replacement : at_offset(run.weights, value.offset));
    } else if (value.kind == ValueKind::arena && run.layout().group[v] == 0) {
      workspace.values[v] =
          run.plan->bytes[v] == 0 ? nothing : at_offset(arena, run.plan->offsets[v]);
    }
  }
  return INGOT_OK;
}

ingot_status bind_outputs(Run& run, u32 group) {
  const Program& program = run.program();
  if (program.output_dims != nullptr) {
    program.output_dims(run.workspace->symbols, run.workspace->dims);
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    if (run.layout().group[program.outputs[i].value] != group) continue;
    const ingot_status status = bind_output(run, i);
    if (status != INGOT_OK) return status;
  }
  return INGOT_OK;
}

ingot_status check_overlaps(const Run& run) {
  const Program& program = run.program();
  for (u32 i = 0; i < program.output_count; ++i) {
    const Span span = output_span(run, i);
    for (u32 j = 0; j < i; ++j) {
      if (!overlap(span, output_span(run, j))) continue;
      return fail(INGOT_INVALID_ARGUMENT, "output '%s': its memory overlaps that of output '%s'",
                  program.outputs[i].name, program.outputs[j].name);
    }
    for (u32 j = 0; j < program.input_count; ++j) {
      const u8* data = static_cast<const u8*>(run.inputs[j].data);
      const i64 bytes = input_bytes(run, j);
      if (bytes == 0 || !overlap(span, {data, data + bytes})) continue;
      return fail(INGOT_INVALID_ARGUMENT, "output '%s': its memory overlaps that of input '%s'",
                  program.outputs[i].name, program.inputs[j].name);
    }
  }
  return INGOT_OK;
}

void bind_aliases(Run& run, u32 group) {
  const Program& program = run.program();
  const Layout& layout = run.layout();
  for (u32 v = 0; v < program.value_count; ++v) {
    if (program.values[v].kind != ValueKind::alias || layout.group[v] != group) continue;
    run.workspace->values[v] =
        at_offset(run.workspace->values[layout.root[v]], layout.root_offset[v]);
  }
}

ingot_status finish_outputs(Run& run) {
  const Program& program = run.program();
  for (u32 i = 0; i < program.output_count; ++i) {
    const ingot_status status = is_packed(program.outputs[i]) ? pack_output(run, i) : INGOT_OK;
    if (status != INGOT_OK) return status;
  }
  for (u32 i = 0; i < program.output_count; ++i) {
    const Port& port = program.outputs[i];
    ingot_tensor& tensor = run.outputs[i];
    if (tensor.data == nullptr) {
      tensor.data = run.workspace->values[port.value];
      tensor.data_bytes = static_cast<size_t>(run.workspace->output_bytes[i]);
      tensor.strides = nullptr;
    } else if (void* staged = run.workspace->staged_outputs[i]) {
      copy_strided(tensor, staged, CopyDirection::scatter);
    }
    tensor.rank = static_cast<i32>(port.rank);
    if (tensor.dims != nullptr) output_dims(run, port, tensor.dims);
  }
  advance_states(run);
  return INGOT_OK;
}

void drop_outputs(Run& run) {
  for (u32 i = 0; i < run.program().output_count; ++i) {
    release(run.workspace->own_outputs[i]);
    run.workspace->own_outputs[i] = nullptr;
  }
}

}  // namespace ingot::artifact
