// cli/host_tensor.cc: tensors from files by their suffix, at random, and as JSON.
#include "cli/host_tensor.h"

#include <cmath>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "base/file.h"
#include "base/letter_case.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/host_map.h"
#include "frontend/onnx/tensor_data.h"
#include "ir/type.h"

namespace ingot::cli {
namespace {

/// "f32[2,3]" as a tensor without its bytes, and their number; none if it is no such type.
std::optional<std::pair<HostTensor, size_t>> parse_raw_type(std::string_view text) {
  ExprPool pool;
  const auto type = parse_type(text, pool);
  if (!type || !type->is_tensor()) return std::nullopt;
  const DType dtype = type->tensor.dtype;
  const auto dims = static_dims(type->tensor);
  if (!dims || bits(dtype) < 8 || dtype == DType::str) return std::nullopt;
  int64_t bytes = bits(dtype) / 8;
  for (const int64_t dim : *dims) {
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return std::pair(HostTensor{dtype, *dims, {}}, static_cast<size_t>(bytes));
}

Result<HostTensor> read_raw(const std::filesystem::path& path, std::string_view text) {
  auto type = parse_raw_type(text);
  if (!type) {
    return invalid_argument(path.string(), ": expected FILE.bin:DTYPE[SIZE,...], got '", text, "'");
  }
  auto& [tensor, bytes] = *type;
  TRY(const MappedFile file, MappedFile::open(path));
  if (file.size_bytes() != bytes) {
    return invalid_argument(path.string(), ": expected ", bytes, " bytes for ", text, ", got ",
                            file.size_bytes());
  }
  tensor.bytes.assign(file.bytes().begin(), file.bytes().end());
  return std::move(tensor);
}

/// JSON is UTF-8: other bytes become the replacement character.
std::string readable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto decoded = decode_rune(text);
    append_rune(decoded ? decoded->rune : 0xFFFD, result);
    text.remove_prefix(decoded ? decoded->bytes : 1);
  }
  return result;
}

Json nested(const Tensor& tensor, size_t axis, int64_t& next) {
  if (axis == tensor.dims().size()) {
    const int64_t k = next++;
    if (tensor.dtype() == DType::b8) return tensor.integer(k) != 0;
    if (tensor.dtype() == DType::str) return readable(tensor.string(k));
    if (!tensor.holds_reals()) return tensor.integer(k);
    const double value = tensor.real(k);
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  Json list = Json::array();
  for (int64_t k = 0; k < tensor.dims()[axis]; ++k) list.push_back(nested(tensor, axis + 1, next));
  return list;
}

Result<HostTensor> decode(std::string_view bytes, const std::shared_ptr<const MappedFile>& owner,
                          HostTensor::Kind kind) {
  if (kind == HostTensor::Kind::tensor) {
    TRY(const onnx::TensorProto proto, onnx::read_tensor(bytes));
    TRY(const ConstantData data, onnx::decode_tensor(proto, {owner, nullptr}));
    return HostTensor{data.dtype, data.dims, {data.bytes.begin(), data.bytes.end()}, data.strings};
  }
  if (kind == HostTensor::Kind::map) return decode_map(bytes, owner);
  TRY(const onnx::ContainerProto proto, onnx::read_container(bytes));
  if (proto.has_other) return unsupported("sparse tensors or optionals in a container");
  if (!proto.maps.empty()) return decode_maps(proto, owner, kind);
  HostTensor result;
  result.kind = kind;
  const bool is_optional = kind == HostTensor::Kind::optional;
  constexpr int64_t kSequence = 3;  // OptionalProto.DataType
  result.holds_sequences =
      is_optional && (proto.elem_type == kSequence || !proto.sequences.empty());
  const size_t count = proto.tensors.size() + proto.sequences.size();
  if (is_optional ? count > 1 : !proto.sequences.empty()) {
    return invalid_model("expected ", is_optional ? "at most one item" : "tensors", ", got ",
                         proto.tensors.size(), " tensors and ", proto.sequences.size(),
                         " sequences");
  }
  for (size_t k = 0; k < count; ++k) {
    const bool is_tensor = k < proto.tensors.size();
    TRY(HostTensor item,
        add_note(decode(is_tensor ? proto.tensors[k] : proto.sequences[k - proto.tensors.size()],
                        owner, is_tensor ? HostTensor::Kind::tensor : HostTensor::Kind::sequence),
                 "item ", k));
    if (k > 0 && item.dtype != result.dtype) {
      return invalid_model("item ", k, ": expected ", result.dtype, ", got ", item.dtype);
    }
    result.dtype = item.dtype;
    result.items.push_back(std::move(item));
  }
  return result;
}

}  // namespace

Result<HostTensor> read_pb(const std::filesystem::path& path, HostTensor::Kind kind) {
  TRY(MappedFile file, MappedFile::open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(file));
  return add_note(decode(owner->text(), owner, kind), path.string());
}

// Source of the field numbers: onnx.proto3 and onnx-data.proto, ONNX 1.22.
std::string format_pb(const HostTensor& tensor, std::string_view name) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (tensor.kind == HostTensor::Kind::map) return format_map(tensor, name);
  if (tensor.kind != HostTensor::Kind::tensor) {
    if (!name.empty()) out.add_string(1, name.data(), name.size());
    constexpr int32_t kTensor = 1, kSequence = 3, kMap = 4;
    out.add_int32(2, tensor.key ? kMap : tensor.holds_sequences ? kSequence : kTensor);
    for (const HostTensor& item : tensor.items) {
      const bool is_map = item.kind == HostTensor::Kind::map;
      out.add_message(is_map                                  ? 6
                      : item.kind == HostTensor::Kind::tensor ? 3
                                                              : 5,
                      format_pb(item, ""));
    }
    return bytes;
  }
  out.add_packed_int64(1, tensor.dims.begin(), tensor.dims.end());
  out.add_int32(2, onnx_number(tensor.dtype));
  for (const std::string& text : tensor.strings) out.add_bytes(6, text);
  if (!name.empty()) out.add_string(8, name.data(), name.size());
  if (tensor.dtype != DType::str) {
    out.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return bytes;
}

HostTensor::Kind kind_of(const Type& type) {
  if (!type.is_container()) return HostTensor::Kind::tensor;
  switch (type.container.kind) {
    case ContainerType::Kind::sequence:
      return HostTensor::Kind::sequence;
    case ContainerType::Kind::optional:
      return HostTensor::Kind::optional;
    case ContainerType::Kind::map:
      return HostTensor::Kind::map;
  }
  INGOT_UNREACHABLE();
}

std::string type_text(const HostTensor& tensor) {
  switch (tensor.kind) {
    case HostTensor::Kind::tensor:
      return concat(tensor.dtype, "[", join(tensor.dims, ", "), "]");
    case HostTensor::Kind::sequence:
      return concat("sequence of ", tensor.key ? concat("maps from ", *tensor.key, " to ") : "",
                    tensor.dtype);
    case HostTensor::Kind::optional:
      return concat("optional ", tensor.holds_sequences ? "sequence of " : "", tensor.dtype);
    case HostTensor::Kind::map:
      return concat("map from ", *tensor.key, " to ", tensor.dtype);
  }
  INGOT_UNREACHABLE();
}

Result<HostTensor> read_tensor_file(std::string_view text, HostTensor::Kind kind) {
  // What stands behind the suffix belongs to the reader.
  for (const std::string_view suffix : {".npy", ".pb", ".bin", ".png", ".jpg", ".jpeg"}) {
    const size_t at = text.rfind(suffix);
    if (at == std::string_view::npos) continue;
    const size_t end = at + suffix.size();
    if (end != text.size() && text[end] != ':') continue;
    const std::filesystem::path path(text.substr(0, end));
    const std::string_view rest = end == text.size() ? std::string_view() : text.substr(end + 1);
    if (suffix == ".bin") return read_raw(path, rest);
    if (suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg") return read_picture(path, rest);
    if (!rest.empty()) {
      return invalid_argument(path.string(), ": expected nothing behind the name, got '", rest,
                              "'");
    }
    return suffix == ".npy" ? read_npy(path) : read_pb(path, kind);
  }
  return invalid_argument("'", text,
                          "': expected a .npy, .pb, .bin:DTYPE[DIMS], .png or .jpg file");
}

HostTensor random_tensor(DType dtype, std::vector<int64_t> dims, Random& random) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t k = 0; k < tensor.size(); ++k) {
    constexpr int64_t kBetweenLooks = 1 << 20;
    if (k % kBetweenLooks == 0 && interrupted()) break;
    if (tensor.holds_reals()) {
      tensor.set_real(k, random.normal());
    } else {
      tensor.set_integer(k, random.range(0, 1));
    }
  }
  return {dtype, tensor.dims(), tensor.to_bytes()};
}

