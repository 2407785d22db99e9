// frontend/onnx/ops_loss.cc: losses of classifiers.
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// -log_probabilities[n, target[n, d..], d..], weighted by class and gathered.
/// Source: ONNX NegativeLogLikelihoodLoss-22.
Result<ValueId> likelihood_loss(OpContext& n, ValueId log_probabilities) {
  const ValueId target = n.in(1);
  const Exprs dims = n.dims(log_probabilities);
  if (dims.size() < 2 || n.rank(target) != static_cast<int64_t>(dims.size()) - 1) {
    return invalid_model("expected scores [N, C, d..] and targets [N, d..]");
  }
  constexpr std::string_view kReductions[] = {"mean", "sum", "none"};
  TRY(const size_t reduction, n.attr_choice("reduction", kReductions, 0));
  const bool ignores = n.has_attr("ignore_index");
  TRY(const int64_t ignored, n.attr_int("ignore_index", 0));
  const DType held = n.dtype(log_probabilities);
  const DType compute = compute_dtype(held);
  const Expr classes = dims[1];
  TRY(const ValueId wide, n.cast(target, DType::i64));
  const auto inside = [&](Expr t) { return max(min(t, classes - 1), n.integer(0)); };
  const Expr inner = n.count(dims, 2, static_cast<int64_t>(dims.size()));
  TRY(const ValueId flat_target, n.reshape(wide, {dims[0], inner}));
  TRY(const ValueId i, n.iota({dims[0], n.integer(1)}, 0));
  TRY(const ValueId d, n.iota({inner}, 0));
  TRY(const ValueId at, n.map(DType::i64, {flat_target, i, d}, [&](std::span<const Expr> p) {
    return (p[1] * classes + inside(p[0])) * inner + p[2];
  }));
  TRY(const ValueId flat,
      n.reshape(log_probabilities, {n.count(dims, 0, static_cast<int64_t>(dims.size()))}));
  TRY(const ValueId chosen, n.gather(flat, at, 0));
  ValueIds xs = {flat_target};
  if (n.has(2)) {
    TRY(const ValueId index, n.map1(flat_target, inside));
    TRY(const ValueId weight, n.gather(n.in(2), index, 0));
    xs.push_back(weight);
  }
  TRY(const ValueId weights, n.map(compute, xs, [&](std::span<const Expr> p) {
    const Expr w = p.size() > 1 ? ingot::cast(p[1], compute) : n.pool().real(1, compute);
    if (!ignores) return w;
    return select(equal(p[0], n.integer(ignored)), n.pool().real(0, compute), w);
  }));
  TRY(const ValueId losses, n.map(compute, {chosen, weights}, [&](std::span<const Expr> p) {
    const Expr zero = n.pool().real(0, compute);
    return select(equal(p[1], zero), zero, -p[0] * p[1]);  // what is ignored may be infinite
  }));
  if (reduction == 2) {
    TRY(const ValueId y, n.cast(losses, held));
    return n.reshape(y, n.dims(target));
  }
  TRY(ValueId y, n.reduce(ReduceKind::sum, losses, {0, 1}, false));
  if (reduction == 0) {
    TRY(const ValueId total, n.reduce(ReduceKind::sum, weights, {0, 1}, false));
    TRY(y, n.map2(y, total, [](Expr a, Expr b) { return a / b; }));
  }
  return n.cast(y, held);
}

Result<ValueIds> negative_log_likelihood_loss(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  return only(likelihood_loss(n, n.in(0)));
}

Result<ValueIds> softmax_cross_entropy_loss(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  if (n.rank(x) < 2) return invalid_model("expected scores [N, C, d..]");
  TRY(const ValueId logs, n.softmax(x, 1, true));
  TRY(const ValueId loss, likelihood_loss(n, logs));
  return ValueIds{loss, logs};
}

constexpr OpRow kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, 2, 3, negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, 2, 3, softmax_cross_entropy_loss},
};

}  // namespace

std::span<const OpRow> loss_rows() {
  return kRows;
}

}  // namespace ingot::onnx
