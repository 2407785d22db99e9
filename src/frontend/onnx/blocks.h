// frontend/onnx/blocks.h: numbers packed into bytes, and factors that hold for a block of them.
#pragma once

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// Each element `block` times along the axis, `size` of them.
Result<ValueId> repeat_blocks(OpContext& n, ValueId x, int64_t axis, int64_t block, Expr size);

/// Numbers of 1, 2, 4 or 8 bits that lie in bytes x [.., n], the first in the lowest bits:
/// [.., n * 8 / bits] of u8.
Result<ValueId> unpack_bits(OpContext& n, ValueId x, int64_t bits);

}  // namespace ingot::onnx
