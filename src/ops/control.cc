// ops/control.cc: what operators with bodies have in common.
#include "ops/control.h"

#include "base/text.h"
#include "ir/graph.h"
#include "ops/control_dims.h"

namespace ingot::ops {
namespace {

template <class Fn>
void for_each_symbol(Expr root, const Fn& fn) {
  for_each(root, [&](Expr e) {
    if (e.kind() == ExprKind::symbol) fn(e.symbol());
  });
}

}  // namespace

bool is_control(const OpDef& def) {
  return def.type == op_def<If>().type || def.type == op_def<Loop>().type;
}

std::vector<GraphRef> bodies_of(const OpRef& op) {
  if (const auto* branch = op.as<If>()) return {branch->then_body, branch->else_body};
  if (const auto* loop = op.as<Loop>()) return {loop->body};
  return {};
}

OpRef with_bodies(const OpRef& op, std::span<const GraphRef> bodies) {
  if (op.is<If>()) return make_op(If{bodies[0], bodies[1]});
  Loop loop = *op.as<Loop>();
  loop.body = bodies[0];
  return make_op(std::move(loop));
}

size_t first_capture(const OpRef& op) {
  const auto* loop = op.as<Loop>();
  return loop == nullptr ? 1 : Loop::kHead + loop->carried_count();
}

size_t body_captures(const OpRef& op) {
  const auto* loop = op.as<Loop>();
  return loop == nullptr ? 0 : Loop::kHead + loop->carried_count();
}

DimJoiner::DimJoiner(InferContext& ctx, std::string_view op) : ctx_(ctx), op_(op) {
  for (size_t k = 0; k < ctx.count(); ++k) {
    if (!ctx.has(k) || !ctx.inputs[k].is_tensor()) continue;
    for (const Expr dim : ctx.tensor(k).dims) {
      for_each_symbol(dim, [&](SymbolId symbol) { known_.insert(symbol.value); });
    }
  }
}

bool DimJoiner::is_known(Expr dim) const {
  bool known = true;
  for_each_symbol(dim, [&](SymbolId symbol) {
    const bool dependent = std::as_const(ctx_.pool).symbol_info(symbol).data_dependent;
    known = known && (!dependent || known_.contains(symbol.value));
  });
  return known;
}

Expr DimJoiner::join(Expr a, Expr b) {
  if (a == b && is_known(a)) return a;
  const auto [at, is_new] = joined_.try_emplace(std::pair(a.id(), b.id()));
  if (is_new) {
    at->second = ctx_.pool.fresh_symbol(concat(op_, "_dim"), true);
    const Range x = range_of(a), y = range_of(b);
    ctx_.pool.symbol_info(at->second.symbol()).range = {
        may_be_zero ? 0 : std::max<int64_t>(std::min(x.lo, y.lo), 0),
        std::min(std::max({x.hi, y.hi, int64_t{0}}), kMaxDim)};
  }
  return at->second;
}

Exprs DimJoiner::join(const Exprs& a, const Exprs& b) {
  Exprs dims;
  for (size_t k = 0; k < a.size(); ++k) dims.push_back(join(a[k], b[k]));
  return dims;
}

Status expect_scalar(std::string_view op, std::string_view what, const Type& type, DType dtype) {
  if (type.is_tensor() && type.tensor.dtype == dtype && type.tensor.dims.empty()) return ok();
  return invalid_argument(op, ": ", what, ": expected one ", dtype, ", got ", type);
}

}  // namespace ingot::ops
