// artifact/state.cc: checks states, binds their planes, advances their lengths.
#include "artifact/state.h"

#include "artifact/bind.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

using ll = long long;

const ingot_state& state_of(const Run& run, u32 index) {
  return *static_cast<const ingot_state*>(run.inputs[run.program().input_count + index].data);
}

i64 appended_tokens(const Run& run, const StatePort& port) {
  return port.appended >= 0 ? port.appended : run.workspace->symbols[-1 - port.appended];
}

ingot_status check_token(const StatePort& port, const ingot_state& state) {
  if (state.dtype != port.dtype) {
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': expected %s, got %s (dtype %d)", port.name,
                dtype_name(port.dtype), dtype_name(state.dtype), state.dtype);
  }
  if (state.token_dims == nullptr) return INGOT_OK;
  if (state.token_rank != static_cast<i32>(port.token_rank)) {
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': expected tokens of rank %u, got %d", port.name,
                port.token_rank, state.token_rank);
  }
  for (u32 a = 0; a < port.token_rank; ++a) {
    if (state.token_dims[a] == port.token_dims[a]) continue;
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': token dim %u: expected %lld, got %lld",
                port.name, a, static_cast<ll>(port.token_dims[a]),
                static_cast<ll>(state.token_dims[a]));
  }
  return INGOT_OK;
}

ingot_status check_struct(const StatePort& port, const ingot_tensor& tensor) {
  if (tensor.struct_size < sizeof(ingot_tensor) || tensor.kind != INGOT_KIND_STATE ||
      tensor.data == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': expected a tensor of INGOT_KIND_STATE whose data is an ingot_state",
                port.name);
  }
  const ingot_state& state = *static_cast<const ingot_state*>(tensor.data);
  if (state.struct_size < sizeof(ingot_state)) {
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': struct_size is %u, expected %zu; initialise with INGOT_INIT",
                port.name, state.struct_size, sizeof(ingot_state));
  }
  const bool paged = port.layout == StateLayout::paged;
  if (state.layout != (paged ? INGOT_STATE_PAGED : INGOT_STATE_CONTIGUOUS)) {
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': expected the %s layout, got layout %d",
                port.name, paged ? "paged" : "contiguous", state.layout);
  }
  return check_token(port, state);
}

// A size that the state tells: not negative, and equal to or within what its symbol allows.
ingot_status bind_size(Run& run, const StatePort& port, const char* what, i32 symbol, i64 fixed,
                       i64 got) {
  if (symbol < 0) {
    if (fixed < 0 ? got >= 0 : got == fixed) return INGOT_OK;
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': %s: expected %lld, got %lld", port.name, what,
                static_cast<ll>(max(fixed, 0)), static_cast<ll>(got));
  }
  const Symbol& declared = run.program().symbols[symbol];
  i64& bound = run.workspace->symbols[symbol];
  u32& source = run.workspace->bound_port[symbol];
  if (source != ~0u) {
    if (bound == got) return INGOT_OK;
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': %s ('%s'): expected %lld as elsewhere, got %lld", port.name, what,
                declared.name, static_cast<ll>(bound), static_cast<ll>(got));
  }
  if (got < declared.lo || got > declared.hi ||
      (declared.divisor > 1 && got % declared.divisor != 0)) {
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': %s ('%s'): expected a multiple of %lld in %lld..%lld, got %lld",
                port.name, what, declared.name, static_cast<ll>(max(declared.divisor, 1)),
                static_cast<ll>(declared.lo), static_cast<ll>(declared.hi), static_cast<ll>(got));
  }
  bound = got;
  source = run.program().input_count;  // not an input; only told apart from unbound
  return INGOT_OK;
}

ingot_status fail_for_null(const StatePort& port, const char* what) {
  return fail(INGOT_INVALID_ARGUMENT, "state '%s': expected %s, got null", port.name, what);
}

ingot_status check_pointers(const StatePort& port, const ingot_state& state) {
  if (state.batch > 0 && state.lengths == nullptr) return fail_for_null(port, "lengths");
  const bool paged = port.layout == StateLayout::paged;
  const i64 tokens = paged ? multiply_size(state.blocks, state.block_size)
                           : multiply_size(state.batch, state.capacity);
  if (tokens > 0 && state.data == nullptr) return fail_for_null(port, "data");
  if (paged && state.batch > 0 && state.max_blocks > 0 && state.block_table == nullptr) {
    return fail_for_null(port, "a block table");
  }
  if (!is_aligned(state.data, dtype_alignment(port.dtype)) || !is_aligned(state.lengths, 8) ||
      (paged && !is_aligned(state.block_table, 4))) {
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': data, lengths or block table are not aligned to their elements",
                port.name);
  }
  if (multiply_size(tokens, dense_bytes(port.dtype, port.token_rank, port.token_dims)) >
      PTRDIFF_MAX / 2) {
    return fail(INGOT_INVALID_ARGUMENT, "state '%s': its sizes exceed any memory", port.name);
  }
  return INGOT_OK;
}

