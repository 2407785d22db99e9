// passes/layout.cc: transposes move down until they cancel.
//
// A reader puts transposes around every op that wants its channels last. Between two of them lie
// ops that do not care: pointwise, reductions, concatenation. Each rule moves a transpose from the
// operands of such an op to its result, where it meets the next one. order[a] is the axis of the
// transpose's input that becomes axis a.
#include <algorithm>
#include <iterator>

#include "kernel/stmt.h"
#include "ops/arg_reduce.h"
#include "ops/broadcast_to.h"
#include "ops/concat.h"
#include "ops/matmul.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/transpose.h"
#include "passes/constants.h"
#include "passes/passes.h"

namespace ingot {
namespace {

using ops::ArgReduce;
using ops::BroadcastTo;
using ops::Concat;
using ops::MatMul;
using ops::Pad;
using ops::Pointwise;
using ops::Reduce;
using ops::Reshape;
using ops::Slice;
using ops::Softmax;
using ops::Transpose;

using Order = std::vector<int64_t>;

constexpr int kMaxRounds = 8;        // of moving and tidying in turn; two do nearly always
constexpr int64_t kTypicalDim = 32;  // what an unknown dim counts as when costs are compared

size_t at(int64_t axis) {
  return static_cast<size_t>(axis);
}

template <class T>
std::vector<T> to_source(const Order& order, const std::vector<T>& of_result) {
  std::vector<T> of_source(order.size());
  for (size_t a = 0; a < order.size(); ++a) of_source[at(order[a])] = of_result[a];
  return of_source;
}

Order inverse(const Order& order) {
  Order result(order.size());
  for (size_t a = 0; a < order.size(); ++a) result[at(order[a])] = static_cast<int64_t>(a);
  return result;
}

/// The order of the transpose that makes a value, copied, since rules add nodes; or nothing.
std::optional<Order> transposed_by(Rewriter& r, ValueId value) {
  const auto* op = r.producer<Transpose>(value);
  return op == nullptr ? std::nullopt : std::optional(op->order);
}

/// How an operand looks before a transpose that is taken away: `apply` gives it.
class Operand {
 public:
  /// Nothing if the operand would have to be transposed while the model runs.
  static std::optional<Operand> find(Rewriter& r, ValueId value, const Order& order) {
    const auto own = transposed_by(r, value);
    if (own && *own == order) return Operand(Is::source, value, {});
    Exprs dims(order.size(), r.pool().integer(1));
    const Exprs& given = r.type(value).dims;
    if (given.size() > order.size()) return std::nullopt;
    std::ranges::copy(given, dims.end() - static_cast<ptrdiff_t>(given.size()));
    if (std::ranges::all_of(dims, [](Expr dim) { return dim.is_int(1); })) {
      return Operand(Is::scalar, value, {});
    }
    if (keeps_order(dims, order)) return Operand(Is::reshaped, value, to_source(order, dims));
    if (r.is_constant(value)) return Operand(Is::constant, value, dims);
    return std::nullopt;
  }

  bool was_transposed() const { return is_ == Is::source; }

  ValueId apply(Rewriter& r, const Order& order) const {
    switch (is_) {
      case Is::source:
        return r.source(value_);
      case Is::scalar:
        return value_;
      case Is::reshaped:
        return r.type(value_).dims == dims_ ? value_ : r.add(Reshape{dims_}, {value_});
      case Is::constant:
        return r.add(Transpose{inverse(order)}, {r.add(Reshape{dims_}, {value_})});
    }
    INGOT_UNREACHABLE();
  }

 private:
  enum class Is : uint8_t { source, scalar, reshaped, constant };
  Operand(Is is, ValueId value, Exprs dims) : is_(is), value_(value), dims_(std::move(dims)) {}

  /// Whether the dims that are not 1 stay in their order, so that a reshape is enough.
  static bool keeps_order(const Exprs& dims, const Order& order) {
    int64_t last = -1;
    for (size_t a = 0; a < order.size(); ++a) {
      if (dims[a].is_int(1)) continue;
      if (order[a] < last) return false;
      last = order[a];
    }
    return true;
  }

