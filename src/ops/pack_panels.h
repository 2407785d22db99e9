// ops/pack_panels.h: the columns of a matrix in panels, as the matmul template reads them.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = b cut into panels of `width` columns, each contiguous; the last one filled up with zeros.
struct PackPanels {
  int64_t width = 64;

  static constexpr std::string_view kName = "pack_panels";
  static constexpr std::string_view kDoc =
      "y[.., p, k, j] = b[.., k, p * width + j], 0 beyond the last column.\n"
      "C1: b is a float or integer of rank 2 or more.\n"
      "C2: 1 <= width <= 4096.\n"
      "Sources: none; made by the layout pass for matmul and conv.";
  static constexpr std::array kInputs = {Port{"b", "[.., K, N]"}};
  static constexpr std::array kOutputs = {Port{"y", "[.., ceil(N / width), K, width]"}};
  static constexpr auto kFields = std::tuple{field("width", &PackPanels::width)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<PackPanels> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
