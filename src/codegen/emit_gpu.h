// codegen/emit_gpu.h: loop nests as kernels of a GPU language.
//
// A kernel of the loop IR becomes one launch for each nest at its top. Its parallel loops are the
// units of the grid. What a unit holds decides how its work is shared out:
// - one thread per unit, when there is nothing inside to run side by side. A perfect nest of vector
//   loops inside rectangular parallel ones counts as units too;
// - one block per unit otherwise: vector loops are strided over the threads, reductions marked
//   vector are joined over the block, scratch rows lie in shared memory, and barriers stand
//   wherever one thread may read or overwrite what another one wrote or reads.
// Scratch that is too large, or whose size only run time knows, lies in global memory that the
// launch is given. Grids may be smaller than the number of units: each thread or block strides on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/dialect.h"
#include "kernel/stmt.h"

namespace ingot {

/// One `__global__` function and how to launch it. Its parameters are a pointer per buffer, an i64
/// per symbol, and, if scratch_bytes is not 0, a pointer to scratch aligned to 16 bytes.
struct GpuLaunch {
  std::string name;
  int threads = 0;                ///< threads a block
  Expr units;                     ///< how many units there are; 0: nothing to launch
  int64_t units_per_block = 1;    ///< threads, or 1
  std::vector<uint32_t> buffers;  ///< positions in Kernel::buffers
  std::vector<SymbolId> symbols;
  Expr scratch_bytes;  ///< a block; i64, never negative
  int64_t max_blocks = 0;
};

struct GpuKernel {
  std::string text;                 ///< without the prelude
  std::vector<GpuLaunch> launches;  ///< to be run in order
};

/// The kernel's text in a dialect. Errors: unsupported, if a buffer's type has no GPU form.
Result<GpuKernel> emit_gpu(const Kernel& kernel, const Dialect& dialect);

/// Blocks to launch for these symbols; 0: the launch is to be left out.
int64_t block_count(const GpuLaunch& launch, std::span<const int64_t> symbols);

}  // namespace ingot
