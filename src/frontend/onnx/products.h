// frontend/onnx/products.h: matrix products as ONNX means them, of floats and of quantized numbers.
#pragma once

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// a [.., M, K] times b [.., K, N], vectors included as NumPy does.
Result<ValueId> numpy_matmul(OpContext& n, ValueId a, ValueId b);

/// x - zero as i32; a zero point of one dim lies along `axis` of x.
Result<ValueId> without_zero(OpContext& n, ValueId x, ValueId zero, int64_t axis);
/// The product of a and b without their zero points, which may be absent or lists: one for each row
/// of a, one for each column of b.
Result<ValueId> integer_matmul(OpContext& n, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero);
/// round(acc * scale) + zero, saturated to the type of `zero`.
Result<ValueId> requantized(OpContext& n, ValueId acc, ValueId scale, ValueId zero);

}  // namespace ingot::onnx
