// codegen/gpu_expr.h: expressions of the loop IR as text of GPU kernels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "codegen/writer.h"
#include "kernel/stmt.h"

namespace ingot {

/// Writes the expressions of one kernel. An expression that is used more than once in a statement
/// becomes a constant before it; a reduction becomes a loop before it.
class GpuExprWriter {
 public:
  explicit GpuExprWriter(Writer& out) : out_(out) {}

  void name_buffer(uint32_t buffer, std::string name);
  void name_symbol(SymbolId symbol, std::string name);
  const std::string& buffer_name(uint32_t buffer) const { return buffers_.at(buffer); }

  /// Text of every root, in order. What they share is written to `out` first, so they are to be
  /// used at once, inside the block that is open now.
  std::vector<std::string> write(const Exprs& roots);
  std::string write(Expr root) { return write(Exprs{root})[0]; }

  /// Of an i64 expression that is used where its type does not matter.
  std::string write_index(Expr root);

  static std::string var_name(VarId var);
  static std::string local_name(LocalId local);

  /// "value = value joined with `other`".
  static std::string join(ReduceKind kind, DType dtype, const std::string& value,
                          const std::string& other);
  /// What a reduction starts with.
  static std::string neutral(ReduceKind kind, DType dtype);

 private:
  std::string text(Expr expr);
  std::string node_text(Expr expr);
  std::string operand(Expr expr);
  std::string operand_of(Expr expr, int k);
  std::string index(Expr expr);
  std::string operator_text(Expr expr);
  std::string cast_text(Expr expr);
  std::string load_text(Expr expr);
  std::string call(Expr expr);
  std::string reduce(Expr expr);
  void count_uses(Expr root);

  Writer& out_;
  std::map<uint32_t, std::string> buffers_;
  std::map<SymbolId, std::string> symbols_;
  std::map<uint32_t, int> uses_;           // by expression, in the statement that is written
  std::map<uint32_t, std::string> names_;  // constants that the open blocks have
  int temporaries_ = 0;
};

/// A literal of the value type of `dtype`.
std::string gpu_literal(DType dtype, int64_t value);
std::string gpu_literal(DType dtype, double value);

}  // namespace ingot
