// ops/bitcast.h: the bits of each element read as another element type.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the bits of x as elements of `to`.
struct Bitcast {
  DType to = DType::i32;

  static constexpr std::string_view kName = "bitcast";
  static constexpr std::string_view kDoc =
      "y = the bits of each element of x, read as an element of type to.\n"
      "C1: x and to are neither strings nor complex.\n"
      "C2: elements of x have as many bits as those of to.\n"
      "C3: to is b8 only where x is: a byte other than 0 and 1 is no truth value.\n"
      "Sources: ONNX BitCast-26.";
  static constexpr std::array kInputs = {Port{"x", "numbers or truth values"}};
  static constexpr std::array kOutputs = {Port{"y", "the dims of x"}};
  static constexpr auto kFields = std::tuple{field("to", &Bitcast::to)};
  static constexpr Accuracy kAccuracy = exact();  // moves bits
  static constexpr RoutineInfo kRoutine = {"ingot_bitcast"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<Bitcast> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
