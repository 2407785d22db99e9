// ops/dynamic_quantize.h: a tensor as 8-bit integers with a scale of its own.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = x in steps of a scale that its own range asks for.
struct DynamicQuantize {
  static constexpr std::string_view kName = "dynamic_quantize";
  static constexpr std::string_view kDoc =
      "scale = (max(x, 0) - min(x, 0)) / 255; zero = saturate(round(-min(x, 0) / scale)); y = "
      "saturate(round(x / scale) + zero), all in f32, rounding ties to even: how a step is rounded "
      "decides which integer is the nearest.\n"
      "C1: x is f32.\n"
      "Sources: ONNX DynamicQuantizeLinear-11.";
  static constexpr std::array kInputs = {Port{"x", "f32, any rank"}};
  static constexpr std::array kOutputs = {Port{"y", "u8, dims of x"}, Port{"scale", "f32[]"},
                                          Port{"zero", "u8[]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = rounding(2);
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  std::vector<ValueId> expand(Expansion& g, std::span<const ValueId> in) const;
  static Sample<DynamicQuantize> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
