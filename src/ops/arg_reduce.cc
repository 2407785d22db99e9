// ops/arg_reduce.cc: where the maximum or minimum along an axis lies.
#include "ops/arg_reduce.h"

#include <cmath>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Whether element k is further out than element j, or as far out: NaN beyond everything.
bool beats(const ArgReduce& op, const Tensor& x, int64_t k, int64_t j) {
  const Scalar a = element_of(x, k);
  const Scalar b = element_of(x, j);
  if (x.holds_reals() && (std::isnan(a.real) || std::isnan(b.real))) {
    return std::isnan(a.real) && (op.last || !std::isnan(b.real));
  }
  const auto holds = [](ExprKind kind, const Scalar& left, const Scalar& right) {
    return apply(kind, DType::b8, std::array{left, right}).integer != 0;
  };
  const bool further = op.max ? holds(ExprKind::lt, b, a) : holds(ExprKind::lt, a, b);
  return further || (op.last && holds(ExprKind::eq, a, b));
}

}  // namespace

Result<Types> ArgReduce::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<ArgReduce>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY_STATUS(expect_number(kName, "x", x.dtype));                // C1
  TRY(const int64_t along, expect_axis(kName, axis, x.rank()));  // C2
  Exprs dims = x.dims;
  if (dims[static_cast<size_t>(along)].is_int(0)) {  // C3
    return invalid_argument("arg_reduce: expected elements along axis ", axis, ", got ",
                            to_text(x));
  }
  if (keepdims) {
    dims[static_cast<size_t>(along)] = ctx.pool.integer(1);
  } else {
    dims.erase(dims.begin() + along);
  }
  return one_tensor(kName, DType::i64, std::move(dims));
}

std::vector<Tensor> ArgReduce::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  const AxisSplit s = split_at(x.dims(), axis);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      int64_t best = 0;
      for (int64_t k = 1; k < s.length; ++k) {
        if (beats(*this, x, s.at(o, k, i), s.at(o, best, i))) best = k;
      }
      y.set_integer(o * s.inner + i, best);
    }
  }
  return {std::move(y)};
}

Expr ArgReduce::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  const size_t a = front_axis(axis, x.dims.size());
  const Expr length = x.dims[a];
  const auto element = [&](Expr j) {
    Exprs at(index.begin(), index.end());
    if (keepdims) {
      at[a] = j;
    } else {
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(a), j);
    }
    return k.load(0, at);
  };
  const Expr extreme = k.reduce(max ? ReduceKind::max : ReduceKind::min, length, element);
  const Expr nowhere = last ? k.integer(-1) : length;
  const Expr found = k.reduce(last ? ReduceKind::max : ReduceKind::min, length, [&](Expr j) {
    const Expr here = element(j);
    Expr hit = equal(here, extreme);
    if (is_float(here.dtype())) hit = logical_or(hit, unary(ExprKind::is_nan, here));
    return select(hit, j, nowhere);
  });
  if (range_of(length).lo > 0) return found;
  return select(less(k.integer(0), length), found, k.integer(0));
}

Sample<ArgReduce> ArgReduce::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 4);
  const ArgReduce op{.max = rng.chance(0.5),
                     .axis = rng.range(-rank, rank - 1),
                     .keepdims = rng.chance(0.5),
                     .last = rng.chance(0.5)};
  auto dims = sample_dims(rng, rank);
  int64_t& length = dims[front_axis(op.axis, dims.size())];
  length = std::max<int64_t>(length, 1);
  return {op, {TensorType{sample_number(rng), constant_dims(pool, dims)}}};
}

const OpDef& define_arg_reduce() {
  return define<ArgReduce>();
}

}  // namespace ingot::ops