ingot_status check_blocks(const StatePort& port, const ingot_state& state, i64 sequence,
                          i64 tokens) {
  const i64 blocks = (tokens + port.block_size - 1) / port.block_size;
  for (i64 k = 0; k < blocks; ++k) {
    const i32 block = state.block_table[sequence * state.max_blocks + k];
    if (block >= 0 && block < state.blocks) continue;
    return fail(INGOT_INVALID_ARGUMENT,
                "state '%s': block %lld of sequence %lld: expected 0..%lld, got %d", port.name,
                static_cast<ll>(k), static_cast<ll>(sequence), static_cast<ll>(state.blocks - 1),
                block);
  }
  return INGOT_OK;
}

}  // namespace

ingot_status bind_state(Run& run, u32 index) {
  const StatePort& port = run.program().states[index];
  ingot_status status = check_struct(port, run.inputs[run.program().input_count + index]);
  if (status != INGOT_OK) return status;
  const ingot_state& state = state_of(run, index);
  const bool paged = port.layout == StateLayout::paged;

  status = bind_size(run, port, "batch", port.batch_symbol, port.fixed_batch, state.batch);
  if (status != INGOT_OK) return status;
  status = bind_size(run, port, paged ? "blocks" : "capacity", port.capacity_symbol, -1,
                     paged ? state.blocks : state.capacity);
  if (status != INGOT_OK) return status;
  if (paged) {
    status = bind_size(run, port, "max_blocks", port.table_symbol, -1, state.max_blocks);
    if (status != INGOT_OK) return status;
    status = bind_size(run, port, "block_size", -1, port.block_size, state.block_size);
    if (status != INGOT_OK) return status;
  }
  status = check_pointers(port, state);
  if (status != INGOT_OK) return status;

  i64 longest = 0;
  for (i64 b = 0; b < state.batch; ++b) {
    if (state.lengths[b] < 0) {
      return fail(INGOT_INVALID_ARGUMENT, "state '%s': length %lld: expected at least 0, got %lld",
                  port.name, static_cast<ll>(b), static_cast<ll>(state.lengths[b]));
    }
    longest = max(longest, state.lengths[b]);
  }
  if (port.max_length_symbol >= 0) {
    status = bind_size(run, port, "longest length", port.max_length_symbol, -1, longest);
    if (status != INGOT_OK) return status;
  }
  run.workspace->values[port.data] = state.data;
  run.workspace->values[port.lengths] = state.lengths;
  if (paged) run.workspace->values[port.table] = const_cast<i32*>(state.block_table);
  return INGOT_OK;
}

ingot_status check_state_room(const Run& run) {
  for (u32 i = 0; i < run.program().state_count; ++i) {
    const StatePort& port = run.program().states[i];
    const ingot_state& state = state_of(run, i);
    const i64 appended = appended_tokens(run, port);
    const bool paged = port.layout == StateLayout::paged;
    const i64 room = paged ? multiply_size(state.max_blocks, port.block_size) : state.capacity;
    for (i64 b = 0; b < state.batch; ++b) {
      const i64 tokens = add_size(state.lengths[b], appended);
      if (tokens > room) {
        return fail(INGOT_INVALID_ARGUMENT,
                    "state '%s': sequence %lld: %lld tokens and %lld new ones do not fit in %lld",
                    port.name, static_cast<ll>(b), static_cast<ll>(state.lengths[b]),
                    static_cast<ll>(appended), static_cast<ll>(room));
      }
      const ingot_status status = paged ? check_blocks(port, state, b, tokens) : INGOT_OK;
      if (status != INGOT_OK) return status;
    }
    for (u32 j = 0; j < i; ++j) {
      if (state_of(run, j).lengths != state.lengths || state.lengths == nullptr ||
          appended_tokens(run, run.program().states[j]) == appended) {
        continue;
      }
      return fail(INGOT_INVALID_ARGUMENT,
                  "state '%s': shares its lengths with state '%s', which grows differently",
                  port.name, run.program().states[j].name);
    }
  }
  return INGOT_OK;
}

void advance_states(const Run& run) {
  for (u32 i = 0; i < run.program().state_count; ++i) {
    const ingot_state& state = state_of(run, i);
    bool done = false;
    for (u32 j = 0; j < i; ++j) done = done || state_of(run, j).lengths == state.lengths;
    if (done) continue;
    const i64 appended = appended_tokens(run, run.program().states[i]);
    for (i64 b = 0; b < state.batch; ++b) state.lengths[b] += appended;
  }
}

}  // namespace ingot::artifact
