// codegen/cost.cc: counts the operations of a region's ops.
#include "codegen/cost.h"

#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace ingot {
namespace {

/// Nodes of an expression that compute something.
int64_t arithmetic_in(Expr value) {
  int64_t count = 0;
  for_each(value, [&](Expr e) {
    switch (e.kind()) {
      case ExprKind::constant:
      case ExprKind::symbol:
      case ExprKind::index:
      case ExprKind::param:
      case ExprKind::local:
      case ExprKind::cast:
        return;
      default:
        ++count;
    }
  });
  return count;
}

/// Products that make up one element of a convolution: the filter without its last dim and, packed,
/// without that of the panels.
Expr terms_of(const ops::Conv& conv, const TensorType& filter) {
  const std::span<const Expr> dims(filter.dims);
  const size_t first = conv.packed ? 1 : 0;
  return element_count(filter.dims[0].pool(), dims.subspan(first, dims.size() - first - 1));
}

}  // namespace

Expr operations_of(const Graph& region) {
  Expr sum = region.pool().integer(0);
  for (const NodeId id : region.nodes()) {
    const Node& node = region.node(id);
    if (node.outputs.empty() || !region.type(node.outputs[0]).is_tensor()) continue;
    const Expr elements = element_count(region.pool(), region.tensor(node.outputs[0]).dims);
    if (node.op.is<ops::MatMul>()) {
      sum = sum + elements * region.tensor(node.inputs[0]).dims.back() * 2;
    } else if (const auto* conv = node.op.as<ops::Conv>()) {
      sum = sum + elements * terms_of(*conv, region.tensor(node.inputs[1])) * 2;
    } else if (const auto* pointwise = node.op.as<ops::Pointwise>()) {
      sum = sum + elements * arithmetic_in(pointwise->value);
    } else if (node.op.is<ops::Reduce>()) {
      sum = sum + element_count(region.pool(), region.tensor(node.inputs[0]).dims);
    }
  }
  return sum;
}

}  // namespace ingot
