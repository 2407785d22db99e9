// artifact/routines.h: operators that are plain functions instead of kernels.
//
// A routine's step names its operands, inputs first. It is called with the types of its inputs,
// whose dims the generated wrapper has computed, and returns 0 or an ingot_status. Its attributes
// are those of the operator, in their order, as i64: numbers, flags and enumerations as they are,
// element types as ONNX numbers them, dims as their values.
#pragma once

#include "artifact/program.h"

namespace ingot::artifact {

/// y[a, j] = index along dim a of the j-th nonzero element of x, in row-major order; i64 [rank, n].
/// Sets its one symbol to n. NaN is not zero. Source: ONNX NonZero-13.
/// Errors: unsupported for an element type that has no zero to compare with (strings).
extern "C" int ingot_nonzero(RoutineArgs& args, const RoutineTensor* inputs);

/// The first elements of x along an axis, sorted, and their positions (ops/topk.h). Attributes:
/// axis, largest, count. Errors: invalid_argument for a count that the axis has not.
extern "C" int ingot_topk(RoutineArgs& args, const RoutineTensor* inputs);

/// A copy of x with rows replaced or combined (ops/scatter.h). Attributes: combine, kind (the
/// number of the ReduceKind).
extern "C" int ingot_scatter(RoutineArgs& args, const RoutineTensor* inputs);

/// Boxes that no better box of their class covers (ops/non_max_suppression.h). Sets its symbol to
/// their number. Attributes: centre.
extern "C" int ingot_non_max_suppression(RoutineArgs& args, const RoutineTensor* inputs);

/// Sets its one symbol to x, an i64, clamped to 2^31 - 1 either way, plus 2^31. y has no elements.
extern "C" int ingot_read_size(RoutineArgs& args, const RoutineTensor* inputs);

/// The inputs one after the other along an axis. Attributes: axis, number of inputs.
extern "C" int ingot_concat(RoutineArgs& args, const RoutineTensor* inputs);

/// The bits of x as elements of another type (ops/bitcast.h): a copy.
extern "C" int ingot_bitcast(RoutineArgs& args, const RoutineTensor* inputs);

/// Pixels of a file of a picture (ops/decode_picture.h). Sets its symbols to height and width.
/// Attributes: pixels. Errors: invalid_argument for bytes that are none, unsupported for formats.
extern "C" int ingot_decode_picture(RoutineArgs& args, const RoutineTensor* inputs);

/// Numbers of a Mersenne Twister after a seed (ops/mersenne_twister.h). Attributes: count.
extern "C" int ingot_mersenne_twister(RoutineArgs& args, const RoutineTensor* inputs);

}  // namespace ingot::artifact
