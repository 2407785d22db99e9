// cli/host_tensor.cc: tensors from files by their suffix, at random, and as JSON.
#include "cli/host_tensor.h"

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
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

Json nested(const Tensor& tensor, size_t axis, int64_t& next) {
  if (axis == tensor.dims().size()) {
    const int64_t k = next++;
    if (tensor.dtype() == DType::b8) return tensor.integer(k) != 0;
    if (!tensor.holds_reals()) return tensor.integer(k);
    const double value = tensor.real(k);
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  Json list = Json::array();
  for (int64_t k = 0; k < tensor.dims()[axis]; ++k) list.push_back(nested(tensor, axis + 1, next));
  return list;
}

}  // namespace

Result<HostTensor> read_pb(const std::filesystem::path& path) {
  TRY(MappedFile file, MappedFile::open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(file));
  TRY(const onnx::TensorProto proto, add_note(onnx::read_tensor(owner->text()), path.string()));
  TRY(const ConstantData data,
      add_note(onnx::decode_tensor(proto, {owner, nullptr}), path.string()));
  return HostTensor{data.dtype, data.dims, {data.bytes.begin(), data.bytes.end()}};
}

Result<HostTensor> read_tensor_file(std::string_view text) {
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
    return suffix == ".npy" ? read_npy(path) : read_pb(path);
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
  return Tensor::from_bytes(tensor.dtype, tensor.dims, tensor.bytes);
}

Json values_json(const HostTensor& tensor) {
  auto values = to_tensor(tensor);
  if (!values) return nullptr;
  int64_t next = 0;
  return nested(*values, 0, next);
}

}  // namespace ingot::cli
