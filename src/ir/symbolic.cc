// ir/symbolic.cc: elements of small integer tensors as expressions over symbols.
#include <unordered_map>

#include "ir/graph.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

constexpr int kMaxDepth = 200;          // of producers followed from one element
constexpr int kMaxElements = 1 << 14;   // evaluated for one question
constexpr int64_t kMaxUnrolled = 1024;  // terms of a reduction

bool is_number(DType dtype) {
  return is_float(dtype) || is_int(dtype) || dtype == DType::b8;
}

/// Lets `lower` speak of elements by flat offset; they are looked up afterwards, once loop
/// variables have their values.
class ElementLowering : public Lowering {
 public:
  ElementLowering(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  ExprPool& pool() override { return graph_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t input) const override {
    return input < node_.inputs.size() && node_.inputs[input].valid();
  }
  const Type& input_type(size_t input) const override { return graph_.type(node_.inputs[input]); }
  const Type& output_type(size_t output) const override {
    return graph_.type(node_.outputs[output]);
  }
  Expr load(size_t input, std::span<const Expr> index) override {
    return pool().load(static_cast<uint32_t>(input), value_dtype(input), offset(input, index));
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    return pool().load(static_cast<uint32_t>(input), value_dtype(input), offset(input, index),
                       condition, otherwise);
  }
  Expr load_plane(size_t input, StatePlane, Expr offset) override {
    return pool().load(static_cast<uint32_t>(input), DType::i64, offset);
  }

 private:
  DType value_dtype(size_t input) const {
    return compute_dtype(graph_.tensor(node_.inputs[input]).dtype);
  }
  Expr offset(size_t input, std::span<const Expr> index) {
    const Exprs strides = row_major_strides(pool(), tensor(input).dims);
    Expr sum = pool().integer(0);
    for (size_t k = 0; k < index.size(); ++k) sum = sum + index[k] * strides[k];
    return sum;
  }

  const Graph& graph_;
  const Node& node_;
};

Expr combine(ReduceKind kind, Expr a, Expr b) {
  switch (kind) {
    case ReduceKind::sum:
      return a + b;
    case ReduceKind::product:
      return a * b;
    case ReduceKind::min:
      return min(a, b);
    case ReduceKind::max:
      return max(a, b);
    case ReduceKind::any:
      return logical_or(a, b);
    case ReduceKind::all:
      return logical_and(a, b);
  }
  INGOT_UNREACHABLE();
}

}  // namespace

struct SymbolicContents::State {
  const Graph& graph;
  std::unordered_map<uint64_t, std::optional<Expr>> known = {};  // by value and flat offset
  int budget = 0;
  bool exhausted = false;

  /// Element `offset` of a value in its compute dtype.
  std::optional<Expr> element(ValueId id, int64_t offset, int depth) {
    const uint64_t key = static_cast<uint64_t>(id.value) << 32 | static_cast<uint32_t>(offset);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (depth > kMaxDepth || --budget < 0) exhausted = true;
    if (exhausted) return std::nullopt;
    const auto result = compute(id, offset, depth);
    if (!exhausted) known[key] = result;
    return result;
  }

  std::optional<Expr> compute(ValueId id, int64_t offset, int depth) {
    const Type& type = graph.type(id);
    if (!type.is_tensor() || !is_number(type.tensor.dtype)) return std::nullopt;
    const auto dims = static_dims(type.tensor);
    if (!dims || offset < 0 || offset >= count_of(*dims)) return std::nullopt;
    if (const ConstantData* data = graph.constant(id)) return constant_element(*data, offset);

    const Value& value = graph.value(id);
    if (!value.producer.valid()) return std::nullopt;
    const Node& node = graph.node(value.producer);
    if (node.op.def().lower == nullptr) return std::nullopt;
    for (const ValueId input : node.inputs) {
      if (input.valid() && !graph.type(input).is_tensor()) return std::nullopt;
    }
    Exprs index;
    const auto strides = strides_of(*dims);
    for (size_t a = 0; a < dims->size(); ++a) {
      index.push_back(graph.pool().integer(offset / strides[a] % (*dims)[a]));
    }
    ElementLowering lowering(graph, node);
    const Expr lowered = node.op.def().lower(node.op.data(), lowering, value.port, index);
    auto result = resolve(lowered, node, depth);
    const DType wanted = compute_dtype(type.tensor.dtype);
    if (result && result->dtype() != wanted) result = cast(*result, wanted);
    return result;
  }

