// ops/read_size.h: a computed number becomes a symbol, for dims and offsets that depend on data.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y of dims [x + kOffset, 0], whose first dim is a new symbol.
struct ReadSize {
  static constexpr std::string_view kName = "read_size";
  static constexpr std::string_view kDoc =
      "y has no elements; its first dim is a new data-dependent symbol whose value is x, clamped "
      "to "
      "what a dim can be or take away, plus 2^31, since symbols are not negative. Ops that mention "
      "the symbol run after this one.\n"
      "C1: x is one i64.\n"
      "Sources: none; what ONNX says with a computed shape, start, repeat or count.";
  static constexpr std::array kInputs = {Port{"x", "i64[]"}};
  static constexpr std::array kOutputs = {Port{"y", "b8 [x + 2^31, 0]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_read_size"};
  static constexpr int64_t kOffset = kMaxDim + 1;
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ReadSize> sample(Random& rng);
};

}  // namespace ingot::ops
