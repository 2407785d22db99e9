// tests/gpu/hand_kernels.h: loop nests of every shape that the GPU emitter treats differently.
#pragma once

#include <vector>

#include "kernel_case.h"

namespace ingot {

/// Each with data and results that were worked out here, not by the emitter's own means.
std::vector<KernelCase> hand_kernels();

}  // namespace ingot
