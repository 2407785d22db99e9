// codegen/in_place.h: which inputs of a region its output may overwrite.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Those of `inputs` (numbers) whose memory the body's one output may be written to: they have as
/// many bytes, and each element of the output reads the element in its own place and no other. The
/// operands of a matrix product or convolution are not among them, and a body of several outputs
/// has none: their loops may run one after the other.
std::vector<size_t> inputs_to_overwrite(const Graph& body, std::vector<size_t> inputs);

}  // namespace ingot
