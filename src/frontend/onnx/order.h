// frontend/onnx/order.h: puts the nodes of a graph or function into an order in which they can run.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/onnx/wire.h"

namespace ingot::onnx {

/// "node 'conv1' (Conv)", or by its first output if it has no name; safe for messages.
std::string describe(const NodeProto& node);

/// Numbers of the nodes, each after those whose outputs it (or a subgraph of it) reads; as in the
/// file wherever that allows it. `depth` counts the graphs around. Errors: invalid_model for a
/// cycle, naming its nodes, for a name that two nodes define, and for subgraphs nested too deep.
Result<std::vector<size_t>> execution_order(std::span<const NodeProto> nodes, int depth);

/// Calls fn(name) for everything that subgraphs of the node read, their own names included.
/// `depth` as above. Errors: invalid_model for subgraphs that cannot be read or are nested too
/// deep.
Status for_each_capture(const NodeProto& node, int depth,
                        const std::function<void(std::string_view)>& fn);

}  // namespace ingot::onnx
