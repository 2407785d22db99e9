// kernel/syntax.h: expressions as written, before names and types mean anything.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "kernel/expr.h"
#include "kernel/reader.h"

namespace ingot {

/// One node of the text of an expression.
struct Syntax {
  enum class Is : uint8_t {
    integer,    // number, dtype or none
    real,       // real, dtype or none
    name,       // name (was_quoted: surely a symbol), dtype or none
    operation,  // kind; cast: dtype
    load,       // number: the buffer, dtype or none; offset [, predicate, otherwise]
    reduce,     // number: the variable; reduce_kind; extent, body
  };
  Is is = Is::integer;
  ExprKind kind = ExprKind::constant;
  ReduceKind reduce_kind = ReduceKind::sum;
  uint64_t number = 0;
  double real = 0;
  std::string name;
  bool was_quoted = false;
  std::optional<DType> dtype;
  int height = 1;  // nodes on the longest way to a leaf
  std::vector<Syntax> operands;
};

/// Reads an expression up to the first token that cannot belong to it. Errors: invalid_argument
/// with line and column; nesting beyond 200 levels, trees beyond 1000.
Result<Syntax> parse_syntax(Reader& reader);

/// How strongly the sign of an operation binds; calls and leaves bind strongest.
struct Sign {
  std::string_view text;
  int strength;
};
std::optional<Sign> sign_of(ExprKind kind);
inline constexpr int kUnaryStrength = 20;
inline constexpr int kLeafStrength = 30;

/// Names that a symbol can only have in quotes: functions, types, and i0, p0, t0, b0.
bool is_reserved(std::string_view name);

/// What the leaves of a text mean, for building expressions from it.
struct Scope {
  ExprPool* pool = nullptr;
  /// A name that is none of the reserved ones; and i0, p0, t0, with the dtype written behind.
  std::function<Result<Expr>(const Syntax&)> name;
  /// The dtype of a buffer, where none is written.
  std::function<std::optional<DType>(uint32_t buffer)> buffer_dtype;
  /// Declares the loop variable of a reduction that the text has reached.
  std::function<Result<Expr>(uint32_t number, Expr extent)> bound_index;
  /// The type of numbers written without one; none: i64 and f32.
  std::optional<DType> number_dtype;
  /// False: nodes are interned as written.
  bool simplified = true;
};
Result<Expr> build(const Syntax& syntax, const Scope& scope);

}  // namespace ingot
