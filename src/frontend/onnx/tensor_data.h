// frontend/onnx/tensor_data.h: the elements of a TensorProto as constant data, in any encoding.
#pragma once

#include <memory>

#include "base/result.h"
#include "frontend/onnx/external.h"
#include "frontend/onnx/wire.h"
#include "ir/op_def.h"

namespace ingot::onnx {

/// Dims above this rank are refused: no operator has use for them.
inline constexpr size_t kMaxRank = 64;

/// Where a model's bytes lie: `owner` keeps them alive, `external` finds those in other files.
struct ModelBytes {
  std::shared_ptr<const void> owner;
  ExternalFiles* external = nullptr;
};

/// The tensor's elements. raw_data and external data are not copied. Errors: invalid_model if type,
/// dims and data do not fit together; unsupported for types that do not exist here.
Result<ConstantData> decode_tensor(const TensorProto& tensor, const ModelBytes& source);

/// The same for a tensor whose values do not matter yet: only its dtype and checked dims.
Result<DType> tensor_dtype(const TensorProto& tensor);

/// Constant data that owns a copy of `bytes`.
ConstantData make_constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes);

}  // namespace ingot::onnx