  Is is_;
  ValueId value_;
  Exprs dims_;
};

/// The operands of a node before one transpose that at least one of them has; empty if there is
/// none or an operand stands against it.
std::vector<Operand> find_operands(Rewriter& r, NodeId root, Order& order) {
  const std::vector<ValueId> inputs = r.node(root).inputs;
  const int64_t rank = r.type(r.output(root)).rank();
  for (const ValueId input : inputs) {
    const auto found = transposed_by(r, input);
    if (!found || static_cast<int64_t>(found->size()) != rank) continue;
    order = *found;
    std::vector<Operand> operands;
    for (const ValueId other : inputs) {
      auto operand = Operand::find(r, other, order);
      if (!operand) return {};
      operands.push_back(std::move(*operand));
    }
    return operands;
  }
  return {};
}

std::optional<ValueId> sink_pointwise(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr) return std::nullopt;
  Order order;
  const auto operands = find_operands(r, root, order);
  if (operands.empty()) return std::nullopt;
  std::vector<ValueId> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.apply(r, order));
  return r.add(Transpose{order}, {r.add(Pointwise{op->value, op->dtype}, std::move(inputs))});
}

std::optional<ValueId> sink_concat(Rewriter& r, NodeId root) {
  const auto* op = r.op<Concat>(root);
  if (op == nullptr) return std::nullopt;
  Order order;
  const auto operands = find_operands(r, root, order);
  if (operands.empty()) return std::nullopt;
  const auto axis = normalize_axis(op->axis, static_cast<int64_t>(order.size()));
  if (!axis) return std::nullopt;
  std::vector<ValueId> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.apply(r, order));
  return r.add(Transpose{order}, {r.add(Concat{order[at(*axis)]}, std::move(inputs))});
}

std::optional<ValueId> sink_softmax(Rewriter& r, NodeId root) {
  const auto* op = r.op<Softmax>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order) return std::nullopt;
  const auto axis = normalize_axis(op->axis, static_cast<int64_t>(order->size()));
  if (!axis) return std::nullopt;
  const ValueId x = r.source(r.input(root, 0));
  return r.add(Transpose{*order}, {r.add(Softmax{(*order)[at(*axis)], op->log}, {x})});
}

/// The order of what is left of a transposed tensor when axes of its result have gone.
Order without(const Order& order, const std::vector<bool>& gone) {
  Order left;
  for (size_t a = 0; a < order.size(); ++a) {
    if (gone[a]) continue;
    int64_t axis = order[a];
    for (size_t b = 0; b < order.size(); ++b) axis -= gone[b] && order[b] < order[a] ? 1 : 0;
    left.push_back(axis);
  }
  return left;
}

std::optional<ValueId> sink_reduce(Rewriter& r, NodeId root) {
  const auto* op = r.op<Reduce>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order) return std::nullopt;
  const auto gone = op->reduced(static_cast<int64_t>(order->size()));
  Reduce moved{op->kind, {}, op->keepdims};
  for (size_t a = 0; a < gone.size(); ++a) {
    if (gone[a]) moved.axes.push_back((*order)[a]);
  }
  std::ranges::sort(moved.axes);
  const Order left = op->keepdims ? *order : without(*order, gone);
  const ValueId x = r.source(r.input(root, 0));
  return r.add(Transpose{left}, {r.add(std::move(moved), {x})});
}

std::optional<ValueId> sink_arg_reduce(Rewriter& r, NodeId root) {
  const auto* op = r.op<ArgReduce>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order) return std::nullopt;
  const auto axis = normalize_axis(op->axis, static_cast<int64_t>(order->size()));
  if (!axis) return std::nullopt;
  ArgReduce moved = *op;
  moved.axis = (*order)[at(*axis)];
  std::vector<bool> gone(order->size(), false);
  gone[at(*axis)] = !op->keepdims;
  const ValueId x = r.source(r.input(root, 0));
  return r.add(Transpose{without(*order, gone)}, {r.add(std::move(moved), {x})});
}

