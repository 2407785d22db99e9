// ops/kv_state.cc: where the tokens of a state lie, as expressions and as numbers.
#include "ops/kv_state.h"

#include <algorithm>

#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// min(max(value, 0), size - 1), without the parts that ranges prove.
Expr clamped(Expr value, Expr size) {
  if (range_of(size - 1 - value).lo < 0) value = min(value, size - 1);
  if (range_of(value).lo < 0) value = max(value, value.pool().integer(0));
  return value;
}

}  // namespace

Expr tokens_before(Lowering& k, size_t input, Expr b) {
  return cast(k.load_plane(input, StatePlane::lengths, b), DType::i64);
}

Expr token_offset(Lowering& k, size_t input, Expr b, Expr s, std::span<const Expr> inside) {
  const StateType& state = k.input_type(input).state;
  Expr token;
  if (state.layout == StateLayout::contiguous) {
    token = b * state.capacity + clamped(s, state.capacity);
  } else {
    const Expr slot = clamped(floordiv(s, state.block_size), state.max_blocks);
    const Expr block =
        cast(k.load_plane(input, StatePlane::table, b * state.max_blocks + slot), DType::i64);
    token = clamped(block, state.capacity) * state.block_size + floormod(s, state.block_size);
  }
  Expr offset = token;
  for (size_t a = 0; a < inside.size(); ++a) offset = offset * state.token[a] + inside[a];
  return offset;
}

StateView StateView::at(const ReferenceContext& ctx, size_t first, bool paged) {
  if (!paged) return {&ctx.in[first], nullptr, &ctx.in[first + 1]};
  return {&ctx.in[first], &ctx.in[first + 1], &ctx.in[first + 2]};
}

int64_t StateView::token(int64_t b, int64_t s) const {
  const int64_t size = count_of(std::span(data->dims()).subspan(2));
  if (table == nullptr) {
    return (b * data->dim(1) + std::clamp<int64_t>(s, 0, data->dim(1) - 1)) * size;
  }
  const int64_t block_size = data->dim(1);
  const int64_t slot = std::clamp<int64_t>(s / block_size, 0, table->dim(1) - 1);
  const int64_t block =
      std::clamp<int64_t>(table->integer(b * table->dim(1) + slot), 0, data->dim(0) - 1);
  return (block * block_size + s % block_size) * size;
}

StateType sample_state(Random& rng, ExprPool& pool, DType dtype, int64_t batch, int64_t length,
                       std::span<const int64_t> token) {
  StateType state;
  state.dtype = dtype;
  state.batch = pool.integer(batch);
  state.length = pool.integer(length);
  state.token = constant_dims(pool, token);
  if (rng.chance(0.5)) {
    state.capacity = pool.integer(length + rng.range(1, 3));
    return state;
  }
  state.layout = StateLayout::paged;
  state.block_size = rng.range(1, 3);
  const int64_t blocks = length / state.block_size + 1;
  state.max_blocks = pool.integer(blocks);
  state.capacity = pool.integer(std::max<int64_t>(1, batch * blocks));
  return state;
}

}  // namespace ingot::ops
