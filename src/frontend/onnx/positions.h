// frontend/onnx/positions.h: where indices lead, as row-major positions of a tensor.
#pragma once

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// What becomes of an index that lies outside of its dim: the nearest one inside, so that no data
/// can lead a load elsewhere, or the position -1, which stores nothing.
enum class Outside : uint8_t { clamp, skip };

/// Indices as i64.
Result<ValueId> wide_indices(OpContext& n, ValueId indices);

/// Positions in x, of the dims of `indices`: p[i..] = that of x[i.., with indices[i..] at axis].
Result<ValueId> element_positions(OpContext& n, ValueId x, ValueId indices, int64_t axis,
                                  Outside outside);

/// indices [.., k] hold k-tuples into x's dims after `batch` common ones. Positions [..] in x with
/// its first batch + k dims as one, and that tensor of slices.
struct Slices {
  ValueId x;          // [slices, rest..]
  ValueId positions;  // indices without the last dim
};
Result<Slices> tuple_positions(OpContext& n, ValueId x, ValueId indices, int64_t batch,
                               Outside outside);

/// Elements of x at row-major positions.
Result<ValueId> take_flat(OpContext& n, ValueId x, ValueId positions);

/// x with the slices of its first dim at positions (any dims) replaced by updates, or combined with
/// them. updates has the dims of positions, then those of a slice.
Result<ValueId> scatter_rows(OpContext& n, ValueId x, ValueId positions, ValueId updates,
                             std::optional<ReduceKind> combine);

}  // namespace ingot::onnx
