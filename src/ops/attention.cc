// ops/attention.cc: scaled dot-product attention over tensors or over states.
#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/kv_state.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Type and dims of k or v, whichever way they are held.
struct Tokens {
  DType dtype;
  Expr batch;
  Expr length;
  Expr heads;
  Expr size;
};

Result<Tokens> tokens_of(const InferContext& ctx, size_t input) {
  const Type& type = ctx.inputs[input];
  const std::string_view port = Attention::kInputs[input].name;
  if (type.is_tensor()) {
    TRY_STATUS(expect_rank(Attention::kName, port, type.tensor, 4));  // C1
    const Exprs& dims = type.tensor.dims;
    return Tokens{type.tensor.dtype, dims[0], dims[1], dims[2], dims[3]};
  }
  const StateType& state = type.state;
  if (type.kind != Type::Kind::state || state.token.size() != 2) {  // C1
    return invalid_argument("attention: expected ", port,
                            " to be a tensor or a state of [Hk, D], got ", to_text(type));
  }
  return Tokens{state.dtype, state.batch, state.length, state.token[0], state.token[1]};
}

Status expect_same_layout(InferContext& ctx) {  // C1, C2
  const Type& k = ctx.inputs[1];
  const Type& v = ctx.inputs[2];
  const bool states = k.kind == Type::Kind::state;
  if (k.kind != v.kind ||
      (states && (k.state.layout != v.state.layout || k.state.block_size != v.state.block_size))) {
    return invalid_argument("attention: expected k and v to be both tensors or both states of one ",
                            "layout, got ", to_text(k), " and ", to_text(v));
  }
  if (!states) return ok();
  TRY_STATUS(expect_equal(ctx, Attention::kName, "capacity of k and of v", k.state.capacity,
                          v.state.capacity));
  if (k.state.layout == StateLayout::contiguous) return ok();
  return expect_equal(ctx, Attention::kName, "block table of k and of v", k.state.max_blocks,
                      v.state.max_blocks);
}

/// An element of k or v.
Expr token_element(Lowering& k, size_t input, Expr b, Expr s, Expr head, Expr d) {
  if (k.input_type(input).is_tensor()) return k.load(input, std::array{b, s, head, d});
  return k.load_plane(input, StatePlane::data, token_offset(k, input, b, s, std::array{head, d}));
}

/// k or v in a reference.
struct TokensView {
  const Tensor* data;
  StateView state;
  bool in_state;

  int64_t position(int64_t b, int64_t s, int64_t head) const {
    const int64_t heads = data->dim(2);
    const int64_t size = data->dim(3);
    const int64_t token = in_state ? state.token(b, s) : (b * data->dim(1) + s) * heads * size;
    return token + head * size;
  }
};

}  // namespace

Result<Types> Attention::infer(InferContext& ctx) const {
  for (size_t input = 0; input < kInputs.size(); ++input) {
    if (!ctx.has(input) || ctx.count() > kInputs.size()) {
      return invalid_argument("attention: expected the inputs q, k, v, got ", ctx.count());
    }
  }
  if (!ctx.inputs[0].is_tensor()) {
    return invalid_argument("attention: expected q to be a tensor, got ", to_text(ctx.inputs[0]));
  }
  const TensorType& q = ctx.tensor(0);
  TRY_STATUS(expect_float(kName, "q", q.dtype));  // C1
  TRY_STATUS(expect_rank(kName, "q", q, 4));      // C1
  TRY(const Tokens k, tokens_of(ctx, 1));
  TRY(const Tokens v, tokens_of(ctx, 2));
  TRY_STATUS(expect_same_layout(ctx));
  TRY_STATUS(expect_same_dtype(kName, "q", q.dtype, "k", k.dtype));
  TRY_STATUS(expect_same_dtype(kName, "q", q.dtype, "v", v.dtype));
  TRY_STATUS(expect_equal(ctx, kName, "B of q and of k", q.dims[0], k.batch));  // C2
  TRY_STATUS(expect_equal(ctx, kName, "B of k and of v", k.batch, v.batch));
  TRY_STATUS(expect_equal(ctx, kName, "S of k and of v", k.length, v.length));
  TRY_STATUS(expect_equal(ctx, kName, "Hk of k and of v", k.heads, v.heads));
  TRY_STATUS(expect_equal(ctx, kName, "D of q and of k", q.dims[3], k.size));
  const auto heads = q.dims[2].as_int();
  const auto shared = k.heads.as_int();
  const bool divides = heads && shared && (*shared == 0 ? *heads == 0 : *heads % *shared == 0);
  if (!divides) {  // C3
    return invalid_argument("attention: expected constant heads, those of k dividing those of q, ",
                            "got ", to_text(q.dims[2]), " and ", to_text(k.heads));
  }
  if (!std::isfinite(scale)) {  // C4
    return invalid_argument("attention: expected a finite scale, got ", scale);
  }
  return one_tensor(kName, q.dtype, {q.dims[0], q.dims[1], q.dims[2], v.size});
}

