// frontend/onnx/tensor_data.cc: decodes TensorProtos: raw, typed fields, external.
#include "frontend/onnx/tensor_data.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace ingot::onnx {
namespace {

/// Product of the dims. Errors: negative dims, dims beyond kMaxDim, a product beyond 2^62.
Result<uint64_t> checked_count(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return invalid_model("expected at most ", kMaxRank, " dims, got ", dims.size());
  }
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return invalid_model("expected dims of 0 or more, got ", dims);
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > kLimit / static_cast<uint64_t>(dim)) {
      return invalid_model("the shape ", dims, " has too many elements");
    }
    count *= static_cast<uint64_t>(dim);
  }
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim > kMaxDim; })) {
    return unsupported("expected dims of at most ", kMaxDim, ", got ", dims);
  }
  return empty ? 0 : count;
}

/// Which typed field holds the elements of a dtype, and how many entries a tensor has in it.
enum class TypedField : uint8_t {
  float_data,
  int32_data,
  string_data,
  int64_data,
  double_data,
  uint64_data
};

TypedField typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return TypedField::float_data;
    case DType::f64:
    case DType::c128:
      return TypedField::double_data;
    case DType::i64:
      return TypedField::int64_data;
    case DType::u32:
    case DType::u64:
      return TypedField::uint64_data;
    case DType::str:
      return TypedField::string_data;
    default:
      return TypedField::int32_data;
  }
}

/// Collects the entries of one typed field as little-endian bytes of `width` bytes each.
class ByteSink final : public ElementSink {
 public:
  ByteSink(TypedField field, size_t width, uint64_t expected)
      : field_(field), width_(width), expected_(expected) {}

  void on_float(float value) override { put(TypedField::float_data, &value, sizeof value); }
  void on_double(double value) override { put(TypedField::double_data, &value, sizeof value); }
  void on_int32(int32_t value) override { put(TypedField::int32_data, &value, width_); }
  void on_int64(int64_t value) override { put(TypedField::int64_data, &value, sizeof value); }
  void on_uint64(uint64_t value) override { put(TypedField::uint64_data, &value, width_); }
  void on_string(std::string_view value) override {
    if (field_ != TypedField::string_data) return void(foreign_ = true);
    ++entries_;
    if (entries_ <= expected_) strings.emplace_back(value);
  }

  uint64_t entries() const { return entries_; }
  bool saw_other_field() const { return foreign_; }

  std::vector<std::byte> bytes;
  std::vector<std::string> strings;

 private:
  void put(TypedField field, const void* value, size_t size) {
    if (field != field_) return void(foreign_ = true);
    if (++entries_ > expected_) return;  // counted, reported, not stored
    const auto* first = static_cast<const std::byte*>(value);
    bytes.insert(bytes.end(), first, first + size);
  }

  TypedField field_;
  size_t width_;
  uint64_t expected_;
  uint64_t entries_ = 0;
  bool foreign_ = false;
};

Result<ConstantData> decode_typed(const TensorProto& tensor, ConstantData data, uint64_t count) {
  const bool sub_byte = bits(data.dtype) < 8;
  const uint64_t entries = is_complex(data.dtype) ? 2 * count
                           : sub_byte             ? size_bytes(data.dtype, count)
                                                  : count;
  const size_t width = sub_byte ? 1 : static_cast<size_t>(std::min(bits(data.dtype) / 8, 8));
  ByteSink sink(typed_field(data.dtype), width, entries);
  TRY_STATUS(read_elements(tensor.bytes, sink));
  if (sink.entries() != entries) {
    return invalid_model("expected ", entries, " values of ", data.dtype, " for the shape ",
                         data.dims, ", got ", sink.entries(),
                         sink.saw_other_field() ? " and values of another type" : "");
  }
  if (data.dtype == DType::str) {
    data.strings = std::move(sink.strings);
    return data;
  }
  return make_constant(data.dtype, std::move(data.dims), std::move(sink.bytes));
}

/// A bool byte is 0 or 1 from here on; files with others get a copy.
ConstantData with_clean_bools(ConstantData data) {
  const auto clean = [](std::byte b) { return b == std::byte{0} || b == std::byte{1}; };
  if (data.dtype != DType::b8 || std::ranges::all_of(data.bytes, clean)) return data;
  std::vector<std::byte> bytes(data.bytes.begin(), data.bytes.end());
  for (std::byte& b : bytes) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return make_constant(DType::b8, std::move(data.dims), std::move(bytes));
}

}  // namespace

ConstantData make_constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  ConstantData data;
  data.dtype = dtype;
  data.dims = std::move(dims);
  data.bytes = *owner;
  data.owner = std::move(owner);
  return data;
}

Result<DType> tensor_dtype(const TensorProto& tensor) {
  const auto dtype = dtype_from_onnx(tensor.data_type);
  if (!dtype) {
    return invalid_model("expected an element type from 1 to 26, got ", tensor.data_type);
  }
  return *dtype;
}

Result<ConstantData> decode_tensor(const TensorProto& tensor, const ModelBytes& source) {
  ConstantData data;
  TRY(data.dtype, tensor_dtype(tensor));
  TRY(const uint64_t count, checked_count(tensor.dims));
  data.dims = tensor.dims;
  if (tensor.is_segment) return unsupported("tensors stored in segments are not read");

  if (data.dtype == DType::str) {
    if (tensor.has_raw_data || tensor.is_external) {
      return invalid_model("strings must lie in string_data, not in raw or external data");
    }
    return decode_typed(tensor, std::move(data), count);
  }
  const uint64_t expected_bytes = size_bytes(data.dtype, count);
  if (tensor.is_external) {
    if (source.external == nullptr) return invalid_model("external data is not allowed here");
    TRY(ExternalSlice slice, source.external->slice(tensor, expected_bytes));
    data.owner = std::move(slice.owner);
    data.bytes = slice.bytes;
    return with_clean_bools(std::move(data));
  }
  // A tensor without elements may have an empty raw_data beside or instead of a typed field.
  if (tensor.has_raw_data && !(tensor.raw_data.empty() && expected_bytes > 0)) {
    if (tensor.raw_data.size() != expected_bytes) {
      return invalid_model("expected ", expected_bytes, " bytes of raw data for ", data.dtype,
                           tensor.dims, ", got ", tensor.raw_data.size());
    }
    data.owner = source.owner;
    data.bytes = std::as_bytes(std::span(tensor.raw_data));
    return with_clean_bools(std::move(data));
  }
  TRY(ConstantData decoded, decode_typed(tensor, std::move(data), count));
  return with_clean_bools(std::move(decoded));
}

}  // namespace ingot::onnx
