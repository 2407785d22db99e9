// artifact/copy.cc: copies between strided tensors and dense memory.
#include "artifact/copy.h"

#include "artifact/bind.h"

namespace ingot::artifact {
namespace {

struct Copy {
  const ingot_tensor& tensor;
  size_t element_bytes;
  CopyDirection direction;
  u8* dense;  // moves on
};

// `strided` is the place of the element at the outer axes' index.
void copy_axis(Copy& copy, i32 axis, u8* strided) {
  if (axis == copy.tensor.rank) {
    if (copy.direction == CopyDirection::gather) {
      memcpy(copy.dense, strided, copy.element_bytes);
    } else {
      memcpy(strided, copy.dense, copy.element_bytes);
    }
    copy.dense += copy.element_bytes;
    return;
  }
  const i64 count = copy.tensor.dims[axis];
  if (axis == copy.tensor.rank - 1 && copy.tensor.strides[axis] == 1 && count > 0) {
    const size_t row_bytes = static_cast<size_t>(count) * copy.element_bytes;
    const bool gather = copy.direction == CopyDirection::gather;
    memcpy(gather ? copy.dense : strided, gather ? strided : copy.dense, row_bytes);
    copy.dense += row_bytes;
    return;
  }
  const i64 step = copy.tensor.strides[axis] * static_cast<i64>(copy.element_bytes);
  for (i64 i = 0; i < count; ++i) copy_axis(copy, axis + 1, strided + i * step);
}

}  // namespace

bool is_row_major(const ingot_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  i64 expected = 1;
  for (i32 a = tensor.rank; a-- > 0;) {
    if (tensor.dims[a] == 0) return true;
    if (tensor.dims[a] != 1 && tensor.strides[a] != expected) return false;
    expected = multiply_size(expected, tensor.dims[a]);
  }
  return true;
}

void copy_strided(const ingot_tensor& tensor, void* dense, CopyDirection direction) {
  Copy copy = {tensor, static_cast<size_t>(dtype_bits(tensor.dtype) / 8), direction,
               static_cast<u8*>(dense)};
  copy_axis(copy, 0, static_cast<u8*>(tensor.data));
}

}  // namespace ingot::artifact
