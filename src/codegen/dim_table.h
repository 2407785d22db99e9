// codegen/dim_table.h: dimension expressions over few symbols of their own.
//
// Exporters compute sizes from sizes, and graphs share them a thousandfold: written as a tree, such
// an expression fills megabytes. A table cuts every dimension at its leaves. A leaf is a symbol, or
// what is more than sums and products (a quotient, a minimum, a choice), or a long sum or product;
// in the table's pool each is one symbol. So a dimension of any size has a short text, and kernels
// that differ in nothing but whose sizes they read have the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kernel/expr.h"

namespace ingot {

class DimTable {
 public:
  /// What a leaf's symbol is called: as the symbol that it is, or neutrally, so that texts compare
  /// equal.
  enum class Names : uint8_t { of_symbols, neutral };

  /// An empty table: leaves are numbered as they are met.
  explicit DimTable(Names names) : names_(names) {}
  /// A table that begins with all symbols of a pool, under their numbers.
  explicit DimTable(const ExprPool& symbols);

  /// The expression in the table's pool. Not only of dimensions: what is no size is copied.
  Expr map(Expr expr);
  /// A leaf as its symbol in the table's pool, none for anything else: for substitute().
  std::optional<Expr> find_leaf(Expr expr);

  const std::shared_ptr<ExprPool>& pool() const { return pool_; }
  /// What the pool's symbols stand for, by number.
  const Exprs& leaves() const { return leaves_; }

  Expr symbol(size_t number) const {
    return pool_->symbol(
        std::as_const(*pool_).symbol_info(SymbolId(static_cast<uint32_t>(number))).name);
  }

  /// Notes all leaves inside of an expression, the innermost first, so that each can be computed
  /// from those in front of it.
  void add(Expr expr);
  /// Leaf `number` in the table's pool, one step deep: over the symbols in front of it.
  Expr definition(size_t number);

 private:
  /// What is known of an expression of the model.
  struct Note {
    bool only_dims;  // constants and symbols, whatever is computed from them
    int length;      // of the text down to the leaves inside
  };
  Note note_of(Expr expr);
  bool is_leaf(Expr expr);
  Expr symbol_for(Expr leaf);

  Names names_ = Names::of_symbols;
  std::shared_ptr<ExprPool> pool_ = std::make_shared<ExprPool>();
  Exprs leaves_;
  std::unordered_map<uint32_t, Expr> symbols_;  // by leaf
  std::unordered_map<uint32_t, Note> notes_;    // by expression
  std::unordered_map<uint32_t, Expr> mapped_;   // by expression
  std::unordered_set<uint32_t> visited_;        // by add()
};

}  // namespace ingot
