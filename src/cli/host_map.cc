// cli/host_map.cc: a map is two lists, of keys and of their values.
#include "cli/host_map.h"

#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "base/text.h"
#include "frontend/onnx/map_data.h"

namespace ingot::cli {
namespace {

/// Element k of a list, as a scalar.
HostTensor element_of(const HostTensor& list, size_t k) {
  HostTensor element{list.dtype, {}, {}};
  if (list.dtype == DType::str) {
    element.strings = {list.strings[k]};
  } else {
    const auto size = static_cast<size_t>(bits(list.dtype) / 8);
    const auto begin = list.bytes.begin() + static_cast<std::ptrdiff_t>(k * size);
    element.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return element;
}

size_t size_of(const HostTensor& map) {
  return static_cast<size_t>(map.items[0].dims[0]);
}

}  // namespace

Result<HostTensor> decode_map(std::string_view bytes,
                              const std::shared_ptr<const MappedFile>& owner) {
  TRY(const Tensor map, onnx::decode_map(bytes, {owner, nullptr}));
  HostTensor result;
  result.kind = HostTensor::Kind::map;
  for (const Tensor& list : map.items()) {
    result.items.push_back(from_tensor(list, TensorType{list.dtype(), {}}));
  }
  result.key = result.items[0].dtype;
  result.dtype = result.items[1].dtype;
  return result;
}

Result<HostTensor> decode_maps(const onnx::ContainerProto& proto,
                               const std::shared_ptr<const MappedFile>& owner,
                               HostTensor::Kind kind) {
  if (kind != HostTensor::Kind::sequence || !proto.tensors.empty() || !proto.sequences.empty()) {
    return unsupported("maps elsewhere than in a sequence of maps");
  }
  HostTensor result;
  result.kind = kind;
  for (size_t k = 0; k < proto.maps.size(); ++k) {
    TRY(HostTensor map, add_note(decode_map(proto.maps[k], owner), "item ", k));
    if (k > 0 && (map.key != result.key || map.dtype != result.dtype)) {
      return invalid_model("item ", k, ": expected ", type_text(result.items[0]), ", got ",
                           type_text(map));
    }
    result.key = map.key;
    result.dtype = map.dtype;
    result.items.push_back(std::move(map));
  }
  return result;
}

// Source of the field numbers: onnx-data.proto, ONNX 1.22.
std::string format_map(const HostTensor& map, std::string_view name) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (!name.empty()) out.add_string(1, name.data(), name.size());
  const HostTensor &keys = map.items[0], &values = map.items[1];
  out.add_int32(2, onnx_number(keys.dtype));
  HostTensor list{values.dtype, {}, {}};
  list.kind = HostTensor::Kind::sequence;
  std::vector<int64_t> numbers;
  for (size_t k = 0; k < size_of(map); ++k) {
    if (keys.dtype == DType::str) {
      out.add_bytes(4, keys.strings[k]);
    } else {
      std::memcpy(&numbers.emplace_back(), keys.bytes.data() + k * sizeof(int64_t),
                  sizeof(int64_t));
    }
    list.items.push_back(element_of(values, k));
  }
  out.add_packed_int64(3, numbers.begin(), numbers.end());
  out.add_message(5, format_pb(list, ""));
  return bytes;
}

Json map_json(const HostTensor& map) {
  const Json keys = values_json(map.items[0]), values = values_json(map.items[1]);
  Json object = Json::object();
  for (size_t k = 0; k < size_of(map); ++k) {
    const Json& key = keys[k];
    object[key.is_string() ? key.get<std::string>() : key.dump()] = values[k];
  }
  return object;
}

}  // namespace ingot::cli