std::optional<ValueId> sink_slice(Rewriter& r, NodeId root) {
  const auto* op = r.op<Slice>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order) return std::nullopt;
  Slice moved{to_source(*order, op->starts), to_source(*order, op->sizes),
              to_source(*order, op->steps)};
  const ValueId x = r.source(r.input(root, 0));
  return r.add(Transpose{*order}, {r.add(std::move(moved), {x})});
}

std::optional<ValueId> sink_pad(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pad>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order) return std::nullopt;
  std::vector<ValueId> inputs = r.node(root).inputs;
  inputs[0] = r.source(inputs[0]);
  Pad moved{to_source(*order, op->begin), to_source(*order, op->end), op->mode};
  return r.add(Transpose{*order}, {r.add(std::move(moved), std::move(inputs))});
}

std::optional<ValueId> sink_broadcast(Rewriter& r, NodeId root) {
  const auto* op = r.op<BroadcastTo>(root);
  if (op == nullptr) return std::nullopt;
  const auto order = transposed_by(r, r.input(root, 0));
  if (!order || order->size() != op->dims.size()) return std::nullopt;
  const ValueId x = r.source(r.input(root, 0));
  return r.add(Transpose{*order}, {r.add(BroadcastTo{to_source(*order, op->dims)}, {x})});
}

/// A flattened transpose times a constant matrix: the rows of the matrix change places instead.
std::optional<ValueId> permute_rows(Rewriter& r, NodeId root) {
  const auto* op = r.op<MatMul>(root);
  if (op == nullptr || op->packed) return std::nullopt;
  const ValueId flat = r.input(root, 0);
  if (r.producer<Reshape>(flat) == nullptr || r.type(flat).rank() != 2) return std::nullopt;
  const ValueId transposed = r.source(flat);
  const auto order = transposed_by(r, transposed);
  if (!order || order->size() < 2 || (*order)[0] != 0) return std::nullopt;
  const Exprs dims = r.type(transposed).dims;
  const Exprs flat_dims = r.type(flat).dims;
  if (!provably_equal(flat_dims[0], dims[0])) return std::nullopt;
  for (size_t a = 1; a < dims.size(); ++a) {
    if (!dims[a].as_int()) return std::nullopt;
  }
  const ValueId weights = r.input(root, 1);
  if (r.type(weights).rank() != 2 || !r.is_constant(weights)) {
    return std::nullopt;
  }
  const Exprs weight_dims = r.type(weights).dims;
  Exprs unfolded(dims.begin() + 1, dims.end());
  unfolded.push_back(weight_dims[1]);
  Order rows;
  for (const int64_t axis : inverse(*order)) {
    if (axis != 0) rows.push_back(axis - 1);
  }
  rows.push_back(static_cast<int64_t>(rows.size()));
  const ValueId permuted =
      r.add(Reshape{weight_dims}, {r.add(Transpose{rows}, {r.add(Reshape{unfolded}, {weights})})});
  const ValueId x = r.add(Reshape{flat_dims}, {r.source(transposed)});
  return r.add(MatMul{}, {x, permuted});
}

/// Moving dims of size 1 about changes no address.
std::optional<ValueId> transpose_to_reshape(Rewriter& r, NodeId root) {
  const auto order = transposed_by(r, r.output(root));
  if (!order) return std::nullopt;
  const Exprs dims = r.type(r.output(root)).dims;
  int64_t last = -1;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a].is_int(1)) continue;
    if ((*order)[a] < last) return std::nullopt;
    last = (*order)[a];
  }
  return r.add(Reshape{dims}, {r.input(root, 0)});
}

