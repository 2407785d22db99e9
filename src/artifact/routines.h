// artifact/routines.h: operators that are plain functions instead of kernels.
//
// A routine's step names its operands, inputs first. It is called with the types of its inputs,
// whose dims the generated wrapper has computed, and returns 0 or an ingot_status.
#pragma once

#include "artifact/program.h"

namespace ingot::artifact {

/// y[a, j] = index along dim a of the j-th nonzero element of x, in row-major order; i64 [rank, n].
/// Sets its one symbol to n. NaN is not zero. Source: ONNX NonZero-13.
/// Errors: unsupported for an element type that has no zero to compare with (strings).
extern "C" int ingot_nonzero(RoutineArgs& args, const RoutineTensor* inputs);

}  // namespace ingot::artifact
