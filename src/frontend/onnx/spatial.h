// frontend/onnx/spatial.h: strides, dilations and padding of windows, and channels first to last.
#pragma once

#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// The window attributes that convolutions and pools share, for [N, C, spatial..] inputs.
struct Spatial {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  /// Padding that depends on run-time dims (auto_pad SAME with strides); empty if there is none.
  Exprs open_begin;
  Exprs open_end;

  size_t rank() const { return kernel.size(); }
  /// Elements that a window spans along spatial dim k.
  int64_t reach(size_t k) const { return (kernel[k] - 1) * dilations[k] + 1; }
  Attributes attributes() const;
};

/// Reads strides, dilations, pads and auto_pad for a window of `kernel` over x [N, C, spatial..].
Result<Spatial> read_spatial(OpContext& n, ValueId x, std::vector<int64_t> kernel);

/// [N, C, spatial..] to [N, spatial.., C] and back.
Result<ValueId> channels_last(OpContext& n, ValueId x);
Result<ValueId> channels_first(OpContext& n, ValueId x);

/// What `build` gives of `inputs` whose channels become first ones, where `which` says so; channels
/// last again.
Result<ValueIds> with_channels_last(OpContext& n, ValueIds inputs,
                                    std::initializer_list<size_t> which,
                                    Result<ValueIds> (*build)(OpContext&));

/// x [N, spatial.., C] with the run-time padding of `s` made explicit, filled with `value`.
Result<ValueId> pad_open(OpContext& n, ValueId x, const Spatial& s, double value);

}  // namespace ingot::onnx
