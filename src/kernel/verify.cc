// kernel/verify.cc: what must hold for every kernel.
#include <fmt/format.h>

#include <set>

#include "kernel/expr_text.h"
#include "kernel/reader.h"
#include "kernel/scalar.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

bool is_stored(DType dtype) {
  return is_float(dtype) || is_integral(dtype);
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), pool_(kernel.pool.get()) {}

  Status run() {
    if (!is_word(kernel_.name)) return mistake("the name must be an identifier");
    if (pool_ == nullptr) return mistake("it has no pool");
    for (size_t k = 0; k < kernel_.buffers.size(); ++k) {
      const BufferParam& buffer = kernel_.buffers[k];
      const std::string what = fmt::format("the size of b{}", k);
      TRY_STATUS(check_value(what, buffer.elements, DType::i64));
      if (!pool_->leaves(buffer.elements.id()).only_dims) {
        return mistake(what, " must be made of symbols alone, got ", to_text(buffer.elements));
      }
      if (!is_stored(buffer.dtype)) return mistake("b", k, " cannot hold ", buffer.dtype);
      buffers_[static_cast<uint32_t>(k)] = {buffer.dtype, buffer.written};
    }
    return check_block(kernel_.body, Place{.may_be_parallel = true});
  }

 private:
  struct Buffer {
    DType dtype;
    bool may_be_written;
  };
  struct Place {
    bool may_be_parallel;  // only parallel loops around
  };

  template <class... Parts>
  Error mistake(const Parts&... parts) {
    return invalid_argument("kernel ", kernel_.name, ": ", parts...);
  }

  /// An expression that is present, of this pool and type, with leaves that exist here.
  Status check_value(const std::string& what, Expr expr, std::optional<DType> dtype = {}) {
    if (!expr) return mistake(what, " is missing");
    if (&expr.pool() != pool_) return mistake(what, " is an expression of another pool");
    if (dtype && expr.dtype() != *dtype) {
      return mistake(what, ": expected ", *dtype, ", got ", expr.dtype(), " in ", to_text(expr));
    }
    return check_leaves(what, expr);
  }

  Status check_leaves(const std::string& what, Expr root) {
    std::set<uint32_t> seen = {root.id()};
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
      const Expr expr = stack.back();
      stack.pop_back();
      TRY_STATUS(check_leaf(what, expr));
      for (int k = 0; k < 3; ++k) {
        const Expr operand = expr.operand(k);
        const bool is_body = expr.kind() == ExprKind::reduce && k == 0;
        if (operand && !is_body && seen.insert(operand.id()).second) stack.push_back(operand);
      }
    }
    return ok();
  }

  Status check_leaf(const std::string& what, Expr expr) {
    switch (expr.kind()) {
      case ExprKind::index:
        if (variables_.contains(expr.var())) return ok();
        return mistake(what, " uses i", expr.var(), " outside of its loop");
      case ExprKind::param:
        return mistake(what, " uses p", expr.payload(), "; kernels have none");
      case ExprKind::local: {
        const auto found = locals_.find(static_cast<uint32_t>(expr.payload()));
        if (found == locals_.end()) {
          return mistake(what, " uses t", expr.payload(), " before it is defined");
        }
        if (found->second == expr.dtype()) return ok();
        return mistake(what, " uses t", expr.payload(), " as ", expr.dtype(), ", it is ",
                       found->second);
      }
      case ExprKind::load: {
        const auto found = buffers_.find(expr.buffer());
        if (found == buffers_.end()) {
          return mistake(what, " loads from b", expr.buffer(), ", which does not exist here");
        }
        if (found->second.dtype == expr.dtype()) return ok();
        return mistake(what, " loads ", expr.dtype(), " from b", expr.buffer(), ", which holds ",
                       found->second.dtype);
      }
      case ExprKind::reduce: {
        const bool is_new = variables_.insert(expr.var()).second;
        if (!is_new) return mistake(what, " reduces over i", expr.var(), ", which is in use");
        TRY_STATUS(check_leaves(what, expr.operand(0)));
        variables_.erase(expr.var());
        return ok();
      }
      default:
        return ok();
    }
  }

  Status check_block(const Block& block, Place place) {
    const auto locals = locals_;
    const auto buffers = buffers_;
    for (const Stmt& stmt : block) {
      TRY_STATUS(std::visit([&](const auto& is) { return check(is, place); }, stmt.is));
    }
    locals_ = locals;
    buffers_ = buffers;
    return ok();
  }

  Status enter(VarId var, Expr extent) {
    const std::string what = fmt::format("the extent of i{}", var.value);
    TRY_STATUS(check_value(what, extent, DType::i64));
    if (!pool_->has_index(var)) return mistake("i", var, " is no loop variable of the pool");
    if (pool_->extent(var) != extent) {
      return mistake(what, " is ", to_text(extent), ", but was declared as ",
                     to_text(pool_->extent(var)));
    }
    if (!variables_.insert(var).second) return mistake("i", var, " is used by two nested loops");
    return ok();
  }

  Status define(LocalId local, DType dtype) {
    if (!local.valid()) return mistake("a local without a number");
    if (locals_.emplace(local.value, dtype).second) return ok();
    return mistake("t", local, " is defined twice");
  }

  Status check(const Loop& loop, Place place) {
    TRY_STATUS(enter(loop.var, loop.extent));
    if (loop.mode == LoopMode::parallel && !place.may_be_parallel) {
      return mistake("the parallel loop of i", loop.var,
                     " must be outermost, or directly in parallel loops");
    }
    const Place inside = {.may_be_parallel = loop.mode == LoopMode::parallel};
    TRY_STATUS(check_block(loop.body, inside));
    variables_.erase(loop.var);
    return ok();
  }

  Status check(const ReduceLoop& loop, Place) {
    TRY_STATUS(enter(loop.var, loop.extent));
    if (loop.mode == LoopMode::parallel) {
      return mistake("the reduction over i", loop.var, " cannot be parallel");
    }
    const auto locals = locals_;
    const auto buffers = buffers_;
    for (const Stmt& stmt : loop.body) {
      const Place inside = {.may_be_parallel = false};
      TRY_STATUS(std::visit([&](const auto& is) { return check(is, inside); }, stmt.is));
    }
    for (const Accumulator& accumulator : loop.accumulators) {
      const std::string what = fmt::format("the value gathered in t{}", accumulator.local.value);
      TRY_STATUS(check_value(what, accumulator.value));
      if (const auto wrong = find_reduce_error(accumulator.kind, accumulator.value.dtype())) {
        return mistake(what, ": ", *wrong);
      }
    }
    locals_ = locals;
    buffers_ = buffers;
    variables_.erase(loop.var);
    for (const Accumulator& accumulator : loop.accumulators) {
      TRY_STATUS(define(accumulator.local, accumulator.value.dtype()));
    }
    return ok();
  }

  Status check(const Let& let, Place) {
    TRY_STATUS(check_value(fmt::format("t{}", let.local.value), let.value));
    return define(let.local, let.value.dtype());
  }

  Status check(const Store& store, Place) {
    const std::string what = fmt::format("the store to b{}", store.buffer);
    const auto found = buffers_.find(store.buffer);
    if (found == buffers_.end()) return mistake(what, ": that buffer does not exist here");
    if (!found->second.may_be_written) return mistake(what, ": it is not declared as written");
    TRY_STATUS(check_value("the offset of " + what, store.offset, DType::i64));
    TRY_STATUS(check_value("the value of " + what, store.value, found->second.dtype));
    if (!store.predicate) return ok();
    return check_value("the predicate of " + what, store.predicate, DType::b8);
  }

  Status check(const Alloc& alloc, Place) {
    const std::string what = fmt::format("the size of b{}", alloc.buffer);
    TRY_STATUS(check_value(what, alloc.elements, DType::i64));
    if (!is_stored(alloc.dtype)) return mistake("b", alloc.buffer, " cannot hold ", alloc.dtype);
    if (buffers_.emplace(alloc.buffer, Buffer{alloc.dtype, true}).second) return ok();
    return mistake("b", alloc.buffer, " exists already");
  }

  Status check(const If& branch, Place) {
    TRY_STATUS(check_value("a condition", branch.condition, DType::b8));
    return check_block(branch.body, Place{.may_be_parallel = false});
  }

  const Kernel& kernel_;
  const ExprPool* pool_;
  std::set<VarId> variables_;
  std::unordered_map<uint32_t, DType> locals_;
  std::unordered_map<uint32_t, Buffer> buffers_;
};

}  // namespace

Status verify(const Kernel& kernel) {
  return Verifier(kernel).run();
}

}  // namespace ingot
