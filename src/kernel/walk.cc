// kernel/walk.cc: visiting and rewriting expressions, and how they move with loop variables.
#include <unordered_set>

#include "base/check.h"
#include "kernel/expr.h"
#include "kernel/linear.h"
#include "kernel/range.h"

namespace ingot {
namespace {

/// Calls leave(node) for every distinct node after its operands. A node for which enter(node) is
/// false is left out together with what only it reaches.
template <class Enter, class Leave>
void walk(Expr root, const Enter& enter, const Leave& leave) {
  struct Step {
    Expr expr;
    bool operands_done;
  };
  std::unordered_set<uint32_t> seen;
  std::vector<Step> stack = {{root, false}};
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    if (step.operands_done) {
      leave(step.expr);
      continue;
    }
    if (!seen.insert(step.expr.id()).second || !enter(step.expr)) continue;
    stack.push_back({step.expr, true});
    for (int k = 2; k >= 0; --k) {
      const Expr operand = step.expr.operand(k);
      if (operand && !seen.contains(operand.id())) stack.push_back({operand, false});
    }
  }
}

class Substitution {
 public:
  Substitution(ExprPool& pool, const std::function<std::optional<Expr>(Expr)>& replace)
      : pool_(pool), replace_(replace) {}

  Expr run(Expr root) {
    walk(
        root,
        [&](Expr expr) {
          auto replacement = replace_(expr);
          if (!replacement) return true;
          CHECK(*replacement && &replacement->pool() == &pool_,
                "substitute: a replacement of another pool");
          CHECK(replacement->dtype() == expr.dtype(), "substitute: expected a replacement of type ",
                expr.dtype(), ", got ", replacement->dtype());
          done_.emplace(expr.id(), *replacement);
          return false;
        },
        [&](Expr expr) { done_.emplace(expr.id(), rebuild(expr)); });
    return done_.at(root.id());
  }

 private:
  Expr rebuild(Expr expr) {
    Exprs operands;
    bool is_changed = &expr.pool() != &pool_;
    for (int k = 0; k < 3; ++k) {
      const Expr operand = expr.operand(k);
      if (operand) operands.push_back(done_.at(operand.id()));
      is_changed |= operand && operands.back() != operand;
    }
    if (!is_changed) return expr;
    switch (expr.kind()) {
      case ExprKind::constant:
      case ExprKind::param:
      case ExprKind::local:
        return pool_.intern(expr.pool().node(expr.id()));
      case ExprKind::symbol:
        return copy_symbol(expr);
      case ExprKind::index:
        return copy_index(expr);
      case ExprKind::load:
        operands.resize(3);
        return pool_.load(expr.buffer(), expr.dtype(), operands[0], operands[1], operands[2]);
      case ExprKind::reduce:
        return rebuild_reduce(expr, operands);
      default:
        return pool_.make(expr.kind(), operands, expr.dtype());
    }
  }

  Expr copy_symbol(Expr expr) {
    const Symbol& from = std::as_const(expr.pool()).symbol_info(expr.symbol());
    const bool is_new = !pool_.find_symbol(from.name);
    const Expr copy = pool_.symbol(from.name);
    if (is_new) pool_.symbol_info(copy.symbol()) = from;
    return copy;
  }

  /// A loop variable of another pool: one here with the number of the original if that is free or
  /// has the same extent.
  Expr copy_index(Expr expr) {
    const Expr extent = Substitution(pool_, replace_).run(expr.pool().extent(expr.var()));
    return index_like(expr.var(), extent);
  }

  Expr index_like(VarId var, Expr extent) {
    if (!pool_.has_index(var)) return pool_.numbered_index(var, extent);
    if (pool_.extent(var) == extent) return pool_.index(var);
    return pool_.fresh_index(extent);
  }

