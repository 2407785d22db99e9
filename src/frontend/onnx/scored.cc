// frontend/onnx/scored.cc: scores, their softmax, and what it weighs.
#include "frontend/onnx/scored.h"

#include <cmath>
#include <limits>

#include "frontend/onnx/attention.h"

namespace ingot::onnx {
namespace {

/// Softmax over the keys, with one more key that has no value.
Result<ValueId> softmax_with_sink(OpContext& n, ValueId scores, ValueId sink) {
  if (n.rank(sink) != 1) return invalid_model("expected a sink for each head");
  const Expr one = n.integer(1);
  TRY(const ValueId wide, n.cast(sink, n.dtype(scores)));
  TRY(const ValueId heads, n.reshape(wide, {one, n.dim(sink, 0), one, one}));
  Exprs dims = n.dims(scores);
  const Expr keys = dims[3];
  dims[3] = one;
  TRY(const ValueId column, n.broadcast(heads, std::move(dims)));
  TRY(const ValueId all, n.concat({scores, column}, 3));
  TRY(const ValueId weights, n.softmax(all, -1, false));
  return n.slice_axis(weights, 3, n.integer(0), keys);
}

}  // namespace

Result<double> score_scale(OpContext& n, ValueId q) {
  TRY(const double scale, n.attr_real("scale", 0.0));
  if (scale != 0) return scale;
  const auto size = n.dim(q, 3).as_int();
  if (!size) return unsupported("heads of unknown size");
  return 1 / std::sqrt(static_cast<double>(*size));
}

Result<Attended> attend(OpContext& n, const Heads& heads, const Scoring& s) {
  for (const ValueId x : {heads.q, heads.k, heads.v}) {
    if (n.rank(x) != 4) return invalid_model("expected heads of rank 4, got ", n.rank(x));
  }
  const DType held = n.dtype(heads.q), compute = compute_dtype(held);
  TRY(const ValueId q, n.cast(heads.q, compute));
  TRY(const ValueId k, n.cast(heads.k, compute));
  TRY(const ValueId v, n.cast(heads.v, compute));
  TRY(const ValueId turned, n.transpose(k, {0, 1, 3, 2}));
  TRY(const ValueId product, grouped_matmul(n, q, turned));
  const Exprs dims = n.dims(product);

  ValueIds xs = {product};
  xs.insert(xs.end(), s.added.begin(), s.added.end());
  const size_t visible = xs.size();
  if (s.visible.valid()) xs.push_back(s.visible);
  const size_t steps = xs.size();
  if (s.causal) {
    TRY(const ValueId key, n.iota({dims[3]}, 0));
    TRY(const ValueId query, n.iota({dims[2], n.integer(1)}, 0));
    xs.insert(xs.end(), {key, query});
  }
  Attended a;
  TRY(a.scores, n.map(compute, xs, [&](std::span<const Expr> p) {
    const Expr hidden = n.number(compute, -std::numeric_limits<double>::infinity());
    Expr e = p[0] * n.number(compute, s.scale);
    if (s.softcap > 0) {
      const Expr limit = n.number(compute, s.softcap);
      e = tanh(e / limit) * limit;
    }
    for (const Expr added : p.subspan(1, s.added.size())) e = e + ingot::cast(added, compute);
    if (s.visible.valid()) e = select(p[visible], e, hidden);
    if (s.causal) e = select(less_equal(p[steps], p[steps + 1] + s.past), e, hidden);
    return e;
  }));
  if (n.dims(a.scores) != dims)
    return invalid_model("expected masks and biases that fit the scores");
  TRY(const ValueId weights,
      s.sink.valid() ? softmax_with_sink(n, a.scores, s.sink) : n.softmax(a.scores, -1, false));
  TRY(const ValueId y, grouped_matmul(n, weights, v));
  TRY(const ValueId merged, merge_heads(n, y));
  TRY(a.y, n.cast(merged, held));
  return a;
}

}  // namespace ingot::onnx
