// frontend/onnx/attention.h: what attention operators share: heads, their products, rotation.
#pragma once

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// x [B, T, heads * D] as [B, heads, T, D], and back.
Result<ValueId> split_heads(OpContext& n, ValueId x, int64_t heads);
Result<ValueId> merge_heads(OpContext& n, ValueId x);

/// q [B, H, T, D] times k [B, Hk, S, D] transposed (or v [B, Hk, S, Dv] as it is): the queries of a
/// group share the head of k.
Result<ValueId> grouped_matmul(Builder& n, ValueId a, ValueId b);

/// x [B, H, T, D] with pairs of elements turned by angles, whose cosines and sines are
/// [B or 1, 1, T, half]. A pair is elements d and d + half of a head, or 2d and 2d + 1 if they are
/// interleaved; elements from 2 half on stay.
Result<ValueId> rotated(OpContext& n, ValueId x, ValueId cosines, ValueId sines, bool interleaved);

}  // namespace ingot::onnx