  Expr rebuild_reduce(Expr expr, const Exprs& operands) {
    const VarId var = expr.var();
    const Expr extent = operands[1];
    if (&expr.pool() == &pool_ && pool_.extent(var) == extent) {
      return pool_.reduce(expr.reduce_kind(), pool_.index(var), operands[0]);
    }
    // The extent changed, so the variable must: its uses in the body are replaced with it.
    const Expr renamed =
        &expr.pool() == &pool_ ? pool_.fresh_index(extent) : index_like(var, extent);
    const Expr body = Substitution(pool_, [&](Expr part) -> std::optional<Expr> {
                        if (part.kind() == ExprKind::index && part.var() == var) return renamed;
                        return replace_(part);
                      }).run(expr.operand(0));
    return pool_.reduce(expr.reduce_kind(), renamed, body);
  }

  ExprPool& pool_;
  const std::function<std::optional<Expr>(Expr)>& replace_;
  std::unordered_map<uint32_t, Expr> done_;
};

/// The step of an integer expression per step of the variable; none if that is not constant.
std::optional<Sum> find_stride(Expr expr, Expr index) {
  const Sum zero = constant_sum(expr.pool(), expr.dtype(), 0);
  if (!depends_on(expr, index.var())) return zero;
  Sum stride = zero;
  for (const Term& term : to_sum(expr).terms) {
    std::optional<size_t> moving;
    for (size_t k = 0; k < term.factors.size(); ++k) {
      if (!depends_on(term.factors[k], index.var())) continue;
      if (moving) return std::nullopt;
      moving = k;
    }
    if (!moving) continue;
    Term rest = term;
    const Expr factor = term.factors[*moving];
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(*moving));
    Sum step = constant_sum(expr.pool(), expr.dtype(), 1);
    if (factor != index) {
      if (factor.kind() != ExprKind::add && factor.kind() != ExprKind::sub) return std::nullopt;
      const auto inner = find_stride(factor, index);
      if (!inner) return std::nullopt;
      step = *inner;
    }
    stride = stride + to_sum(stride, rest) * step;
  }
  return stride;
}

}  // namespace

Expr substitute(Expr root, ExprPool& pool,
                const std::function<std::optional<Expr>(Expr)>& replace) {
  return Substitution(pool, replace).run(root);
}

void for_each(Expr root, const std::function<void(Expr)>& visit) {
  walk(
      root, [](Expr) { return true; }, visit);
}

bool depends_on(Expr root, VarId var) {
  if (root.pool().leaves(root.id()).only_dims) return false;
  bool found = false;
  walk(
      root,
      [&](Expr expr) {
        if (found || root.pool().leaves(expr.id()).only_dims) return false;
        // A reduction binds its own variable; its extent does not.
        if (expr.kind() == ExprKind::reduce && expr.var() == var) {
          found |= depends_on(expr.operand(1), var);
          return false;
        }
        found |= expr.kind() == ExprKind::index && expr.var() == var;
        return !found;
      },
      [](Expr) {});
  return found;
}

std::optional<Expr> stride_of(Expr integer, VarId var) {
  if (!is_int(integer.dtype())) return std::nullopt;
  if (!depends_on(integer, var)) return integer.pool().integer(0, integer.dtype());
  const auto stride = find_stride(integer, integer.pool().index(var));
  if (!stride) return std::nullopt;
  return to_expr(*stride);
}

std::optional<Expr> exact_quotient(Expr a, Expr b) {
  if (a.dtype() != b.dtype() || !is_int(a.dtype())) return std::nullopt;
  const Sum dividend = to_sum(a);
  const auto quotient = divide_exactly(to_term(dividend), to_term(to_sum(b)));
  if (!quotient) return std::nullopt;
  return to_expr(to_sum(dividend, *quotient));
}

bool provably_equal(Expr a, Expr b) {
  if (a == b) return true;
  if (a.dtype() != b.dtype() || !is_int(a.dtype()) || &a.pool() != &b.pool()) return false;
  const auto difference = expand(to_sum(a) - to_sum(b));
  return difference && difference->is_zero();
}

}  // namespace ingot
