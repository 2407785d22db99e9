// tests/gpu/op_kernels.h: the derived cases of operators as loop nests for the emulator.
#pragma once

#include <vector>

#include "kernel_case.h"
#include "tests/op_harness.h"

namespace ingot {

/// An operator's case and the kernels that compute it, one per output: `kernels[k]` is output k.
struct OpKernels {
  std::shared_ptr<OpCase> op;
  std::vector<KernelCase> kernels;
};

/// The cases with seeds 0 to seeds - 1 of every operator that is lowered to loop nests, and the
/// same with symbolic dims. Kernels' names are unique. Errors: of the harness, which no case has.
Result<std::vector<OpKernels>> op_kernels(uint64_t seeds);

}  // namespace ingot
