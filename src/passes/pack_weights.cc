// passes/pack_weights.cc: right operands in panels, as the matrix kernels read them.
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pack_panels.h"
#include "ops/reshape.h"
#include "passes/passes.h"

namespace ingot {
namespace {

using ops::Conv;
using ops::MatMul;
using ops::PackPanels;
using ops::Reshape;

constexpr int64_t kPanelWidth = 64;   // columns of a panel, the same for every instruction set
constexpr int64_t kVectorWidth = 16;  // what narrower panels are rounded up to
constexpr int64_t kFewRows = 8;       // up to here packing at run time costs more than it saves

/// Nothing for a matrix without columns.
std::optional<int64_t> panel_width(Expr columns) {
  const auto count = columns.as_int();
  if (!count) return kPanelWidth;
  if (*count < 1) return std::nullopt;
  return *count >= kPanelWidth ? kPanelWidth
                               : (*count + kVectorWidth - 1) / kVectorWidth * kVectorWidth;
}

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

/// w [k.., C, OC] -> panels [P, k.., C, W]: taps and channels are the rows of one matrix.
std::optional<ValueId> pack_conv(Rewriter& r, NodeId root) {
  const auto* op = r.op<Conv>(root);
  if (op == nullptr || op->packed || op->groups != 1) return std::nullopt;
  const ValueId w = r.input(root, 1);
  if (r.type(w).dtype != DType::f32 || !r.is_constant(w)) return std::nullopt;
  const Exprs dims = r.type(w).dims;
  const auto columns = dims.back().as_int();
  const auto width = panel_width(dims.back());
  if (!columns || !width) return std::nullopt;

  const Exprs row_dims(dims.begin(), dims.end() - 1);
  const Expr rows = element_count(r.pool(), row_dims);
  const ValueId matrix = r.add(Reshape{{rows, dims.back()}}, {w});
  const ValueId panels = r.add(PackPanels{*width}, {matrix});
  Exprs packed_dims = {r.type(panels).dims[0]};
  packed_dims.insert(packed_dims.end(), row_dims.begin(), row_dims.end());
  packed_dims.push_back(r.pool().integer(*width));
  std::vector<ValueId> inputs = r.node(root).inputs;
  inputs[1] = r.add(Reshape{packed_dims}, {panels});
  Conv packed = *op;
  packed.packed = true;
  packed.columns = *columns;
  return r.add(std::move(packed), std::move(inputs));
}

constexpr std::array kRules = {
    Rule{"pack_matmul", pack_matmul, "matmul(a, b) -> matmul(a, pack_panels(b))"},
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
