// codegen/emit_cpu.h: loop nests as C++ on the CPU prelude.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "codegen/writer.h"
#include "kernel/stmt.h"

namespace ingot {

/// Name of an element type in the prelude ("f32"); booleans are u8 in memory.
std::string_view cpu_type(DType dtype);
/// Name of what holds it outside of memory: f32 for narrower floats, bytes for narrower integers.
std::string_view cpu_register(DType dtype);
/// Type of what a kernel calls a buffer by ("const f32*").
std::string cpu_pointer(DType dtype, bool written);
/// The line that makes operand k a buffer called `name`.
std::string declare_operand(std::string_view name, uint32_t k, DType dtype, bool written);

/// Whether several elements share a byte.
inline bool is_packed(DType dtype) {
  return bits(dtype) < 8;
}

/// Blocks of lanes that every level's vectors divide: W is 4, 8 or 16.
inline constexpr int64_t kMostLanes = 16;

/// Whether C++ would widen the type before it computes.
inline bool is_narrow_int(DType dtype) {
  return is_int(dtype) && bits(dtype) < 32;
}

/// A number as C++: `real` for floats, else `integer`.
std::string cpu_literal(DType dtype, double real, int64_t integer);
/// What a symbol is called.
std::string cpu_symbol(Expr symbol);
/// An integer expression over symbols alone as C++: names `s0`, `s1`, ... are the symbols.
std::string cpu_dim(Expr expr);
/// The same for a number of elements or bytes: multiply_size() and add_size() of artifact/program.h
/// instead of operators, so that what does not fit saturates.
std::string cpu_size(Expr expr);
/// Symbols of an expression, to be declared as `const i64 sN = symbols[N];`.
std::set<uint32_t> symbols_of(Expr expr);

/// Writes expressions as C++ text. Sub-expressions that occur twice or are long become named
/// constants written in front of the statement. In a vector loop, whatever depends on its variable
/// is a vector of W lanes, and loads and stores become contiguous, strided or per lane.
class CpuExprWriter {
 public:
  CpuExprWriter(Writer& out, ExprPool& pool) : out_(out), pool_(pool) {}

  /// What buffer number k is called and holds.
  void name_buffer(uint32_t buffer, std::string name, DType dtype);
  void name_var(VarId var, std::string name) { vars_[var] = std::move(name); }
  /// A scalar or vector that a Let, ReduceLoop or template made.
  void name_local(LocalId local, std::string name, bool vector);
  void name_param(uint32_t param, std::string name, bool vector);

  /// From here on `var` runs in lanes; `lanes` names the count of valid lanes, empty: all W.
  void enter_vector(VarId var, std::string lanes);
  void leave_vector();
  bool in_vector() const { return vector_var_.valid(); }
  const std::string& lanes() const { return lanes_; }

  bool is_vector(Expr expr);
  /// Text of an expression; may write constants first.
  std::string write(Expr expr);
  /// Text of an expression as a vector of W lanes.
  std::string write_lanes(Expr expr);
  /// A loop over `var`, called `name`, in steps of W with an exact tail: `body` writes the
  /// statements, once for full vectors and once for the rest.
  void lanes_loop(VarId var, const std::string& name, Expr extent, const std::string& extent_text,
                  const std::function<void()>& body);
  /// A store statement.
  void store(uint32_t buffer, Expr offset, Expr value, Expr predicate);
  /// Counts the uses in expressions that are about to be written together.
  void begin_statement(std::initializer_list<Expr> roots);

  std::string fresh(std::string_view prefix) { return concat(prefix, next_name_++); }

  /// Constants written in an inner block vanish at its end: remember and restore.
  using Scope = std::unordered_map<uint32_t, std::string>;
  Scope save() const { return named_; }
  void restore(Scope scope) { named_ = std::move(scope); }

  DType buffer_dtype(uint32_t buffer) const { return buffers_.at(buffer).dtype; }
  const std::string& buffer_name(uint32_t buffer) const { return buffers_.at(buffer).name; }

 private:
  struct Named {
    std::string name;
    DType dtype = DType::f32;
    bool vector = false;
  };
  void in_lanes(VarId var, std::string rest, const std::function<void()>& body);
  std::string text(Expr expr);
  std::string register_text(Expr expr);
  std::string operand(Expr expr, bool vector);
  std::string literal(Expr expr);
  std::string load(Expr expr);
  std::string leaf(Expr expr);
  std::string call(Expr expr);
  std::string constant_of(Expr expr, const std::string& value);
  /// The text of an offset whose vector variable stands for lane 0.
  std::string first_lane(Expr offset);
  std::optional<Expr> lane_stride(Expr offset);
  /// Lanes first <= i < end, as expressions of lane 0.
  struct LaneRange {
    Expr first, end;
  };
  /// The lanes in which a condition holds, if they are a range that arithmetic tells.
  std::optional<LaneRange> lanes_where(Expr condition);

  Writer& out_;
  ExprPool& pool_;
  std::unordered_map<uint32_t, Named> buffers_;
  std::unordered_map<VarId, std::string> vars_;
  std::unordered_map<LocalId, Named> locals_;
  std::unordered_map<uint32_t, Named> params_;
  std::unordered_map<uint32_t, std::string> named_;
  std::unordered_map<uint32_t, int> uses_;
  std::unordered_map<uint32_t, bool> vector_memo_;
  VarId vector_var_;
  std::string lanes_;
  bool as_scalar_ = false;  // writing an offset: the vector variable is its first lane
  int next_name_ = 0;
};

/// Writes the statements of loop nests with the expressions of another writer.
class CpuStmtWriter {
 public:
  CpuStmtWriter(Writer& out, CpuExprWriter& exprs) : out_(out), exprs_(exprs) {}

  void block(const Block& statements);
  /// Gives a loop variable a name that begins with `prefix`.
  std::string name_var(VarId var, std::string_view prefix);
  /// Text of an expression outside of vector loops.
  std::string write_scalar(Expr e);

 private:
  void block_without_scope(const Block& statements);
  void statement(const Loop& loop);
  void statement(const ReduceLoop& loop);
  void statement(const Let& let);
  void statement(const Store& store);
  void statement(const Alloc& alloc);
  void statement(const If& branch);
  void accumulate(const Accumulator& a, const std::string& into, bool lanes, bool own_lanes);

  Writer& out_;
  CpuExprWriter& exprs_;
};

/// The kernel as one function `void NAME(const KernelArgs& args, i64 begin, i64 end)`.
std::string emit_cpu(const Kernel& kernel);

/// Comment lines that open a kernel: the model's nodes and the region's text.
void write_provenance(Writer& out, const std::vector<std::string>& provenance);

}  // namespace ingot
