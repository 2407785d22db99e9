// artifact/routines.h: operators that are plain functions instead of kernels.
//
// A routine's step names its operands, inputs first. It is called with the types of its inputs,
// whose dims the generated wrapper has computed, and returns 0 or an ingot_status. Its attributes
// are those of the operator, in their order, as i64: numbers, flags and enumerations as they are,
// element types as ONNX numbers them, dims as their values, lists of texts as how many there are.
// Texts are in `texts`, in their order.
//
// An element of strings is a handle: the address of an ingot_string, or null for an empty one. A
// sequence or optional is one handle, the address of an ingot_container (ingot.h) whose items have
// no strides. What a handle refers to does not change any more.
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

/// The texts as a tensor of strings.
extern "C" int ingot_string_constant(RoutineArgs& args, const RoutineTensor* inputs);

/// Whether strings are equal, and strings one behind the other; both broadcast (ops/strings.h).
extern "C" int ingot_string_equal(RoutineArgs& args, const RoutineTensor* inputs);
extern "C" int ingot_string_concat(RoutineArgs& args, const RoutineTensor* inputs);
/// Pieces of strings. Sets the last dim. Texts: the delimiter. Attributes: most cuts.
extern "C" int ingot_string_split(RoutineArgs& args, const RoutineTensor* inputs);
/// Elements that are no stop words, in one case. Sets the last dim. Texts: StringNormalize's.
/// Attributes: letters, case_sensitive, number of stop words, number of texts.
extern "C" int ingot_string_normalize(RoutineArgs& args, const RoutineTensor* inputs);
/// Numbers as text, and the numbers that texts stand for (ops/strings.h). Attributes of the latter:
/// the element type.
extern "C" int ingot_number_to_string(RoutineArgs& args, const RoutineTensor* inputs);
extern "C" int ingot_string_to_number(RoutineArgs& args, const RoutineTensor* inputs);
/// Which of the texts a string is, i64. Texts: their table (base/text_table.h), then themselves.
/// Attributes: number of texts.
extern "C" int ingot_string_find(RoutineArgs& args, const RoutineTensor* inputs);
/// How many different strings are below each, i64.
extern "C" int ingot_string_rank(RoutineArgs& args, const RoutineTensor* inputs);
/// Whether strings match. Texts: the table (RegexTable::to_bytes).
extern "C" int ingot_regex_match(RoutineArgs& args, const RoutineTensor* inputs);

/// A sequence or optional of the inputs (ops/containers.h). Attributes: number of items.
extern "C" int ingot_container_of(RoutineArgs& args, const RoutineTensor* inputs);
/// The same handle.
extern "C" int ingot_container_copy(RoutineArgs& args, const RoutineTensor* inputs);
/// The number of items, i64.
extern "C" int ingot_container_length(RoutineArgs& args, const RoutineTensor* inputs);
/// Item number `position`, a tensor. Sets its dims. Attributes: rank.
extern "C" int ingot_container_at(RoutineArgs& args, const RoutineTensor* inputs);
/// The sequence with x in front of item `position`. Attributes: whether there is a position.
extern "C" int ingot_sequence_insert(RoutineArgs& args, const RoutineTensor* inputs);
/// The sequence without item `position`. Attributes: whether there is a position.
extern "C" int ingot_sequence_erase(RoutineArgs& args, const RoutineTensor* inputs);
/// Pieces of a tensor. Attributes: axis, keepdims, whether there are sizes.
extern "C" int ingot_sequence_split(RoutineArgs& args, const RoutineTensor* inputs);
/// All items as one tensor. Sets its dims. Attributes: axis, new_axis, rank.
extern "C" int ingot_sequence_concat(RoutineArgs& args, const RoutineTensor* inputs);

/// A sequence of maps from the keys to the numbers of each row (ops/maps.h).
extern "C" int ingot_map_rows(RoutineArgs& args, const RoutineTensor* inputs);
/// What a map has for some keys.
extern "C" int ingot_map_get(RoutineArgs& args, const RoutineTensor* inputs);
/// All values of a map, in the order of its keys. Sets the dim.
extern "C" int ingot_map_values(RoutineArgs& args, const RoutineTensor* inputs);

}  // namespace ingot::artifact
