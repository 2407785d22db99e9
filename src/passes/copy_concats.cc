// passes/copy_concats.cc: concatenations of many parts become copies.
#include "ops/concat.h"
#include "ops/concat_copy.h"
#include "passes/passes.h"

namespace ingot {
namespace {

/// An element of a fused concat takes a comparison per part; with this many, a copy is cheaper.
constexpr size_t kMostFusedParts = 8;

}  // namespace

void copy_concats(Graph& graph, const PassContext&) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto* concat = node.op.as<ops::Concat>();
    if (concat == nullptr || node.inputs.size() <= kMostFusedParts) continue;
    const TensorType& y = graph.tensor(node.outputs[0]);
    if (y.dtype == DType::str || bits(y.dtype) < 8) continue;
    const auto axis = normalize_axis(concat->axis, y.rank());
    graph.set_op(id, make_op(ops::ConcatCopy{axis ? *axis : concat->axis,
                                             static_cast<int64_t>(node.inputs.size())}));
  }
}

}  // namespace ingot
