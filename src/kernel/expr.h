// kernel/expr.h: the closed, immutable, interned expression language of shapes, indices and values.
//
// Meaning, stated once (kernel/interpret.cc is its definition):
// - Integers are two's complement of their width and wrap around. Division by zero gives 0.
// - Floating point follows IEEE 754 with round to nearest even; the order of operations is the
//   order written. NaN propagates through min and max.
// - f16, bf16 and the 8-bit and 4-bit formats are storage types: they occur in `load`, in stores
//   and as the target of `cast`, which rounds; arithmetic happens in f32 (see compute_dtype).
// - `select` evaluates all three operands. A `load` whose predicate is false does not touch memory.
// - Expressions have no side effects, so equal ids mean equal values and sharing is free.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"

namespace ingot {

using SymbolId = Id<struct SymbolTag>;
using VarId = Id<struct VarTag>;
using LocalId = Id<struct LocalTag>;

enum class ExprKind : uint8_t {
#define X(name, arity, group) name,
#include "kernel/expr.def"
#undef X
};

enum class ReduceKind : uint8_t { sum, product, min, max, any, all };

/// Printed name of a kind ("floordiv") and its number of operands.
std::string_view name(ExprKind kind);
int arity(ExprKind kind);
std::string_view name(ReduceKind kind);

/// The type in which values stored as `storage` are computed: f32 for every narrower float, i64 for
/// strings, whose handles a kernel can only move, otherwise `storage` itself.
DType compute_dtype(DType storage);
/// The type as which a kernel's buffers hold `storage`: i64 for the handles of strings.
inline DType buffer_dtype(DType storage) {
  return storage == DType::str ? DType::i64 : storage;
}

/// A closed interval of integers. The default is everything.
struct Range {
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();
  friend bool operator==(const Range&, const Range&) = default;
  bool is_single() const { return lo == hi; }
};

/// Largest size that an undeclared dimension may have (contracts.md §3).
inline constexpr int64_t kMaxDim = (int64_t{1} << 31) - 1;

class ExprPool;

/// A handle to an interned expression: equality is identity. Default-constructed: none.
/// Valid as long as its pool; a pool only grows.
class Expr {
 public:
  Expr() = default;
  Expr(ExprPool* pool, uint32_t id) : pool_(pool), id_(id) {}

  explicit operator bool() const { return pool_ != nullptr; }
  friend bool operator==(const Expr& a, const Expr& b) {
    return a.pool_ == b.pool_ && a.id_ == b.id_;
  }

  ExprKind kind() const;
  DType dtype() const;
  uint64_t payload() const;
  /// Operand k, or none.
  Expr operand(int k) const;

  uint32_t id() const { return id_; }
  ExprPool& pool() const { return *pool_; }

  /// The value, if this is an integer (or boolean) constant.
  std::optional<int64_t> as_int() const;
  /// The value, if this is a floating-point constant.
  std::optional<double> as_real() const;
  bool is_int(int64_t value) const { return as_int() == value; }

  VarId var() const;               // of index and reduce
  SymbolId symbol() const;         // of symbol
  ReduceKind reduce_kind() const;  // of reduce
  uint32_t buffer() const;         // of load

 private:
  ExprPool* pool_ = nullptr;
  uint32_t id_ = 0;
};

using Exprs = std::vector<Expr>;

/// A named run-time dimension with its declared range.
struct Symbol {
  std::string name;
  Range range{0, kMaxDim};
  int64_t divisor = 1;          // the value is a multiple of it
  bool data_dependent = false;  // known only after the kernel that produces it ran
};

/// Interns expressions and owns symbols and loop variables. Every constructor simplifies by the
/// table in kernel/rules.cc. Not safe for concurrent writes.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Expr integer(int64_t value, DType dtype = DType::i64);
  Expr real(double value, DType dtype = DType::f32);
  Expr boolean(bool value) { return integer(value ? 1 : 0, DType::b8); }

  /// The symbol of that name; made with range 0..kMaxDim if it is new.
  Expr symbol(std::string_view name);
  /// A new symbol whose name begins with `prefix` and is not taken yet.
  Expr fresh_symbol(std::string_view prefix, bool data_dependent);
  /// To change a symbol: ask anew for each change, and narrow only: what was simplified stays.
  Symbol& symbol_info(SymbolId id);
  const Symbol& symbol_info(SymbolId id) const;
  size_t symbol_count() const;
  std::optional<SymbolId> find_symbol(std::string_view name) const;

  /// A new loop variable with 0 <= var < extent.
  Expr fresh_index(Expr extent);
  /// The loop variable of that number, which must be new; for parsers. Smaller numbers that are
  /// not taken yet stay free for it.
  Expr numbered_index(VarId var, Expr extent);
  /// The expression of a loop variable that exists.
  Expr index(VarId var);
  bool has_index(VarId var) const;
  Expr extent(VarId var) const;

