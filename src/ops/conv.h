// ops/conv.h: convolution over channels-last activations, any number of spatial dims, with groups.
#pragma once

#include "ir/op_def.h"
#include "ops/window.h"

namespace ingot::ops {

/// y = x * w + bias, cross-correlation as networks mean it.
struct Conv {
  std::vector<int64_t> strides = {};
  std::vector<int64_t> dilations = {};
  std::vector<int64_t> pads_begin = {};
  std::vector<int64_t> pads_end = {};
  int64_t groups = 1;
  bool packed = false;  // w holds panels of each group's output channels
  int64_t columns = 0;  // OC, when packed

  static constexpr std::string_view kName = "conv";
  static constexpr std::string_view kDoc =
      "y[n, o.., f] = bias[f] + sum over taps t.. and c of x[n, o*stride + t*dilation - pad.., "
      "g*C/groups + c] * w[t.., c, f],\n"
      "with g = f div (OC / groups); x is 0 outside. Taps and c ascend, c fastest.\n"
      "packed: each group's filters in P panels of W: w is [groups*P, t.., C/groups, W] with\n"
      "w[g*P + r div W, t.., c, r mod W] for r = f mod (OC / groups), and columns is OC.\n"
      "C1: x, w and bias are floats or integers of one type; integers wrap around.\n"
      "C2: x has rank 2 or more; w has the rank of x, or one more when packed.\n"
      "C3: strides, dilations, pads_begin, pads_end have one number per spatial dim; strides and "
      "dilations >= 1, pads >= 0, all below 2^31.\n"
      "C4: groups >= 1 divides C and OC, both constants when groups > 1; w has C / groups input "
      "channels.\n"
      "C5: every window fits the padded input; kernel sizes are constants above 0.\n"
      "C6: bias has OC elements.\n"
      "C7: packed needs columns that groups divides, with ceil(columns / groups / W) = P, and a "
      "constant W >= 1.\n"
      "Sources: ONNX Conv-11 (there with channels first).";
  static constexpr std::array kInputs = {
      Port{"x", "[N, spatial.., C]"},
      Port{"w", "[kernel.., C/groups, OC] or packed [groups*P, kernel.., C/groups, W]"},
      Port{"bias", "[OC]", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", "[N, out.., OC]"}};
  static constexpr auto kFields =
      std::tuple{field("strides", &Conv::strides),       field("dilations", &Conv::dilations),
                 field("pads_begin", &Conv::pads_begin), field("pads_end", &Conv::pads_end),
                 field("groups", &Conv::groups),         field("packed", &Conv::packed),
                 field("columns", &Conv::columns)};
  static constexpr Accuracy kAccuracy = rounding(1);  // a product and a sum per term
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Conv> sample(Random& rng, ExprPool& pool);

  /// Panels of `width` output channels that a group has when packed.
  int64_t panels_per_group(int64_t width) const { return (columns / groups + width - 1) / width; }
  Window window() const { return {strides, dilations, pads_begin, pads_end}; }
};

}  // namespace ingot::ops
