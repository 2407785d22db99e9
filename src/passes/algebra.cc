// passes/algebra.cc: arithmetic that can be said with less.
#include <algorithm>

#include "ops/broadcast_to.h"
#include "ops/gather.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "passes/constants.h"
#include "passes/passes.h"

namespace ingot {
namespace {

using ops::BroadcastTo;
using ops::Gather;
using ops::Pointwise;
using ops::Reduce;
using ops::Reshape;
using ops::Slice;

/// A pointwise op on other operands, if those still broadcast to the dims of the result.
std::optional<ValueId> with_operands(Rewriter& r, NodeId root, Expr value,
                                     std::vector<ValueId> operands) {
  std::vector<Exprs> shapes;
  for (const ValueId operand : operands) shapes.push_back(r.type(operand).dims);
  const auto dims = broadcast(shapes, nullptr);
  const TensorType& type = r.type(r.output(root));
  if (!dims || !is_compatible(Type(TensorType{type.dtype, *dims}), Type(type))) {
    return std::nullopt;
  }
  return r.add(Pointwise{value, type.dtype}, std::move(operands));
}

/// An operand that is one number becomes a literal of the expression, so that its rules see it.
std::optional<ValueId> inline_literals(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr) return std::nullopt;
  const std::vector<ValueId>& inputs = r.node(root).inputs;
  std::vector<ValueId> kept;
  std::vector<Expr> by(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ConstantData* data = r.graph().constant(inputs[k]);
    const auto uniform = data == nullptr ? std::nullopt : uniform_value(*data);
    const DType dtype = compute_dtype(r.type(inputs[k]).dtype);
    if (!uniform) {
      by[k] = r.pool().param(static_cast<uint32_t>(kept.size()), dtype);
      kept.push_back(inputs[k]);
    } else {
      by[k] = uniform->holds_reals() ? r.pool().real(uniform->real(0), dtype)
                                     : r.pool().integer(uniform->integer(0), dtype);
    }
  }
  if (kept.size() == inputs.size()) return std::nullopt;
  const Expr value = substitute(op->value, r.pool(), [&](Expr e) -> std::optional<Expr> {
    return e.kind() == ExprKind::param ? std::optional(by[e.payload()]) : std::nullopt;
  });
  return with_operands(r, root, value, std::move(kept));
}

/// Pointwise ops broadcast by themselves.
std::optional<ValueId> drop_operand_broadcast(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr) return std::nullopt;
  std::vector<ValueId> operands = r.node(root).inputs;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (r.producer<BroadcastTo>(operands[k]) == nullptr) continue;
    operands[k] = r.source(operands[k]);
    if (const auto result = with_operands(r, root, op->value, operands)) return result;
    operands[k] = r.input(root, k);
  }
  return std::nullopt;
}

std::optional<ValueId> merge_broadcasts(Rewriter& r, NodeId root) {
  const auto* outer = r.op<BroadcastTo>(root);
  if (outer == nullptr || r.producer<BroadcastTo>(r.input(root, 0)) == nullptr) return std::nullopt;
  return r.add(BroadcastTo{outer->dims}, {r.source(r.input(root, 0))});
}

/// sum(sum(x, a), b) -> sum(x, a and b), for every kind of reduction over kept dims.
std::optional<ValueId> merge_reductions(Rewriter& r, NodeId root) {
  const auto* outer = r.op<Reduce>(root);
  if (outer == nullptr) return std::nullopt;
  const ValueId middle = r.input(root, 0);
  const auto* inner = r.producer<Reduce>(middle);
  if (inner == nullptr || inner->kind != outer->kind || !inner->keepdims || !outer->keepdims ||
      !r.has_one_use(middle)) {
    return std::nullopt;
  }
  const int64_t rank = r.type(middle).rank();
  const auto first = inner->reduced(rank);
  const auto second = outer->reduced(rank);
  Reduce merged{outer->kind, {}, true};
  for (int64_t a = 0; a < rank; ++a) {
    const size_t at = static_cast<size_t>(a);
    if (first[at] || second[at]) merged.axes.push_back(a);
  }
  return r.add(std::move(merged), {r.source(middle)});
}

/// One slice known by number: x[:, 3] as exporters write it.
std::optional<ValueId> gather_to_slice(Rewriter& r, NodeId root) {
  const auto* op = r.op<Gather>(root);
  if (op == nullptr) return std::nullopt;
  const ConstantData* indices = r.graph().constant(r.input(root, 1));
  if (indices == nullptr || count_of(indices->dims) != 1) return std::nullopt;
  const auto number = to_tensor(*indices);
  if (!number) return std::nullopt;

  const ValueId x = r.input(root, 0);
  const TensorType type = r.type(x);
  const auto axis = normalize_axis(op->axis, type.rank());
  if (!axis) return std::nullopt;
  const size_t at = static_cast<size_t>(*axis);
  const Range range = range_of(type.dims[at]);
  const int64_t index = number->integer(0);
  const bool is_inside = index >= 0 ? index < range.lo : index >= -range.lo;
  if (!is_inside) return std::nullopt;  // gather clamps where slice may not reach

  Slice slice;
  for (size_t a = 0; a < type.dims.size(); ++a) {
    const bool chosen = a == at;
    const Expr from_end = type.dims[a] + (chosen && index < 0 ? index : 0);
    slice.starts.push_back(!chosen     ? r.pool().integer(0)
                           : index < 0 ? from_end
                                       : r.pool().integer(index));
    slice.sizes.push_back(chosen ? r.pool().integer(1) : type.dims[a]);
    slice.steps.push_back(1);
  }
  const Exprs dims = r.type(r.output(root)).dims;
  return r.add(Reshape{dims}, {r.add(std::move(slice), {x})});
}

constexpr std::array kRules = {
    Rule{"inline_literals", inline_literals,
         "pointwise(x, [c, c, c]) -> pointwise(x) with c in it"},
    Rule{"drop_operand_broadcast", drop_operand_broadcast,
         "pointwise(broadcast_to(x), y) -> pointwise(x, y)"},
    Rule{"merge_broadcasts", merge_broadcasts, "broadcast_to(broadcast_to(x)) -> broadcast_to(x)"},
    Rule{"merge_reductions", merge_reductions, "sum(sum(x, a), b) -> sum(x, a and b)"},
    Rule{"gather_to_slice", gather_to_slice, "gather(x, 3) -> slice"},
};

}  // namespace

std::vector<std::string_view> algebra_parts() {
  return names_of(kRules);
}

void algebra(Graph& graph, const PassContext& context) {
  std::vector<Rule> rules(kRules.begin(), kRules.end());
  const auto canonical = canonical_rules();
  rules.insert(rules.end(), canonical.begin(), canonical.end());
  apply_rules(graph, rules, context);
}

}  // namespace ingot
