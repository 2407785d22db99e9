// codegen/schedule.h: a region becomes a loop nest.
#pragma once

#include "codegen/region.h"

namespace ingot {

/// Writes the loops of a region whose outputs all have the same dims (or that is one scatter).
///
/// 1. Neighbouring dims are merged into one loop wherever no division or remainder appears.
/// 2. Loops are ordered so that a reduction runs where everything it needs is known and is not
///    repeated: first the loops that reductions depend on, then the others.
/// 3. The loop along contiguous memory is marked `vector`: the innermost dim of the output, or the
///    reductions' own loops where those are the contiguous ones.
/// 4. The perfect outer loops are marked `parallel`; a kernel that is one long vector loop is cut
///    into blocks.
/// 5. A transcendental that two loops over the same extent compute is kept in a scratch row.
Kernel schedule(Region& region, std::string name, std::vector<std::string> provenance);

/// What the next scratch buffer and the next local of a kernel are numbered.
struct ScratchNumbers {
  uint32_t buffer = 0;
  uint32_t local = 0;
};

/// The statements that store `value`, an element, to buffer `row` at every `lane` < extent: its
/// reductions first, then one loop. All other variables are known. No reduction depends on `lane`.
/// What is loaded from `row`, at `lane` outside of reductions, is what it held before.
Block schedule_row(ExprPool& pool, Expr value, Expr lane, Expr extent, uint32_t row,
                   ScratchNumbers& numbers);

/// A rough count of the work in one iteration of the kernel's parallel loops, for the split over
/// threads: nanoseconds as an expression over symbols (i64, at least 1).
Expr estimate_unit_ns(const Kernel& kernel);

/// Number of iterations of the kernel's parallel loops together.
Expr unit_count(const Kernel& kernel);

}  // namespace ingot
