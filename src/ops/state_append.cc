// ops/state_append.cc: more tokens at the end of a state.
#include "ops/state_append.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/kv_state.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Tokens that one sequence can hold.
Expr room(const StateType& state) {
  return state.layout == StateLayout::contiguous ? state.capacity
                                                 : state.max_blocks * state.block_size;
}

}  // namespace

Result<Types> StateAppend::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StateAppend>(ctx, 1));
  StateType state = ctx.state(0);
  const TensorType& x = ctx.tensor(1);
  TRY_STATUS(expect_same_dtype(kName, "state", state.dtype, "x", x.dtype));  // C1
  TRY_STATUS(expect_rank(kName, "x", x, static_cast<int64_t>(state.token.size()) + 2));
  TRY_STATUS(expect_equal(ctx, kName, "batch of state and of x", state.batch, x.dims[0]));
  for (size_t a = 0; a < state.token.size(); ++a) {
    TRY_STATUS(
        expect_equal(ctx, kName, "token dims of state and of x", state.token[a], x.dims[a + 2]));
  }
  state.length = state.length + x.dims[1];
  const auto length = state.length.as_int();
  const auto capacity = room(state).as_int();
  if (length && capacity && *length > *capacity) {  // C2
    return invalid_argument("state_append: expected room for ", *length, " tokens, got ",
                            *capacity);
  }
  return Types{std::move(state)};
}

std::vector<Tensor> StateAppend::reference(const ReferenceContext& ctx) const {
  const bool paged = ctx.in.size() == 4;
  const StateView state = StateView::at(ctx, 0, paged);
  const Tensor& x = ctx.in.back();
  std::vector<Tensor> planes(ctx.in.begin(), ctx.in.end() - 1);
  const int64_t room = paged ? state.table->dim(1) * state.data->dim(1) : state.data->dim(1);
  const int64_t size = count_of(std::span(x.dims()).subspan(2));
  for (int64_t b = 0; b < x.dim(0); ++b) {
    for (int64_t t = 0; t < x.dim(1); ++t) {
      const int64_t s = state.lengths->integer(b) + t;
      if (s < 0 || s >= room) continue;
      for (int64_t i = 0; i < size; ++i) {
        planes[0].copy_element(state.token(b, s) + i, x, (b * x.dim(1) + t) * size + i);
      }
    }
  }
  return planes;
}

Scatter StateAppend::lower_scatter(Lowering& k, std::span<const Expr> index) const {
  const Expr s = tokens_before(k, 0, index[0]) + index[1];
  return {.plane = StatePlane::data,
          .offset = token_offset(k, 0, index[0], s, index.subspan(2)),
          .value = k.load(1, index),
          .predicate = within(s, k.integer(0), room(k.input_type(0).state))};
}

Exprs StateAppend::scatter_domain(std::span<const Type> inputs) const {
  return inputs[1].tensor.dims;
}

Sample<StateAppend> StateAppend::sample(Random& rng, ExprPool& pool) {
  const DType dtype = sample_float(rng);
  const int64_t batch = rng.range(0, 3);
  const int64_t before = rng.range(0, 5);
  const int64_t added = rng.range(0, 3);
  const auto token = sample_dims(rng, rng.range(0, 2), 4);
  StateType state = sample_state(rng, pool, dtype, batch, before + added, token);
  state.length = pool.integer(before);
  std::vector<int64_t> x = {batch, added};
  x.insert(x.end(), token.begin(), token.end());
  return {{},
          {state, TensorType{dtype, constant_dims(pool, x)}},
          {{0, {0, static_cast<double>(before)}}}};
}

const OpDef& define_state_append() {
  return define<StateAppend>();
}

}  // namespace ingot::ops