constexpr std::array kSinkRules = {
    Rule{"sink_pointwise", sink_pointwise, "pointwise(transpose(x), c) -> transpose(pointwise)",
         false},
    Rule{"sink_concat", sink_concat, "concat(transpose(x), transpose(y)) -> transpose(concat)",
         false},
    Rule{"sink_softmax", sink_softmax, "softmax(transpose(x)) -> transpose(softmax(x))", false},
    Rule{"sink_reduce", sink_reduce, "reduce(transpose(x)) -> transpose(reduce(x))", false},
    Rule{"sink_arg_reduce", sink_arg_reduce, "arg_reduce(transpose(x)) -> transpose(arg_reduce(x))",
         false},
    Rule{"sink_slice", sink_slice, "slice(transpose(x)) -> transpose(slice(x))", false},
    Rule{"sink_pad", sink_pad, "pad(transpose(x)) -> transpose(pad(x))", false},
    Rule{"sink_broadcast", sink_broadcast,
         "broadcast_to(transpose(x)) -> transpose(broadcast_to(x))", false},
    Rule{"permute_rows", permute_rows, "flatten(transpose(x)) W -> flatten(x) (rows of W permuted)",
         false},
};

constexpr std::array kEndRules = {
    Rule{"transpose_to_reshape", transpose_to_reshape, "transpose of dims of size 1 -> reshape"},
};

std::vector<Rule> with_canonical(std::span<const Rule> own) {
  std::vector<Rule> rules;
  const auto canonical = canonical_rules();
  rules.assign(canonical.begin(), canonical.end());  // what cancels must not be moved first
  rules.insert(rules.end(), own.begin(), own.end());
  return rules;
}

struct TransposeCost {
  double elements = 0;
  size_t nodes = 0;
};

/// What is transposed while the model runs.
TransposeCost count_transposes(const Graph& graph) {
  std::vector<int64_t> typical(graph.pool().symbol_count());
  for (size_t k = 0; k < typical.size(); ++k) {
    const Range range = std::as_const(graph.pool()).symbol_info(SymbolId(k)).range;
    typical[k] = std::clamp(kTypicalDim, range.lo, range.hi);
  }
  ConstantValues constants(graph);
  TransposeCost cost;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.op.is<Transpose>() || constants.contains(node.outputs[0])) continue;
    double elements = 1;
    for (const Expr dim : graph.tensor(node.outputs[0]).dims) {
      elements *= static_cast<double>(evaluate_dim(dim, typical));
    }
    cost.elements += elements;
    ++cost.nodes;
  }
  return cost;
}

/// All that can move has moved; what is left of it are reshapes where that is enough.
Graph sink_transposes(Graph graph, const PassContext& context) {
  const auto sink_rules = with_canonical(kSinkRules);
  const auto end_rules = with_canonical(kEndRules);
  for (int round = 0; round < kMaxRounds; ++round) {
    const size_t moves = apply_rules(graph, sink_rules, context);
    graph.compact();
    cse(graph, context);
    const size_t ends = apply_rules(graph, end_rules, context);
    graph.compact();
    if (moves + ends == 0) break;
  }
  return graph;
}

}  // namespace

std::vector<std::string_view> layout_parts() {
  auto names = names_of(kSinkRules);
  std::ranges::copy(names_of(kEndRules), std::back_inserter(names));
  return names;
}

void layout(Graph& graph, const PassContext& context) {
  Graph plain = graph;
  apply_rules(plain, with_canonical(kEndRules), context);
  plain.compact();
  const TransposeCost plain_cost = count_transposes(plain);

  // Moving is preferred where it costs nothing: what follows a convolution directly can be folded
  // into it. Once more from the plain form, whose reshapes let other transposes pass.
  Graph moved = sink_transposes(std::move(graph), context);
  TransposeCost cost = count_transposes(moved);
  if (cost.elements > plain_cost.elements) {
    moved = sink_transposes(plain, context);
    cost = count_transposes(moved);
  }
  const bool pays = cost.elements <= plain_cost.elements;
  graph = pays ? std::move(moved) : std::move(plain);
  const size_t left = pays ? cost.nodes : plain_cost.nodes;
  if (left > 0)
    context.note(concat(left, left == 1 ? " transpose is" : " transposes are", " left"));
}

}  // namespace ingot
