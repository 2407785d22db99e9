// ops/slice.h: a box of a tensor, with steps.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// `sizes` elements along each dim, from `starts` on, every `steps`-th.
struct Slice {
  Exprs starts = {};
  Exprs sizes = {};
  std::vector<int64_t> steps = {};

  static constexpr std::string_view kName = "slice";
  static constexpr std::string_view kDoc =
      "y[i..] = x[starts + i * steps ..]. Steps may be negative.\n"
      "Whoever makes a slice with symbolic starts or sizes clamps them so that it lies within x.\n"
      "C1: starts, sizes, steps have one entry per dim of x.\n"
      "C2: steps are not 0 and between -2^31 and 2^31; sizes are dims.\n"
      "C3: the slice lies within x, as far as starts, sizes and dims are constants.\n"
      "Sources: ONNX Slice-13, with its ends clamped and turned into sizes.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"}};
  static constexpr std::array kOutputs = {Port{"y", "sizes"}};
  static constexpr auto kFields =
      std::tuple{field("starts", &Slice::starts), field("sizes", &Slice::sizes),
                 field("steps", &Slice::steps)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Slice> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
