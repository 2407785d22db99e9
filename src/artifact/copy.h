// artifact/copy.h: copies between strided tensors and dense memory.
#pragma once

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// Whether the elements lie densely in row-major order (dims of 1 may have any stride).
bool is_row_major(const ingot_tensor& tensor);

enum class CopyDirection : u8 { gather, scatter };

/// Gathers the strided tensor's elements into `dense`, or scatters `dense` over the tensor.
void copy_strided(const ingot_tensor& tensor, void* dense, CopyDirection direction);

}  // namespace ingot::artifact
