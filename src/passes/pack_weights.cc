// passes/pack_weights.cc: right operands in panels, as the matrix kernels read them.
#include "ops/conv.h"
#include "ops/conv_winograd.h"
#include "ops/matmul.h"
#include "ops/pack_panels.h"
#include "ops/reshape.h"
#include "ops/transpose.h"
#include "passes/passes.h"
#include "passes/templates.h"

namespace ingot {
namespace {

using ops::Conv;
using ops::ConvWinograd;
using ops::MatMul;
using ops::PackPanels;
using ops::Reshape;
using ops::Transpose;

constexpr int64_t kFewRows = 8;  // up to here packing at run time costs more than it saves

std::optional<ValueId> pack_matmul(Rewriter& r, NodeId root) {
  const auto* op = r.op<MatMul>(root);
  if (op == nullptr || op->packed) return std::nullopt;
  const ValueId a = r.input(root, 0);
  const ValueId b = r.input(root, 1);
  if (r.type(b).dtype != DType::f32) return std::nullopt;
  const Expr columns = r.type(b).dims.back();
  const auto width = panel_width(columns);
  if (!width) return std::nullopt;
  if (!r.is_constant(b)) {
    const auto& a_dims = r.type(a).dims;
    if (range_of(a_dims[a_dims.size() - 2]).hi <= kFewRows) return std::nullopt;
  }
  return r.add(MatMul{true, columns}, {a, r.add(PackPanels{*width}, {b})});
}

/// w [k.., C/G, OC] -> panels [G*P, k.., C/G, W]: taps and channels are the rows of a matrix for
/// each group. A filter for each channel is left as it is, and what has no template.
std::optional<ValueId> pack_conv(Rewriter& r, NodeId root) {
  const auto* op = r.op<Conv>(root);
  if (op == nullptr || op->packed || op->strides.empty() || op->strides.size() > 2) {
    return std::nullopt;
  }
  if (template_of(r.graph(), root) != TemplateKind::none) return std::nullopt;
  const ValueId w = r.input(root, 1);
  if (r.type(w).dtype != DType::f32 || !r.is_constant(w)) return std::nullopt;
  const Exprs dims = r.type(w).dims;
  const auto columns = dims.back().as_int();
  if (!columns || *columns % op->groups != 0) return std::nullopt;
  const Expr group_columns = r.pool().integer(*columns / op->groups);
  const auto width = panel_width(group_columns);
  if (!width) return std::nullopt;

  const Exprs row_dims(dims.begin(), dims.end() - 1);
  const Expr rows = element_count(r.pool(), row_dims);
  const int64_t groups = op->groups;
  Exprs matrix_dims = {rows, dims.back()};
  if (groups > 1) matrix_dims = {rows, r.pool().integer(groups), group_columns};
  ValueId matrix = r.add(Reshape{matrix_dims}, {w});
  if (groups > 1) matrix = r.add(Transpose{{1, 0, 2}}, {matrix});
  const ValueId panels = r.add(PackPanels{*width}, {matrix});
  Conv packed = *r.op<Conv>(root);
  packed.packed = true;
  packed.columns = *columns;
  Exprs packed_dims = {r.pool().integer(groups * packed.panels_per_group(*width))};
  packed_dims.insert(packed_dims.end(), row_dims.begin(), row_dims.end());
  packed_dims.push_back(r.pool().integer(*width));
  std::vector<ValueId> inputs = r.node(root).inputs;
  inputs[1] = r.add(Reshape{packed_dims}, {panels});
  return r.add(std::move(packed), std::move(inputs));
}

/// G x G: [36, 9], which takes the taps of a filter to the points of conv_winograd.
ConstantData transform_of_filters() {
  Tensor transform(DType::f32, {36, 9});
  for (int64_t row = 0; row < 36; ++row) {
    for (int64_t tap = 0; tap < 9; ++tap) {
      transform.set_real(row * 9 + tap,
                         ConvWinograd::kG[row / 6][tap / 3] * ConvWinograd::kG[row % 6][tap % 3]);
    }
  }
  return to_constant(transform);
}

/// w [3, 3, C, OC] -> u [36, P, C, W], by the preparation program.
std::optional<ValueId> use_winograd(Rewriter& r, NodeId root) {
  const ValueId w = r.op<Conv>(root) == nullptr ? ValueId() : r.input(root, 1);
  if (!w.valid() || r.type(w).dtype != DType::f32 || !r.is_constant(w)) return std::nullopt;
  if (!is_worth_winograd(r.graph(), root)) return std::nullopt;
  const Exprs dims = r.type(w).dims;
  const Conv conv = *r.op<Conv>(root);
  const Expr nine = r.pool().integer(9), all = r.pool().integer(36);
  const ValueId taps = r.add(Reshape{{nine, dims[2] * dims[3]}}, {w});
  const ValueId transform = r.graph().add_constant(transform_of_filters(), "");
  const ValueId points = r.add(MatMul{}, {transform, taps});
  const ValueId matrices = r.add(Reshape{{all, dims[2], dims[3]}}, {points});
  std::vector<ValueId> inputs = r.node(root).inputs;
  inputs[1] = r.add(PackPanels{*panel_width(dims[3])}, {matrices});
  return r.add(ConvWinograd{conv.pads_begin, conv.pads_end, *dims[3].as_int()}, std::move(inputs));
}

constexpr std::array kRules = {
    Rule{"pack_matmul", pack_matmul, "matmul(a, b) -> matmul(a, pack_panels(b))"},
    Rule{"use_winograd", use_winograd, "conv(x, w) of 3x3 -> conv_winograd(x, G w G^T)"},
    Rule{"pack_conv", pack_conv, "conv(x, w) -> conv(x, pack_panels(w))"},
};

}  // namespace

std::vector<std::string_view> pack_weights_parts() {
  return names_of(kRules);
}

void pack_weights(Graph& graph, const PassContext& context) {
  apply_rules(graph, kRules, context);
}

}  // namespace ingot
