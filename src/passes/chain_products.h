// passes/chain_products.h: products of which one's left operand is made of the other's result.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// If the left operand of `product` is made, row by row, of another product's result and of nothing
/// else that is made of it, takes all between the two out of memory: one kernel then computes a few
/// rows of the first product, what is made of them, and their rows of the second. Attention is such
/// a pair, with a softmax between.
///
/// Rows are made of rows: reductions are over a row, and each element outside of them reads its own
/// place. Only products of two computed matrices are taken: weights are read panel by panel, each
/// for as many rows as there are. `in_memory` is indexed by value, `template_of` by node: the
/// product whose epilogue it belongs to. Whether it did so.
bool chain_products(const Graph& graph, NodeId product, const std::vector<NodeId>& template_of,
                    std::vector<bool>& in_memory);

}  // namespace ingot
