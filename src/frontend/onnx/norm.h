// frontend/onnx/norm.h: what normalising operators share.
#pragma once

#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// A tensor [C] placed along axis 1 of x.
Result<ValueId> along_channels(OpContext& n, ValueId c, ValueId x);

struct Moments {
  ValueId mean;
  ValueId variance;
  ValueId centred;
};

/// Mean and population variance along axes, kept as dims of 1, in the compute type.
Result<Moments> moments(OpContext& n, ValueId x, const std::vector<int64_t>& axes);
/// centred / sqrt(variance + epsilon).
Result<ValueId> scaled(OpContext& n, const Moments& m, double epsilon);

/// y = x * scale + bias in the type `held`, all operands broadcast; bias may be absent.
Result<ValueId> affine(OpContext& n, ValueId x, ValueId scale, ValueId bias, DType held);

/// Normalisation over the dims from `axis` on. Scale and bias may be absent.
struct Norm {
  ValueId scale = {};
  ValueId bias = {};
  int64_t axis = -1;
  double epsilon = 0;
};
/// y, and if the node's second or third output is wanted the mean and 1 / deviation of each row.
Result<ValueIds> layer_normalized(OpContext& n, ValueId x, const Norm& norm);
/// y = x / sqrt(mean of x^2 + epsilon) * scale + bias, and what x was multiplied by.
Result<ValueIds> rms_normalized(OpContext& n, ValueId x, const Norm& norm);

}  // namespace ingot::onnx
