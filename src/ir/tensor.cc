// ir/tensor.cc: concrete tensors of the reference interpreter.
#include "ir/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/interned.h"

namespace ingot {
namespace {

/// Keeps the low bits of an integer as its dtype holds them, sign- or zero-extended.
int64_t wrap(DType dtype, int64_t value) {
  const int width = bits(dtype);
  if (dtype == DType::b8) return value != 0 ? 1 : 0;
  if (width >= 64) return value;
  const int unused = 64 - width;
  const uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return is_signed(dtype) ? static_cast<int64_t>(shifted) >> unused
                          : static_cast<int64_t>(shifted >> unused);
}

/// Element k's pattern in packed little-endian storage.
uint64_t read_bits(std::span<const std::byte> bytes, int width, int64_t k) {
  if (width < 8) {
    const int64_t per_byte = 8 / width;
    const auto byte = static_cast<uint64_t>(bytes[static_cast<size_t>(k / per_byte)]);
    return (byte >> (k % per_byte * width)) & ((uint64_t{1} << width) - 1);
  }
  uint64_t pattern = 0;
  const size_t size = static_cast<size_t>(width / 8);
  std::memcpy(&pattern, bytes.data() + static_cast<size_t>(k) * size, size);
  return pattern;
}

void write_bits(std::span<std::byte> bytes, int width, int64_t k, uint64_t pattern) {
  if (width < 8) {
    const int64_t per_byte = 8 / width;
    const uint64_t mask = (uint64_t{1} << width) - 1;
    bytes[static_cast<size_t>(k / per_byte)] |=
        static_cast<std::byte>((pattern & mask) << (k % per_byte * width));
    return;
  }
  const size_t size = static_cast<size_t>(width / 8);
  std::memcpy(bytes.data() + static_cast<size_t>(k) * size, &pattern, size);
}

}  // namespace

int64_t count_of(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

std::vector<int64_t> strides_of(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t a = dims.size(); a-- > 0;) {
    strides[a] = stride;
    stride *= dims[a];
  }
  return strides;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)), size_(count_of(dims_)) {
  for (const int64_t dim : dims_) CHECK(dim >= 0, "tensor: expected dims >= 0, got ", dims_);
  const size_t size = static_cast<size_t>(size_);
  if (is_float(dtype)) {
    reals_.resize(size);
  } else {
    CHECK(!is_complex(dtype), "tensor: complex numbers have no reference");
    ints_.resize(size);
  }
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor tensor(dtype, {});
  tensor.set_real(0, value);
  return tensor;
}

Tensor Tensor::of_ints(std::vector<int64_t> values) {
  Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
  tensor.ints_ = std::move(values);
  return tensor;
}

Tensor Tensor::of_strings(std::vector<int64_t> dims, std::span<const std::string> texts) {
  Tensor tensor(DType::str, std::move(dims));
  CHECK(texts.size() == static_cast<size_t>(tensor.size_), "tensor: expected ", tensor.size_,
        " strings, got ", texts.size());
  for (size_t k = 0; k < texts.size(); ++k) tensor.ints_[k] = intern(texts[k]);
  return tensor;
}

Tensor Tensor::container(std::vector<Tensor> items) {
  Tensor tensor(DType::u64, {});
  tensor.items_ = std::make_shared<const std::vector<Tensor>>(std::move(items));
  return tensor;
}

const std::string& Tensor::string(int64_t k) const {
  return interned(ints_[static_cast<size_t>(k)]);
}

void Tensor::set_string(int64_t k, std::string_view text) {
  ints_[static_cast<size_t>(k)] = intern(text);
}

std::vector<std::string> Tensor::strings() const {
  std::vector<std::string> texts;
  for (int64_t k = 0; k < size_; ++k) texts.push_back(string(k));
  return texts;
}

double Tensor::real(int64_t k) const {
  const size_t at = static_cast<size_t>(k);
  if (holds_reals()) return reals_[at];
  if (dtype_ == DType::u64) return static_cast<double>(static_cast<uint64_t>(ints_[at]));
  return static_cast<double>(ints_[at]);
}

int64_t Tensor::integer(int64_t k) const {
  const size_t at = static_cast<size_t>(k);
  if (!holds_reals()) return ints_[at];
  const double value = std::trunc(reals_[at]);
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

void Tensor::set_real(int64_t k, double value) {
  const size_t at = static_cast<size_t>(k);
  if (holds_reals()) {
    reals_[at] = value;
    return;
  }
  Tensor held(DType::f64, {1});
  held.reals_[0] = value;
  set_integer(k, held.integer(0));
}

void Tensor::set_integer(int64_t k, int64_t value) {
  const size_t at = static_cast<size_t>(k);
  if (holds_reals()) {
    reals_[at] = static_cast<double>(value);
  } else {
    ints_[at] = wrap(dtype_, value);
  }
}

void Tensor::copy_element(int64_t k, const Tensor& from, int64_t j) {
  const size_t to_at = static_cast<size_t>(k);
  const size_t from_at = static_cast<size_t>(j);
  if (holds_reals()) {
    reals_[to_at] = from.reals_[from_at];
  } else {
    ints_[to_at] = from.ints_[from_at];
  }
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  CHECK(count_of(dims) == size_, "reshape: expected ", size_, " elements, got dims ", dims);
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

std::vector<std::byte> Tensor::to_bytes() const {
  CHECK(dtype_ != DType::str, "to_bytes: strings have no fixed size");
  const int width = bits(dtype_);
  std::vector<std::byte> bytes(size_bytes(dtype_, static_cast<uint64_t>(size_)));
  for (int64_t k = 0; k < size_; ++k) {
    const size_t at = static_cast<size_t>(k);
    uint64_t pattern = 0;
    if (!holds_reals()) {
      pattern = static_cast<uint64_t>(ints_[at]);
    } else if (dtype_ == DType::f32) {
      pattern = std::bit_cast<uint32_t>(static_cast<float>(reals_[at]));
    } else {
      pattern = encode_float(dtype_, reals_[at], Overflow::kIeee);
    }
    write_bits(bytes, width, k, pattern);
  }
  return bytes;
}

Result<Tensor> Tensor::from_bytes(DType dtype, std::vector<int64_t> dims,
                                  std::span<const std::byte> bytes) {
  if (dtype == DType::str || is_complex(dtype)) {
    return unsupported("tensor: expected numbers, got ", dtype);
  }
  uint64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return invalid_argument("tensor: expected dims >= 0, got ", dims);
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count >> 48 != 0) {
      return invalid_argument("tensor: expected fewer than 2^48 elements, got dims ", dims);
    }
  }
  if (size_bytes(dtype, count) != bytes.size()) {
    return invalid_argument("tensor ", dtype, dims, ": expected ", size_bytes(dtype, count),
                            " bytes, got ", bytes.size());
  }
  Tensor tensor(dtype, std::move(dims));
  const int width = bits(dtype);
  for (int64_t k = 0; k < tensor.size_; ++k) {
    const size_t at = static_cast<size_t>(k);
    const uint64_t pattern = read_bits(bytes, width, k);
    if (!tensor.holds_reals()) {
      tensor.ints_[at] = wrap(dtype, static_cast<int64_t>(pattern));
    } else if (dtype == DType::f32) {
      tensor.reals_[at] = std::bit_cast<float>(static_cast<uint32_t>(pattern));
    } else {
      tensor.reals_[at] = decode_float(dtype, pattern);
    }
  }
  return tensor;
}

}  // namespace ingot
