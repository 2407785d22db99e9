// frontend/builder.h: builds core operators by name, in a few words each, for every reader.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace ingot {

using ValueIds = std::vector<ValueId>;

/// What a pointwise expression is made from: one parameter per operand, in their compute types.
using MapFn = std::function<Expr(std::span<const Expr>)>;

/// Adds nodes to a graph under one provenance. Every function fails only as the op's infer does.
class Builder {
 public:
  Builder(Graph& graph, std::string provenance)
      : graph_(graph), provenance_(std::move(provenance)) {}

  Graph& graph() const { return graph_; }
  const std::string& provenance() const { return provenance_; }
  ExprPool& pool() const { return graph_.pool(); }
  /// The type and dims of x: references that hold until the next node is added. Of an input that
  /// is left out they are those of a number, and wrong_input() says so.
  const TensorType& type(ValueId x) const;
  DType dtype(ValueId x) const { return type(x).dtype; }
  const Exprs& dims(ValueId x) const { return type(x).dims; }
  int64_t rank(ValueId x) const { return type(x).rank(); }
  /// Dim `axis`. Where x has no such axis it is 1, and wrong_input() says so.
  Expr dim(ValueId x, int64_t axis) const;
  /// The error for the first input or dim that was asked for and is not there: a reader may look at
  /// dims before it knows the rank, as long as this becomes its answer.
  const std::optional<Error>& wrong_input() const { return wrong_input_; }
  Expr integer(int64_t value) const { return pool().integer(value); }
  Exprs integers(std::span<const int64_t> values) const;
  /// A number of a compute type, for pointwise expressions.
  Expr number(DType dtype, double value) const;

  /// Any core operator by name. Errors: no such op, a misspelt attribute, what infer says.
  Result<ValueIds> add_all(std::string_view op, const Attributes& attributes, ValueIds inputs);
  Result<ValueId> add(std::string_view op, const Attributes& attributes, ValueIds inputs);

  // -- constants --
  /// Errors: unsupported for strings and complex numbers.
  Result<ValueId> scalar(DType dtype, double value);
  ValueId ints(std::span<const int64_t> values);
  /// A tensor of one value.
  Result<ValueId> fill(DType dtype, double value, Exprs dims);

  // -- elementwise --
  /// y of `dtype` from the operands, broadcast as NumPy does. Errors: unsupported for strings and
  /// complex numbers; invalid_model if `fn` joins operands of types that do not fit.
  Result<ValueId> map(DType dtype, ValueIds xs, const MapFn& fn);
  /// condition ? x : y, elementwise; x and y may be strings.
  Result<ValueId> choose(ValueId condition, ValueId x, ValueId y);
  Result<ValueId> map1(ValueId x, const std::function<Expr(Expr)>& fn);
  Result<ValueId> map2(ValueId x, ValueId y, const std::function<Expr(Expr, Expr)>& fn);
  /// x itself if it has that dtype. To b8: whether it is not 0. Strings are read as numbers, and
  /// numbers written as strings.
  Result<ValueId> cast(ValueId x, DType dtype);
  /// One number for every element, from dims: `value` is an i64 expression over symbols.
  Result<ValueId> scalar_of(Expr value, DType dtype);

  // -- data movement; x itself where nothing would change --
  Result<ValueId> reshape(ValueId x, Exprs dims);
  Result<ValueId> transpose(ValueId x, std::vector<int64_t> order);
  Result<ValueId> broadcast(ValueId x, Exprs dims);
  /// All of x but along `axis`: `size` elements from `start`, `step` apart.
  Result<ValueId> slice_axis(ValueId x, int64_t axis, Expr start, Expr size, int64_t step = 1);
  Result<ValueId> concat(ValueIds xs, int64_t axis);
  Result<ValueId> pad(ValueId x, Exprs begin, Exprs end, std::string mode, ValueId value);
  Result<ValueId> gather(ValueId x, ValueId indices, int64_t axis);
  /// The index along `axis` in a tensor of `dims`, as i64.
  Result<ValueId> iota(Exprs dims, int64_t axis);

  // -- reductions, products --
  Result<ValueId> reduce(ReduceKind kind, ValueId x, std::vector<int64_t> axes, bool keepdims);
  /// Sum divided by the count, in the compute type of x.
  Result<ValueId> mean(ValueId x, std::vector<int64_t> axes, bool keepdims);
  Result<ValueId> softmax(ValueId x, int64_t axis, bool log);
  Result<ValueId> matmul(ValueId a, ValueId b);

  /// Product of dims [from, to).
  Expr count(const Exprs& dims, int64_t from, int64_t to) const;
  /// axes 0, 1, .. rank-1.
  static std::vector<int64_t> all_axes(int64_t rank);

 private:
  Result<ValueId> cast_text(ValueId x, DType to);
  /// Whether x has the axis; remembers the error if not.
  bool has_axis(ValueId x, int64_t axis) const;

  Graph& graph_;
  std::string provenance_;
  mutable std::optional<Error> wrong_input_;
};

}  // namespace ingot
