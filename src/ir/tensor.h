// ir/tensor.h: a concrete tensor of the reference interpreter: fp64 for reals, exact integers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace ingot {

/// Row-major values with concrete dims. Floating dtypes keep fp64 values (the reference does not
/// round to the storage type unless an op says so), integers and booleans keep int64 (u64 as its
/// bits). A string is the number of an interned text, so what moves integers moves strings.
/// A sequence or optional is a scalar of u64, the type of its handle, that holds its items.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, std::vector<int64_t> dims);

  static Tensor scalar(DType dtype, double value);
  static Tensor of_ints(std::vector<int64_t> values);  // i64 [n]
  static Tensor of_strings(std::vector<int64_t> dims, std::span<const std::string> texts);
  static Tensor container(std::vector<Tensor> items);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t dim(int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t size() const { return size_; }

  bool holds_reals() const { return is_float(dtype_); }
  std::span<double> reals() { return reals_; }
  std::span<const double> reals() const { return reals_; }
  std::span<int64_t> ints() { return ints_; }
  std::span<const int64_t> ints() const { return ints_; }
  /// Element k of a string tensor, and all of them.
  const std::string& string(int64_t k) const;
  void set_string(int64_t k, std::string_view text);
  std::vector<std::string> strings() const;
  /// The items of a sequence or optional.
  bool is_container() const { return items_ != nullptr; }
  const std::vector<Tensor>& items() const { return *items_; }

  /// Element k as a double or an integer, whichever way it is held (reals truncate).
  double real(int64_t k) const;
  int64_t integer(int64_t k) const;
  void set_real(int64_t k, double value);
  void set_integer(int64_t k, int64_t value);
  /// Copies element `j` of `from`, which has the same dtype.
  void copy_element(int64_t k, const Tensor& from, int64_t j);

  /// The same values under other dims of the same size.
  Tensor reshaped(std::vector<int64_t> dims) const;

  /// Little-endian storage bytes as in a model file (bool one byte, sub-byte types packed, low
  /// nibble first), and back. Rounds reals to the storage type, to nearest even.
  std::vector<std::byte> to_bytes() const;
  static Result<Tensor> from_bytes(DType dtype, std::vector<int64_t> dims,
                                   std::span<const std::byte> bytes);

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> dims_;
  int64_t size_ = 0;
  std::vector<double> reals_;
  std::vector<int64_t> ints_;
  std::shared_ptr<const std::vector<Tensor>> items_;  // of a container
};

/// Row-major strides in elements.
std::vector<int64_t> strides_of(std::span<const int64_t> dims);
/// Product of dims.
int64_t count_of(std::span<const int64_t> dims);

/// Calls fn(position, index) for every element of a row-major space, in order.
template <class Fn>
void for_each_index(std::span<const int64_t> dims, Fn fn) {
  std::vector<int64_t> index(dims.size(), 0);
  const int64_t total = count_of(dims);
  for (int64_t k = 0; k < total; ++k) {
    fn(k, std::span<const int64_t>(index));
    for (size_t a = dims.size(); a-- > 0;) {
      if (++index[a] < dims[a]) break;
      index[a] = 0;
    }
  }
}

}  // namespace ingot