std::vector<Tensor> Attention::reference(const ReferenceContext& ctx) const {
  const Tensor& q = ctx.in[0];
  const bool in_state = ctx.in.size() > 3;
  const bool paged = ctx.in.size() == 7;
  const StateView k_state = in_state ? StateView::at(ctx, 1, paged) : StateView{};
  const StateView v_state = in_state ? StateView::at(ctx, paged ? 4 : 3, paged) : StateView{};
  const TokensView k{&ctx.in[1], k_state, in_state};
  const TokensView v{in_state ? v_state.data : &ctx.in[2], v_state, in_state};
  Tensor y = ctx.make_output();
  const int64_t group = std::max<int64_t>(1, q.dim(2) / std::max<int64_t>(1, k.data->dim(2)));
  for_each_index(std::span(q.dims()).first(3), [&](int64_t row, std::span<const int64_t> index) {
    const int64_t b = index[0];
    const int64_t before = in_state ? k_state.lengths->integer(b) : k.data->dim(1) - q.dim(1);
    const int64_t visible = before + (causal ? index[1] + 1 : q.dim(1));
    std::vector<double> weights;
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    double max = kNothing;
    for (int64_t s = 0; s < visible; ++s) {
      double dot = 0;
      const int64_t at = k.position(b, s, index[2] / group);
      for (int64_t d = 0; d < q.dim(3); ++d)
        dot += q.real(row * q.dim(3) + d) * k.data->real(at + d);
      weights.push_back(dot * scale);
      max = max_or_nan(max, weights.back());
    }
    if (max == kNothing) return;
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - max);
    for (int64_t d = 0; d < y.dim(3); ++d) {
      double total = 0;
      for (int64_t s = 0; s < visible; ++s) {
        total +=
            weights[static_cast<size_t>(s)] * v.data->real(v.position(b, s, index[2] / group) + d);
      }
      y.set_real(row * y.dim(3) + d, total / sum);
    }
  });
  return {std::move(y)};
}

Expr Attention::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& q = k.tensor(0);
  const DType compute = compute_dtype(q.dtype);
  const bool in_state = k.input_type(1).kind == Type::Kind::state;
  const Expr b = index[0];
  const Expr t = index[1];
  const Expr length = in_state ? k.input_type(1).state.length : k.tensor(1).dims[1];
  const int64_t shared =
      *(in_state ? k.input_type(1).state.token[0] : k.tensor(1).dims[2]).as_int();
  const int64_t group = *q.dims[2].as_int() / std::max<int64_t>(shared, 1);
  const Expr head = floordiv(index[2], std::max<int64_t>(group, 1));
  const Expr before = in_state ? tokens_before(k, 1, b) : length - q.dims[1];
  const Expr end = before + (causal ? t + 1 : q.dims[1]);
  const Expr zero = k.constant(compute, 0);
  const Expr lowest_score = lowest(k.pool(), compute);
  const auto visible = [&](Expr s) {
    return in_state || causal ? less(s, end) : k.pool().boolean(true);
  };
  const auto score = [&](Expr s) {
    const Expr dot = k.reduce(ReduceKind::sum, q.dims[3], [&](Expr d) {
      return k.load(0, std::array{b, t, index[2], d}) * token_element(k, 1, b, s, head, d);
    });
    return dot * k.constant(compute, scale);
  };
  const Expr max_seen = k.reduce(
      ReduceKind::max, length, [&](Expr s) { return select(visible(s), score(s), lowest_score); });
  // A row that sees nothing has the maximum -infinity, from which nothing can be subtracted.
  const Expr m = select(equal(max_seen, lowest_score), zero, max_seen);
  const auto weight = [&](Expr s) { return exp(score(s) - m); };
  const Expr sum = k.reduce(ReduceKind::sum, length,
                            [&](Expr s) { return select(visible(s), weight(s), zero); });
  // Memory behind the tokens may hold anything, NaN too: it is not multiplied but selected away.
  const Expr total = k.reduce(ReduceKind::sum, length, [&](Expr s) {
    return select(visible(s), weight(s) * token_element(k, 2, b, s, head, index[3]), zero);
  });
  return select(equal(sum, zero), zero, total / sum);
}

Sample<Attention> Attention::sample(Random& rng, ExprPool& pool) {
  Attention op{.scale = rng.chance(0.5) ? 0.5 : 1, .causal = rng.chance(0.5)};
  const DType dtype = sample_float(rng);
  const int64_t batch = rng.range(0, 2);
  const int64_t queries = rng.range(0, 3);
  const int64_t shared = rng.range(1, 2);
  const int64_t heads = shared * rng.range(1, 2);
  const int64_t size = rng.range(1, 4);
  const int64_t value_size = rng.range(1, 3);
  const int64_t before = rng.range(0, 4);
  const int64_t length = before + queries;
  const TensorType q{dtype, constant_dims(pool, {batch, queries, heads, size})};
  if (rng.chance(0.4)) {
    return {op,
            {q, TensorType{dtype, constant_dims(pool, {batch, length, shared, size})},
             TensorType{dtype, constant_dims(pool, {batch, length, shared, value_size})}}};
  }
  const StateType k = sample_state(rng, pool, dtype, batch, length, std::array{shared, size});
  StateType v = k;
  v.token = constant_dims(pool, {shared, value_size});
  const std::pair<double, double> lengths(0, static_cast<double>(before));
  return {op, {q, k, v}, {{1, lengths}, {2, lengths}}};
}

const OpDef& define_attention() {
  return define<Attention>();
}

}  // namespace ingot::ops