  std::optional<Expr> constant_element(const ConstantData& data, int64_t offset) {
    ConstantData one = data;  // only the element asked for, however large the constant is
    one.dims = {1};
    if (bits(data.dtype) >= 8) {
      const uint64_t width = size_bytes(data.dtype, 1);
      if ((static_cast<uint64_t>(offset) + 1) * width > data.bytes.size()) return std::nullopt;
      one.bytes = data.bytes.subspan(static_cast<size_t>(offset) * width, width);
    } else {
      one.dims = data.dims;
      if (count_of(data.dims) > kMaxElements) return std::nullopt;
    }
    const auto tensor = to_tensor(one);
    if (!tensor) return std::nullopt;
    const int64_t at = bits(data.dtype) >= 8 ? 0 : offset;
    const DType dtype = compute_dtype(data.dtype);
    return tensor->holds_reals() ? graph.pool().real(tensor->real(at), dtype)
                                 : graph.pool().integer(tensor->integer(at), dtype);
  }

  /// Puts elements in the place of loads, and sums in the place of reductions.
  std::optional<Expr> resolve(Expr expr, const Node& node, int depth) {
    bool failed = false;
    const Expr result = substitute(expr, graph.pool(), [&](Expr e) -> std::optional<Expr> {
      if (failed) return e;
      std::optional<Expr> found;
      if (e.kind() == ExprKind::load) {
        found = resolve_load(e, node, depth);
      } else if (e.kind() == ExprKind::reduce) {
        found = resolve_reduce(e, node, depth);
      } else if (e.kind() == ExprKind::index) {
        found = std::nullopt;  // a loop variable that nothing gave a value
      } else {
        return std::nullopt;
      }
      if (!found) failed = true;
      return found ? found : std::optional(e);
    });
    return failed ? std::nullopt : std::optional(result);
  }

  std::optional<Expr> resolve_load(Expr load, const Node& node, int depth) {
    const auto offset = resolve(load.operand(0), node, depth);
    if (!offset || !offset->as_int()) return std::nullopt;
    const ValueId input = node.inputs[load.buffer()];
    if (!load.operand(1)) return element(input, *offset->as_int(), depth + 1);
    const auto predicate = resolve(load.operand(1), node, depth);
    const auto otherwise = resolve(load.operand(2), node, depth);
    if (!predicate || !otherwise) return std::nullopt;
    if (predicate->is_int(0)) return otherwise;
    const auto value = element(input, *offset->as_int(), depth + 1);
    if (!value) return std::nullopt;
    return predicate->is_int(1) ? *value : select(*predicate, *value, *otherwise);
  }

  std::optional<Expr> resolve_reduce(Expr reduce, const Node& node, int depth) {
    const auto extent = resolve(reduce.operand(1), node, depth);
    const auto count = extent ? extent->as_int() : std::nullopt;
    if (!count || *count < 1 || *count > kMaxUnrolled) return std::nullopt;
    std::optional<Expr> total;
    for (int64_t j = 0; j < *count; ++j) {
      const Expr term = substitute(reduce.operand(0), graph.pool(), [&](Expr e) {
        const bool is_it = e.kind() == ExprKind::index && e.var() == reduce.var();
        return is_it ? std::optional(graph.pool().integer(j)) : std::nullopt;
      });
      const auto value = resolve(term, node, depth);
      if (!value) return std::nullopt;
      total = total ? combine(reduce.reduce_kind(), *total, *value) : *value;
    }
    return total;
  }
};

SymbolicContents::SymbolicContents(const Graph& graph) : state_(new State{graph}) {}
SymbolicContents::~SymbolicContents() = default;

std::optional<Exprs> SymbolicContents::find(ValueId value, int64_t max_elements) {
  const Type& type = state_->graph.type(value);
  if (!type.is_tensor() || is_float(type.tensor.dtype) || !is_number(type.tensor.dtype)) {
    return std::nullopt;
  }
  const auto dims = static_dims(type.tensor);
  if (!dims) return std::nullopt;
  int64_t count = 1;
  for (const int64_t dim : *dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  if (count > max_elements) return std::nullopt;
  state_->budget = kMaxElements;
  state_->exhausted = false;
  Exprs contents;
  for (int64_t k = 0; k < count; ++k) {
    const auto element = state_->element(value, k, 0);
    if (!element) return std::nullopt;
    contents.push_back(*element);
  }
  return contents;
}

std::optional<Exprs> symbolic_contents(const Graph& graph, ValueId value, int64_t max_elements) {
  return SymbolicContents(graph).find(value, max_elements);
}

}  // namespace ingot
