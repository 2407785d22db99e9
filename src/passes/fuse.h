// passes/fuse.h: regions of the graph become kernels.
#pragma once

#include "ir/graph.h"
#include "passes/pass.h"

namespace ingot {

/// Replaces every op that runs by a `fusion` node, a closed region that becomes one kernel.
///
/// A value is kept in memory only if it has to be: a graph output, the operand of a matrix product,
/// the input of a routine, something expensive that several readers want, or something whose
/// recomputation would cost more than reading it. Everything else is computed where it is read, so
/// any DAG of pointwise and data-moving ops, with reductions in it, becomes one loop nest; and a
/// matrix product or convolution takes what pointwise ops make of it, until more than one value is
/// wanted, and the reshapes and transposes among them, as its epilogue, and as its prologue what
/// only its left operand reads, reductions aside; a convolution also takes the product in front of
/// it, if what lies between is larger than a cache, and a product another one of whose rows its own
/// left rows are made, reductions included, as in attention (chain_products.h). What several nodes
/// of one region read is computed in it, too, unless repeating it for each pass over a row costs
/// more than memory. There is no list of fused combinations. Its parts can be switched off; without
/// any, every op is a region.
void fuse(Graph& graph, const PassContext& context);
std::vector<std::string_view> fuse_parts();

}  // namespace ingot
