// codegen/cost.h: how much arithmetic a region is, for profiles.
#pragma once

#include "ir/graph.h"

namespace ingot {

/// Operations of a region's products, convolutions, pointwise ops and reductions, each counted once
/// (a multiply-add is two); i64, a function of the dims. What fusion repeats is not counted again.
Expr operations_of(const Graph& region);

}  // namespace ingot
