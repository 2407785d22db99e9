// passes/fold_batch_norm.cc: a scale per output channel moves into the weights before it.
//
// (x * w) s + b = x * (w s) + b for a convolution or matrix product and an s that varies along the
// output channels alone. s is recognised as any expression: the pointwise op must be affine in the
// product, whatever its other operands are, as long as those s mentions are constants.
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "passes/constants.h"
#include "passes/passes.h"

namespace ingot {
namespace {

using ops::Conv;
using ops::MatMul;
using ops::Pointwise;
using ops::Reshape;

/// value = scale * param + offset. A scale that is none is 0 and so is an offset.
struct Affine {
  Expr scale;
  Expr offset;
};

bool mentions(Expr root, uint64_t param) {
  bool found = false;
  for_each(root,
           [&](Expr e) { found = found || (e.kind() == ExprKind::param && e.payload() == param); });
  return found;
}

Expr add(Expr a, Expr b) {
  return a && b ? a + b : a ? a : b;
}
Expr subtract(Expr a, Expr b) {
  return a && b ? a - b : b ? -b : a;
}
template <class Fn>
Affine map_parts(const Affine& x, Fn fn) {
  return {x.scale ? fn(x.scale) : x.scale, x.offset ? fn(x.offset) : x.offset};
}

/// How `value` depends on a param, if that is affine as written; otherwise nothing.
std::optional<Affine> affine_in(Expr value, uint64_t param, ExprPool& pool) {
  if (value.kind() == ExprKind::param && value.payload() == param) {
    return Affine{pool.real(1, value.dtype()), {}};
  }
  if (!mentions(value, param)) return Affine{{}, value};
  const Expr a = value.operand(0);
  const Expr b = value.operand(1);
  switch (value.kind()) {
    case ExprKind::neg: {
      const auto x = affine_in(a, param, pool);
      return x ? std::optional(map_parts(*x, [](Expr e) { return -e; })) : std::nullopt;
    }
    case ExprKind::add:
    case ExprKind::sub: {
      const auto x = affine_in(a, param, pool);
      const auto y = affine_in(b, param, pool);
      if (!x || !y) return std::nullopt;
      if (value.kind() == ExprKind::add) {
        return Affine{add(x->scale, y->scale), add(x->offset, y->offset)};
      }
      return Affine{subtract(x->scale, y->scale), subtract(x->offset, y->offset)};
    }
    case ExprKind::mul: {
      const bool left = mentions(a, param);
      if (left && mentions(b, param)) return std::nullopt;
      const auto x = affine_in(left ? a : b, param, pool);
      const Expr factor = left ? b : a;
      return x ? std::optional(map_parts(*x, [&](Expr e) { return e * factor; })) : std::nullopt;
    }
    case ExprKind::div: {
      if (mentions(b, param)) return std::nullopt;
      const auto x = affine_in(a, param, pool);
      return x ? std::optional(map_parts(*x, [&](Expr e) { return e / b; })) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

bool is_one(Expr e) {
  return e.as_real() == 1.0;
}

/// Only the last dim may be something else than 1.
bool is_per_channel(const TensorType& type) {
  for (size_t a = 0; a + 1 < type.dims.size(); ++a) {
    if (!type.dims[a].is_int(1)) return false;
  }
  return true;
}

/// pointwise(w, channels...) = w * scale, with the operands that scale mentions, as vectors.
ValueId scaled(Rewriter& r, ValueId w, Expr scale, std::span<const ValueId> operands, DType dtype) {
  std::vector<ValueId> inputs = {w};
  std::vector<Expr> by(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!mentions(scale, k)) continue;
    ValueId operand = operands[k];
    const Exprs dims = r.type(operand).dims;
    if (dims.size() > 1) operand = r.add(Reshape{{dims.back()}}, {operand});
    by[k] =
        r.pool().param(static_cast<uint32_t>(inputs.size()), compute_dtype(r.type(operand).dtype));
    inputs.push_back(operand);
  }
  const Expr factor = substitute(scale, r.pool(), [&](Expr e) -> std::optional<Expr> {
    return e.kind() == ExprKind::param ? std::optional(by[e.payload()]) : std::nullopt;
  });
  const Expr value = r.pool().param(0, compute_dtype(dtype)) * factor;
  return r.add(Pointwise{value, dtype}, std::move(inputs));
}

std::optional<ValueId> fold_scale(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr || (op->dtype != DType::f32 && op->dtype != DType::f64)) return std::nullopt;
  const std::vector<ValueId> inputs = r.node(root).inputs;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ValueId product = inputs[k];
    const auto* conv = r.producer<Conv>(product);
    const auto* matmul = r.producer<MatMul>(product);
    if (conv == nullptr && matmul == nullptr) continue;
    if ((conv != nullptr && conv->packed) || (matmul != nullptr && matmul->packed)) continue;
    if (!r.has_one_use(product) || r.type(product).dtype != op->dtype) continue;
    const auto affine = affine_in(op->value, k, r.pool());
    if (!affine || !affine->scale || is_one(affine->scale)) continue;
    if (!is_compatible(r.graph().type(product), r.graph().type(r.output(root)))) continue;

    const NodeId producer = r.graph().value(product).producer;
    std::vector<ValueId> operands = r.node(producer).inputs;
    bool fits = r.is_constant(operands[1]);
    if (operands.size() > 2 && operands[2].valid()) fits = fits && r.is_constant(operands[2]);
    for (size_t j = 0; j < inputs.size() && fits; ++j) {
      if (!mentions(affine->scale, j)) continue;
      fits = r.is_constant(inputs[j]) && is_per_channel(r.type(inputs[j]));
    }
    bool has_symbol = false;
    for_each(affine->scale, [&](Expr e) { has_symbol |= e.kind() == ExprKind::symbol; });
    if (!fits || has_symbol) continue;

    operands[1] = scaled(r, operands[1], affine->scale, inputs, op->dtype);
    if (operands.size() > 2 && operands[2].valid()) {
      operands[2] = scaled(r, operands[2], affine->scale, inputs, op->dtype);
    }
    const ValueId folded = r.add_ref(r.node(producer).op, std::move(operands));
    if (!affine->offset) return folded;
    const Expr value = r.pool().param(static_cast<uint32_t>(k), op->dtype) + affine->offset;
    std::vector<ValueId> others = inputs;
    others[k] = folded;
    return r.add(Pointwise{value, op->dtype}, std::move(others));
  }
  return std::nullopt;
}

constexpr std::array kRules = {
    Rule{"fold_scale", fold_scale, "conv(x, w) s + b -> conv(x, w s) + b"},
};

}  // namespace

std::vector<std::string_view> fold_batch_norm_parts() {
  return names_of(kRules);
}

void fold_batch_norm(Graph& graph, const PassContext& context) {
  std::vector<Rule> rules(kRules.begin(), kRules.end());
  const auto canonical = canonical_rules();  // p0 + 0 and operands no longer mentioned
  rules.insert(rules.end(), canonical.begin(), canonical.end());
  apply_rules(graph, rules, context);
}

}  // namespace ingot
