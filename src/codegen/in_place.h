// codegen/in_place.h: which inputs of a region its output may overwrite.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Numbers of the inputs of a `fusion` node whose memory its one output may be written to: those
/// that have as many bytes and of which each element of the output reads the element in its own
/// place and no other. The operands of a matrix product or convolution are not among them, and a
/// node of several outputs has none: their loops may run one after the other.
std::vector<size_t> inputs_to_overwrite(const Graph& graph, NodeId node);

}  // namespace ingot
