// frontend/onnx/map_data.h: the contents of a MapProto.
#pragma once

#include "frontend/onnx/tensor_data.h"
#include "ir/tensor.h"

namespace ingot::onnx {

/// A map as the reference interpreter holds it: a container of the keys [n], i64 or strings, and
/// their values [n]. Without keys nothing tells the type of the values: it is f32 then.
/// Errors: invalid_model, unsupported for keys of other types.
Result<Tensor> decode_map(std::string_view bytes, const ModelBytes& source);

}  // namespace ingot::onnx