  Expr param(uint32_t number, DType dtype);
  Expr local(LocalId id, DType dtype);
  Expr load(uint32_t buffer, DType dtype, Expr offset, Expr predicate = {}, Expr otherwise = {});
  Expr reduce(ReduceKind kind, Expr index, Expr body);

  /// Any kind by its operands; simplifies. `dtype` is needed for cast and taken from the
  /// operands otherwise. CHECKs arity and operand types. Leaves, loads and reductions have
  /// constructors of their own.
  Expr make(ExprKind kind, std::span<const Expr> operands, std::optional<DType> dtype = {});

  struct Node {
    ExprKind kind;
    DType dtype;
    uint32_t operands[3];
    uint64_t payload;
    friend bool operator==(const Node&, const Node&) = default;
  };
  const Node& node(uint32_t id) const;

  /// What a node's leaves are, known without walking to them.
  struct Leaves {
    bool only_dims;   // constants and symbols
    bool only_index;  // constants, symbols and loop variables; i64 throughout
  };
  Leaves leaves(uint32_t id) const;

  /// Notes for range_of: the range found for a node while no symbol was changed.
  std::optional<Range> known_range(uint32_t id) const;
  void remember_range(uint32_t id, Range range);

  /// Notes for simplify: what a node became while no symbol was changed.
  std::optional<Expr> known_simplification(const Node& node);
  void remember_simplification(const Node& node, Expr result);
  static constexpr uint32_t kNone = 0xffffffff;

  /// Interns a node as it is, without simplifying. For rules.cc and the parser.
  Expr intern(const Node& node);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What is wrong with these operands of a kind, or nothing. make() CHECKs it, readers ask before.
std::optional<std::string> find_type_error(ExprKind kind, std::span<const Expr> operands,
                                           std::optional<DType> dtype);

/// The dtype of a kind's value by its operands; for kinds that make() builds.
DType result_dtype(ExprKind kind, std::span<const Expr> operands, std::optional<DType> dtype);
/// What is wrong with gathering values of the dtype, or nothing.
std::optional<std::string> find_reduce_error(ReduceKind kind, DType dtype);

/// An order of expressions that depends on their structure and not on ids or pools: loop variables,
/// symbols by name, the rest, constants last. Negative, zero or positive.
int compare(Expr a, Expr b);

// Construction in ordinary notation. Both operands have the same pool and dtype.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);
Expr floordiv(Expr a, Expr b);
Expr floordiv(Expr a, int64_t b);
Expr floormod(Expr a, Expr b);
Expr floormod(Expr a, int64_t b);
Expr ceildiv(Expr a, int64_t b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr pow(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr less_equal(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr a, Expr b);
Expr cast(Expr a, DType dtype);
Expr exp(Expr a);
Expr log(Expr a);
Expr sqrt(Expr a);
Expr tanh(Expr a);
Expr erf(Expr a);
/// One-operand kinds by name: unary(ExprKind::sin, x).
Expr unary(ExprKind kind, Expr a);
Expr binary(ExprKind kind, Expr a, Expr b);

/// Replaces leaves: every sub-expression for which `replace` returns an expression becomes that
/// expression, bottom up, simplifying again on the way. Operands of replaced nodes are not visited.
/// `replace` is asked top-down, once per distinct node. The result may live in `pool`, another
/// pool.
Expr substitute(Expr root, ExprPool& pool, const std::function<std::optional<Expr>(Expr)>& replace);

/// Calls `visit` once for every distinct sub-expression, operands before users.
void for_each(Expr root, const std::function<void(Expr)>& visit);

/// Interval that contains every value of an integer expression, from the ranges of symbols and
/// loop variables. Conservative.
Range range_of(Expr integer);

/// True if it can be shown that the integer expression is always a multiple of `divisor`.
bool is_multiple_of(Expr integer, int64_t divisor);

/// True if a == b can be shown for all values of the symbols.
bool provably_equal(Expr a, Expr b);

/// q with a == q * b for all values, by the common factors alone: (n * s * 768) / (n * s * 64) =
/// 12, where floordiv must keep the 0 // 0 of an empty tensor. What a reshape's -1 stands for.
std::optional<Expr> exact_quotient(Expr a, Expr b);

/// How an integer expression moves with a loop variable: its constant step as an expression free of
/// the variable, or nothing if it is not affine in it.
std::optional<Expr> stride_of(Expr integer, VarId var);

bool depends_on(Expr root, VarId var);

/// Text of an expression: "min(batch * 16, 4) + i3"; parse_expr reads it back, up to a length of a
/// megabyte and a depth of 1000.
std::string to_text(Expr expr);

}  // namespace ingot
