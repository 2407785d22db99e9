// passes/templates.h: which nodes run as one of a target's tested micro-kernels, and what may be
// computed in front of them.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace ingot {

/// How a product is realised; the names of the prelude's functions.
enum class TemplateKind : uint8_t {
  none,
  gemm,    // matmul with b in panels; conv with one tap per window and nothing around the picture
  conv2d,  // conv of one or two spatial dims, weights in panels, any groups
  depthwise,  // conv with a filter of its own for every channel
  winograd,   // conv_winograd
};

/// The template that a node runs as: f32, weights in panels of panel_width(), at most two spatial
/// dims. Chosen from types and attributes alone.
TemplateKind template_of(const Graph& graph, NodeId node);

/// Columns of a panel: 64, or what is there rounded up to 16; the same for every instruction set.
/// Nothing for a matrix without columns.
std::optional<int64_t> panel_width(Expr columns);

/// Whether a convolution is faster as conv_winograd, and near enough to the sum written out: 3x3
/// windows side by side, channels and tiles enough to fill the matrices, and no more channels than
/// keep the bound of decision 0003.
bool is_worth_winograd(const Graph& graph, NodeId conv);

/// How often an element of a template's operand 0 may be computed instead of being kept in memory.
///
/// A pass over memory writes an element of 4 bytes and reads it back: 8 bytes, which a core moves
/// in the time of kOperationsPerByte * 8 = 32 operations in one lane. So `repeats` evaluations are
/// as cheap as a pass while
///
///   (repeats - 1) * operations <= max(32, columns / 16),
///
/// where the second part allows a product with so many columns (one multiply-add each per element)
/// a sixteenth of its own work, because more units mean more threads. Never less than 1: what one
/// evaluation costs is paid with and without a pass. `operations` is what operations_of() counts.
int64_t worthwhile_repeats(double operations, Expr columns);

/// Whether units that make the rows of pictures which they read leave work for several threads: not
/// if a picture is one long row, as in one spatial dim, and there are few. True for products.
bool has_rows_to_share(const Graph& graph, NodeId id);

/// Whether a product's result is better made a few rows at a time by the convolution that alone
/// reads it than written to memory: it is larger than a core's own cache, and computing again the
/// rows that two threads share costs less than the pass over memory.
bool is_worth_making_in_conv(const Graph& graph, NodeId product, NodeId conv);

/// The same without a product: whether evaluating an element `times` times is as cheap as a pass.
bool is_worth_repeating(double operations, int times);

/// Operations in one lane that evaluating a fused element costs, in units of a multiply-add.
double operations_of(Expr element, VarId lane);

}  // namespace ingot
