// kernel/stmt.h: loop nests, the statements that every target writes in its own language.
//
// A kernel is a list of buffers and a block. Its outermost loops of mode `parallel` may run their
// iterations in any order and at the same time; everything else runs in the order written.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernel/expr.h"

namespace ingot {

struct Stmt;
using Block = std::vector<Stmt>;

enum class LoopMode : uint8_t {
  serial,
  parallel,  // iterations are independent; only at the outside of a kernel
  vector,    // iterations are independent and may run in lockstep lanes
};

/// for (var = 0; var < extent; ++var) body
struct Loop {
  VarId var;
  Expr extent;
  LoopMode mode = LoopMode::serial;
  Block body;
};

/// One value gathered over a ReduceLoop. It starts at the neutral element of `kind`.
struct Accumulator {
  LocalId local;
  ReduceKind kind;
  Expr value;
};

/// Runs `body` and then gathers every accumulator, for each iteration. Afterwards the locals are
/// defined. Mode `vector` may keep one partial result per lane (a fixed tree joins them).
struct ReduceLoop {
  VarId var;
  Expr extent;
  LoopMode mode = LoopMode::serial;
  Block body;
  std::vector<Accumulator> accumulators;
};

/// local = value, from here to the end of the block.
struct Let {
  LocalId local;
  Expr value;
};

/// buffer[offset] = value where predicate holds (none: always). value has the buffer's dtype.
struct Store {
  uint32_t buffer;
  Expr offset;
  Expr value;
  Expr predicate;
};

/// A scratch buffer that lives to the end of the block, private to one iteration of the loops
/// around it. Its contents are undefined until stored.
struct Alloc {
  uint32_t buffer;
  DType dtype;
  Expr elements;
};

struct If {
  Expr condition;
  Block body;
};

struct Stmt {
  std::variant<Loop, ReduceLoop, Let, Store, Alloc, If> is;
};

/// A buffer parameter of a kernel, numbered by position. Scratch buffers continue the numbering.
struct BufferParam {
  std::string name;
  DType dtype = DType::f32;
  bool written = false;
  Expr elements;  // its size; interpreters and emulators check accesses against it
};

struct Kernel {
  std::string name;                     // an identifier
  std::vector<std::string> provenance;  // names of the model's nodes; any text
  std::vector<BufferParam> buffers;
  Block body;
  std::shared_ptr<ExprPool> pool;
};

/// Text form; parse_kernel reads it back.
std::string to_text(const Kernel& kernel);
Result<Kernel> parse_kernel(std::string_view text);

/// Every variable, local and buffer is defined before use, dtypes agree, parallel loops are
/// outside.
Status verify(const Kernel& kernel);

/// Values of one buffer for the interpreter: reals for floating dtypes, ints for the others.
struct BufferValues {
  DType dtype = DType::f32;
  std::vector<double> reals;
  std::vector<int64_t> ints;
};

/// The meaning of a kernel: runs it in fp64 (integers exact), checking every access against the
/// buffer's size. `symbols` are indexed by SymbolId. Errors: out-of-bounds access, read of an
/// undefined scratch element.
Status interpret(const Kernel& kernel, std::span<const int64_t> symbols,
                 std::span<BufferValues> buffers);

/// A single value.
struct Scalar {
  DType dtype = DType::i64;
  double real = 0;      // when dtype is floating
  int64_t integer = 0;  // otherwise; b8 is 0 or 1
};

/// The value of an expression. Symbols, params, locals and free loop variables are asked of `leaf`,
/// and so is every load whose predicate holds, as a plain load from a constant offset.
Scalar evaluate(Expr expr, const std::function<Scalar(Expr)>& leaf);

/// An integer expression of symbols alone.
int64_t evaluate_dim(Expr expr, std::span<const int64_t> symbols);

/// Reads what to_text(Expr) wrote. Names that are not functions become symbols; p0, p1, ... are
/// params typed by `param_dtypes`, i0, i1, ... are not allowed unless `indices` holds them.
Result<Expr> parse_expr(std::string_view text, ExprPool& pool,
                        std::span<const DType> param_dtypes = {},
                        std::span<const Expr> indices = {});

}  // namespace ingot
