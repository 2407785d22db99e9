// kernel/program.cc: running expressions step by step.
#include "kernel/program.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace ingot {
namespace {

/// As for_each, but the body of a reduction is a program of its own.
void for_each_outside_bodies(Expr root, const std::function<void(Expr)>& visit) {
  struct Frame {
    Expr expr;
    int next = 0;
  };
  std::unordered_map<uint32_t, bool> seen = {{root.id(), true}};
  std::vector<Frame> stack = {{root}};
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == 3) {
      const Expr done = frame.expr;
      stack.pop_back();
      visit(done);
      continue;
    }
    const int k = frame.next++;
    const Expr operand = frame.expr.operand(k);
    const bool is_body = frame.expr.kind() == ExprKind::reduce && k == 0;
    if (operand && !is_body && seen.emplace(operand.id(), true).second) stack.push_back({operand});
  }
}

}  // namespace

Program::Program(Expr root) {
  std::unordered_map<uint32_t, uint32_t> places;
  for_each_outside_bodies(root, [&](Expr expr) {
    Step step = {expr, {0, 0, 0}, nullptr};
    const bool is_reduce = expr.kind() == ExprKind::reduce;
    for (int k = is_reduce ? 1 : 0; k < 3; ++k) {
      if (const Expr operand = expr.operand(k)) step.operands[k] = places.at(operand.id());
    }
    if (is_reduce) step.body = std::make_unique<Program>(expr.operand(0));
    places.emplace(expr.id(), static_cast<uint32_t>(steps_.size()));
    steps_.push_back(std::move(step));
  });
  values_.resize(steps_.size());
}

Scalar Program::run(Surroundings& surroundings) {
  for (size_t k = 0; k < steps_.size(); ++k) values_[k] = run_step(steps_[k], surroundings);
  return values_.back();
}

Scalar Program::run_step(Step& step, Surroundings& surroundings) {
  const Expr expr = step.expr;
  switch (expr.kind()) {
    case ExprKind::constant:
      if (const auto real = expr.as_real()) return make_real(*real, expr.dtype());
      return make_integer(*expr.as_int(), expr.dtype());
    case ExprKind::symbol:
      return surroundings.symbol(expr.symbol());
    case ExprKind::index:
      return surroundings.index(expr.var());
    case ExprKind::param:
      return surroundings.param(expr);
    case ExprKind::local:
      return surroundings.local(expr);
    case ExprKind::load:
      if (expr.operand(1) && values_[step.operands[1]].integer == 0) {
        return values_[step.operands[2]];
      }
      return surroundings.load(expr, values_[step.operands[0]].integer);
    case ExprKind::reduce:
      return run_reduce(step, surroundings);
    default:
      break;
  }
  std::array<Scalar, 3> operands;
  const size_t count = static_cast<size_t>(arity(expr.kind()));
  for (size_t k = 0; k < count; ++k) operands[k] = values_[step.operands[k]];
  return apply(expr.kind(), expr.dtype(), std::span(operands).first(count));
}

Scalar Program::run_reduce(Step& step, Surroundings& surroundings) {
  const int64_t extent = values_[step.operands[1]].integer;
  Scalar sum = neutral(step.expr.reduce_kind(), step.expr.dtype());
  for (int64_t k = 0; k < extent; ++k) {
    surroundings.bind(step.expr.var(), k);
    sum = gather(step.expr.reduce_kind(), sum, step.body->run(surroundings));
  }
  return sum;
}

}  // namespace ingot
