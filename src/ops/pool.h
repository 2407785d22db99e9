// ops/pool.h: maximum and average over sliding windows of channels-last activations.
#pragma once

#include "ir/op_def.h"
#include "ops/window.h"

namespace ingot::ops {

/// y = maximum or average of x over a window, each channel by itself.
struct Pool {
  std::string kind = "max";  // or "average"
  std::vector<int64_t> kernel = {};
  std::vector<int64_t> strides = {};
  std::vector<int64_t> dilations = {};
  std::vector<int64_t> pads_begin = {};
  std::vector<int64_t> pads_end = {};
  bool ceil_mode = false;          // count windows that hang over the end
  bool count_include_pad = false;  // average: padding counts as zeros

  static constexpr std::string_view kName = "pool";
  static constexpr std::string_view kDoc =
      "y[n, o.., c] = maximum or average over taps t.. of x[n, o*stride + t*dilation - pad.., c].\n"
      "Taps outside x do not take part, except that count_include_pad divides by all taps within "
      "the padded input. A maximum of nothing is the smallest value, an average of nothing NaN. "
      "NaN propagates.\n"
      "ceil_mode rounds the number of windows up, as long as the last one begins before the end of "
      "x and its leading padding.\n"
      "C1: x is a float or integer for max, a float for average.\n"
      "C2: x has rank 2 or more.\n"
      "C3: kernel, strides, dilations, pads_begin, pads_end have one number per spatial dim; "
      "kernel, strides and dilations >= 1, pads >= 0, all below 2^31.\n"
      "C4: every window fits the padded input.\n"
      "C5: kind is max or average.\n"
      "Sources: ONNX MaxPool-22, AveragePool-22 (there with channels first).";
  static constexpr std::array kInputs = {Port{"x", "[N, spatial.., C]"}};
  static constexpr std::array kOutputs = {Port{"y", "[N, out.., C]"}};
  static constexpr auto kFields = std::tuple{field("kind", &Pool::kind),
                                             field("kernel", &Pool::kernel),
                                             field("strides", &Pool::strides),
                                             field("dilations", &Pool::dilations),
                                             field("pads_begin", &Pool::pads_begin),
                                             field("pads_end", &Pool::pads_end),
                                             field("ceil_mode", &Pool::ceil_mode),
                                             field("count_include_pad", &Pool::count_include_pad)};
  static constexpr Accuracy kAccuracy = rounding(1);  // a sum per tap and one division
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Pool> sample(Random& rng, ExprPool& pool);

  Window window() const { return {strides, dilations, pads_begin, pads_end, ceil_mode}; }
};

}  // namespace ingot::ops
