// codegen/dim_table.cc: dimension expressions over few symbols of their own.
#include "codegen/dim_table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace ingot {
namespace {

/// Symbols, numbers and signs of a sum of products that is written out.
constexpr int kMostWritten = 12;

/// The largest power of two, within reason, that divides the value.
int64_t divisor_of(Expr size) {
  int64_t divisor = 1;
  while (divisor < 64 && is_multiple_of(size, divisor * 2)) divisor *= 2;
  return divisor;
}

bool may_be_of_dims(ExprKind kind) {
  return kind == ExprKind::constant || kind == ExprKind::symbol ||
         (arity(kind) > 0 && kind != ExprKind::load && kind != ExprKind::reduce);
}

bool is_arithmetic(Expr expr) {
  const ExprKind kind = expr.kind();
  return expr.dtype() == DType::i64 && (kind == ExprKind::add || kind == ExprKind::sub ||
                                        kind == ExprKind::mul || kind == ExprKind::neg);
}

}  // namespace

DimTable::DimTable(const ExprPool& symbols) {
  for (uint32_t id = 0; id < symbols.symbol_count(); ++id) {
    const Symbol& symbol = symbols.symbol_info(SymbolId(id));
    pool_->symbol_info(pool_->symbol(symbol.name).symbol()) = symbol;
    leaves_.emplace_back();
  }
}

DimTable::Note DimTable::note_of(Expr root) {
  // Operands first, without recursion: expressions may be deep.
  std::vector<Expr> stack = {root};
  while (!stack.empty()) {
    const Expr expr = stack.back();
    if (notes_.contains(expr.id())) {
      stack.pop_back();
      continue;
    }
    Note note = {may_be_of_dims(expr.kind()), 1};
    bool ready = true;
    for (int k = 0; k < 3; ++k) {
      const Expr operand = expr.operand(k);
      if (!operand) continue;
      const auto known = notes_.find(operand.id());
      if (known == notes_.end()) {
        stack.push_back(operand);
        ready = false;
        continue;
      }
      note.only_dims &= known->second.only_dims;
      if (is_arithmetic(expr)) {
        note.length += known->second.length > kMostWritten ? 1 : known->second.length;
      }
    }
    if (!ready) continue;
    notes_.emplace(expr.id(), note);
    stack.pop_back();
  }
  return notes_.at(root.id());
}

bool DimTable::is_leaf(Expr expr) {
  if (expr.dtype() != DType::i64 || expr.kind() == ExprKind::constant) return false;
  const Note note = note_of(expr);
  return note.only_dims && (!is_arithmetic(expr) || note.length > kMostWritten);
}

Expr DimTable::symbol_for(Expr leaf) {
  const bool is_symbol = leaf.kind() == ExprKind::symbol;
  Symbol info;
  if (is_symbol) {
    info = std::as_const(leaf.pool()).symbol_info(leaf.symbol());
    if (const auto known = pool_->find_symbol(info.name);
        known && names_ == Names::of_symbols && !leaves_[known->index()]) {
      return pool_->symbol(info.name);  // one that the table began with
    }
  } else {
    info.range = range_of(leaf);
    info.divisor = divisor_of(leaf);
  }
  const auto [at, fresh] = symbols_.try_emplace(leaf.id());
  if (fresh) {
    const std::string name = is_symbol && names_ == Names::of_symbols
                                 ? info.name
                                 : concat(names_ == Names::neutral ? "n" : "size", leaves_.size());
    at->second = pool_->fresh_symbol(name, false);
    Symbol& made = pool_->symbol_info(at->second.symbol());
    made.range = info.range;
    made.divisor = info.divisor;
    leaves_.push_back(leaf);
  }
  return at->second;
}

std::optional<Expr> DimTable::find_leaf(Expr expr) {
  return is_leaf(expr) ? std::optional(symbol_for(expr)) : std::nullopt;
}

Expr DimTable::map(Expr expr) {
  if (const auto known = mapped_.find(expr.id()); known != mapped_.end()) return known->second;
  return mapped_[expr.id()] = substitute(expr, *pool_, [&](Expr e) { return find_leaf(e); });
}

void DimTable::add(Expr root) {
  std::vector<std::pair<Expr, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    const auto [expr, operands_done] = stack.back();
    stack.pop_back();
    if (!operands_done) {
      if (!visited_.insert(expr.id()).second) continue;
      stack.emplace_back(expr, true);
      for (int k = 0; k < 3; ++k) {
        if (const Expr operand = expr.operand(k)) stack.emplace_back(operand, false);
      }
    } else if (is_leaf(expr)) {
      symbol_for(expr);
    }
  }
}

Expr DimTable::definition(size_t number) {
  const Expr leaf = leaves_[number];
  return substitute(leaf, *pool_, [&](Expr e) { return e == leaf ? std::nullopt : find_leaf(e); });
}

}  // namespace ingot
