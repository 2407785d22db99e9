// frontend/onnx/map_data.cc: keys and values of a MapProto as two tensors.
#include "frontend/onnx/map_data.h"

namespace ingot::onnx {
namespace {

Result<Tensor> keys_of(const MapProto& map) {
  const auto dtype = dtype_from_onnx(map.key_type);
  if (dtype == DType::str) {
    if (!map.keys.empty()) return invalid_model("expected strings as keys, got numbers");
    return Tensor::of_strings({std::ssize(map.string_keys)}, map.string_keys);
  }
  if (dtype != DType::i64) {
    return unsupported("a map from other keys than i64 and strings (key type ", map.key_type, ")");
  }
  if (!map.string_keys.empty()) return invalid_model("expected numbers as keys, got strings");
  return Tensor::of_ints(map.keys);
}

}  // namespace

Result<Tensor> decode_map(std::string_view bytes, const ModelBytes& source) {
  TRY(const MapProto map, read_map(bytes));
  TRY(Tensor keys, keys_of(map));
  TRY(const ContainerProto proto, read_container(map.values));
  if (std::ssize(proto.tensors) != keys.size()) {
    return invalid_model("expected ", keys.size(), " values, one for each key, got ",
                         proto.tensors.size());
  }
  Tensor values(DType::f32, {0});
  for (int64_t k = 0; k < keys.size(); ++k) {
    TRY(const TensorProto tensor, read_tensor(proto.tensors[static_cast<size_t>(k)]));
    TRY(const ConstantData data, decode_tensor(tensor, source));
    TRY(const Tensor value, to_tensor(data));
    if (k == 0) values = Tensor(value.dtype(), {keys.size()});
    if (value.size() != 1 || value.dtype() != values.dtype()) {
      return invalid_model("value ", k, ": expected one ", values.dtype(), ", got ", value.size(),
                           " ", value.dtype());
    }
    values.copy_element(k, value, 0);
  }
  return Tensor::container({std::move(keys), std::move(values)});
}

}  // namespace ingot::onnx
