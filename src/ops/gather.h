// ops/gather.h: slices of a tensor chosen by an index tensor.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the slices of x along `axis` that `indices` names.
struct Gather {
  int64_t axis = 0;

  static constexpr std::string_view kName = "gather";
  static constexpr std::string_view kDoc =
      "y[a.., i.., b..] = x[a.., indices[i..], b..] with indices at axis. Negative indices count "
      "from the end; what then lies outside is clamped to the first or last slice, so that no data "
      "can make a kernel read elsewhere. Where x has no slices y is 0.\n"
      "C1: indices are i32 or i64.\n"
      "C2: -rank <= axis < rank of x.\n"
      "Sources: ONNX Gather-13.";
  static constexpr std::array kInputs = {Port{"x", "any type, rank above 0"},
                                         Port{"indices", "any rank"}};
  static constexpr std::array kOutputs = {
      Port{"y", "dims of x with axis replaced by the dims of indices"}};
  static constexpr auto kFields = std::tuple{field("axis", &Gather::axis)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Gather> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