Result<Tensor> to_tensor(const HostTensor& tensor) {
  if (tensor.kind != HostTensor::Kind::tensor) {
    std::vector<Tensor> items;
    for (const HostTensor& item : tensor.items) {
      TRY(items.emplace_back(), to_tensor(item));
    }
    return Tensor::container(std::move(items));
  }
  if (tensor.dtype == DType::str) return Tensor::of_strings(tensor.dims, tensor.strings);
  return Tensor::from_bytes(tensor.dtype, tensor.dims, tensor.bytes);
}

HostTensor from_tensor(const Tensor& tensor, const Type& type) {
  HostTensor result;
  result.kind = kind_of(type);
  if (!type.is_container()) {
    result.dtype = tensor.dtype();
    result.dims = tensor.dims();
    if (tensor.dtype() == DType::str) {
      result.strings = tensor.strings();
    } else {
      result.bytes = tensor.to_bytes();
    }
    return result;
  }
  const Type& element = *type.container.element;
  const bool is_map = result.kind == HostTensor::Kind::map;
  const bool of_maps = kind_of(element) == HostTensor::Kind::map;
  if (is_map) result.key = type.container.key;
  if (of_maps) result.key = element.container.key;
  result.holds_sequences = kind_of(element) == HostTensor::Kind::sequence;
  result.dtype = (element.is_container() ? *element.container.element : element).tensor.dtype;
  for (const Tensor& item : tensor.items()) result.items.push_back(from_tensor(item, element));
  return result;
}

Json values_json(const HostTensor& tensor) {
  if (tensor.kind == HostTensor::Kind::optional) {
    return tensor.items.empty() ? Json(nullptr) : values_json(tensor.items[0]);
  }
  if (tensor.kind == HostTensor::Kind::map) return map_json(tensor);
  if (tensor.kind == HostTensor::Kind::sequence) {
    Json list = Json::array();
    for (const HostTensor& item : tensor.items) list.push_back(values_json(item));
    return list;
  }
  auto values = to_tensor(tensor);
  if (!values) return nullptr;
  int64_t next = 0;
  return nested(*values, 0, next);
}

}  // namespace ingot::cli
