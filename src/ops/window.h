// ops/window.h: sliding windows over spatial dims, shared by convolution and pooling.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// How a window moves, one number per spatial dim.
struct Window {
  std::span<const int64_t> strides;
  std::span<const int64_t> dilations;
  std::span<const int64_t> pads_begin;
  std::span<const int64_t> pads_end;
  bool ceil_mode = false;  // the last window may hang over the end, if it begins before it

  /// Every list has `rank` numbers; strides and dilations in [1, kMaxDim], pads in [0, kMaxDim].
  Status check(std::string_view op, int64_t rank) const;
  /// Number of windows along spatial dim `s` of size `size`; 0 where not one fits. Errors:
  /// constants say that not one fits.
  Result<Expr> count(std::string_view op, size_t s, Expr size, Expr kernel) const;
  /// Where tap `tap` of window `window` reads along spatial dim `s`; may lie outside.
  template <class T>
  T position(size_t s, T window, T tap) const {
    return window * strides[s] + tap * dilations[s] - pads_begin[s];
  }
};

}  // namespace ingot::ops
