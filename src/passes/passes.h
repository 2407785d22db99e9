// passes/passes.h: the passes of the pipeline; each is explained where it is defined.
#pragma once

#include "ir/graph.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace ingot {

/// Removes what does nothing (reshapes, transposes, slices, casts ...), merges pairs of one kind,
/// and unifies symbols that the graph's assumptions equate.
void canonicalize(Graph& graph, const PassContext& context);
std::vector<std::string_view> canonicalize_parts();
/// The rules of it, for passes that make redundant ops.
std::span<const Rule> canonical_rules();

/// Computes small values that are known: from constants by `reference`, shape arithmetic by
/// symbolic_contents. Large constants are left to the weight-preparation program.
void fold_constants(Graph& graph, const PassContext& context);
std::vector<std::string_view> fold_constants_parts();

/// Merges nodes that compute the same.
void cse(Graph& graph, const PassContext& context);

/// Drops what no output needs.
void dead_code(Graph& graph, const PassContext& context);

/// Simplifies arithmetic: constants of one value move into expressions, broadcasts into the
/// pointwise ops that broadcast by themselves, and the like.
void algebra(Graph& graph, const PassContext& context);
std::vector<std::string_view> algebra_parts();

/// Moves transposes down through the graph until they meet and cancel; keeps the graph as it was if
/// that would leave more elements to transpose.
void layout(Graph& graph, const PassContext& context);
std::vector<std::string_view> layout_parts();

/// Multiplies a per-channel scale behind a convolution or matrix product into its weights.
void fold_batch_norm(Graph& graph, const PassContext& context);
std::vector<std::string_view> fold_batch_norm_parts();

/// Makes concatenations of many parts copies.
void copy_concats(Graph& graph, const PassContext& context);

/// Gives matrix products and convolutions their right operand in panels.
void pack_weights(Graph& graph, const PassContext& context);
std::vector<std::string_view> pack_weights_parts();

/// Moves what bodies of control flow compute from constants alone out of them, so that it is
/// prepared with all other weights, and drops captures that no body reads.
void hoist(Graph& graph, const PassContext& context);

/// Expands composite ops and refuses, all at once, what no kernel can be made for.
void legalize(Graph& graph, const PassContext& context);
/// What legalize would refuse.
std::vector<UnsupportedNode> find_unsupported(const Graph& graph);

/// As substitute() asks.
using ReplaceDim = std::function<std::optional<Expr>(Expr)>;
/// A copy with the dimensions in every type, attribute and assumption rewritten into `pool`.
/// Errors: what an op's infer refuses in the new dimensions.
Result<Graph> map_dims(const Graph& graph, std::shared_ptr<ExprPool> pool,
                       const ReplaceDim& replace);
/// A copy with symbols replaced, in every type, attribute and assumption, by expressions of the
/// same pool. `by` is indexed by SymbolId; a default Expr leaves the symbol. Errors: as map_dims.
Result<Graph> replace_symbols(const Graph& graph, std::span<const Expr> by);

}  // namespace ingot
