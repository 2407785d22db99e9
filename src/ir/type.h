// ir/type.h: types of values: tensors whose dimensions are expressions, states, and containers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "kernel/expr.h"

namespace ingot {

class Lexer;

/// A dense row-major tensor. `dims` are i64 expressions over symbols, outermost first.
struct TensorType {
  DType dtype = DType::f32;
  Exprs dims;

  int rank() const { return static_cast<int>(dims.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

enum class StateLayout : uint8_t { contiguous, paged };

/// A growing cache of tokens for B sequences (a KV cache): each token is `token` elements.
/// contiguous: data [B, capacity, token...] and lengths [B].
/// paged: pool [blocks, block_size, token...], block table [B, max_blocks] and lengths [B].
/// A value in, a value out; planning makes the update in place.
struct StateType {
  DType dtype = DType::f32;
  StateLayout layout = StateLayout::contiguous;
  Expr batch;
  Expr capacity;           // contiguous: tokens per sequence; paged: blocks in the pool
  Expr max_blocks;         // paged only
  int64_t block_size = 0;  // paged only
  Expr length;  // upper bound of tokens held before the value was made, a symbol or an expression
  Exprs token;  // e.g. [H, D]; constants

  friend bool operator==(const StateType&, const StateType&) = default;
};

struct Type;

/// A sequence, optional or map. `element` is null for the type of nothing. Tensors in it may be of
/// any shape: their type has no dims.
struct ContainerType {
  enum class Kind : uint8_t { sequence, optional, map } kind = Kind::sequence;
  DType key = DType::i64;  // of a map
  std::shared_ptr<const Type> element;
  friend bool operator==(const ContainerType& a, const ContainerType& b);
};

/// Any type of value.
struct Type {
  enum class Kind : uint8_t { tensor, state, container } kind = Kind::tensor;
  TensorType tensor;  // of a container: its handle, as which it lies in memory
  StateType state;
  ContainerType container;

  Type() = default;
  Type(TensorType t) : kind(Kind::tensor), tensor(std::move(t)) {}  // NOLINT
  Type(StateType s) : kind(Kind::state), state(std::move(s)) {}     // NOLINT
  Type(ContainerType c)                                             // NOLINT
      : kind(Kind::container), tensor{DType::u64, {}}, container(std::move(c)) {}

  bool is_tensor() const { return kind == Kind::tensor; }
  bool is_state() const { return kind == Kind::state; }
  bool is_container() const { return kind == Kind::container; }
  /// Whether this is the type of what an unsupported node gives.
  bool is_nothing() const;
  friend bool operator==(const Type&, const Type&) = default;
};

inline bool Type::is_nothing() const {
  return is_container() && container.element == nullptr;
}
using Types = std::vector<Type>;

/// A sequence of, or an optional, `element`; of a tensor only the dtype counts.
Type sequence_type(const Type& element);
Type optional_type(const Type& element);

/// "f32[batch, 16, 32, 32]"; parse_type reads it back.
std::string to_text(const TensorType& type);
std::string to_text(const Type& type);
Result<Type> parse_type(std::string_view text, ExprPool& pool);
/// The type that comes next in a text.
Result<Type> parse_type(Lexer& lexer, ExprPool& pool);

/// Product of the dims. The first form needs at least one dim, since a scalar knows no pool.
Expr element_count(const TensorType& type);
Expr element_count(ExprPool& pool, std::span<const Expr> dims);

/// Row-major strides in elements.
Exprs row_major_strides(ExprPool& pool, std::span<const Expr> dims);

/// Dims that are all constants, or nothing.
std::optional<std::vector<int64_t>> static_dims(const TensorType& type);

/// NumPy broadcasting of dims. A pair of different symbolic dims is taken to be equal when neither
/// is 1: such pairs are appended to `assumed_equal`. Errors: constants that differ and are not 1.
Result<Exprs> broadcast(std::span<const Exprs> shapes,
                        std::vector<std::pair<Expr, Expr>>* assumed_equal);

/// `axis` counted from the end when negative. Errors: outside [-rank, rank).
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);

}  // namespace ingot
