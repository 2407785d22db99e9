// ops/conv_winograd.h: 3x3 convolution by Winograd's F(4x4, 3x3), with transformed weights.
#pragma once

#include "ir/op_def.h"
#include "ops/window.h"

namespace ingot::ops {

/// y = x * w + bias for 3x3 windows with stride 1, from u = G w G^T.
struct ConvWinograd {
  std::vector<int64_t> pads_begin = {0, 0};
  std::vector<int64_t> pads_end = {0, 0};
  int64_t columns = 0;  // OC

  /// G of [6, 3] and B^T of [6, 6]: filters and pictures as they are multiplied; A^T of [4, 6]
  /// takes the products back.
  static constexpr double kG[6][3] = {{1.0 / 4, 0, 0},
                                      {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                      {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                      {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                      {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                      {0, 0, 1}};
  static constexpr double kB[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                      {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                      {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  static constexpr double kA[4][6] = {
      {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

  static constexpr std::string_view kName = "conv_winograd";
  static constexpr std::string_view kDoc =
      "y[n, 4 r + i, 4 s + j, f] = bias[f] + sum over p, q of A[i, p] A[j, q] sum over c of "
      "u[6 p + q, f div W, c, f mod W] v[p, q, c],\n"
      "v[p, q, c] = sum over a, b of B[p, a] B[q, b] x[n, 4 r + a - pad, 4 s + b - pad, c]; x is 0 "
      "outside.\n"
      "With u = G w G^T for every channel and filter that is conv with 3x3 windows, strides and "
      "dilations 1; u is in panels.\n"
      "C1: x, u and bias are floats of one type.\n"
      "C2: x has rank 4, u is [36, P, C, W] with the C of x and a constant W >= 1.\n"
      "C3: pads_begin and pads_end have two numbers, >= 0, below 2^31; the window fits.\n"
      "C4: columns with ceil(columns / W) = P; bias has as many elements.\n"
      "Sources: Lavin and Gray, arXiv:1509.09308; points 0, 1, -1, 2, -2 and infinity.";
  static constexpr std::array kInputs = {Port{"x", "[N, H, W, C]"}, Port{"u", "[36, P, C, W]"},
                                         Port{"bias", "[OC]", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", "[N, OH, OW, OC]"}};
  static constexpr auto kFields = std::tuple{field("pads_begin", &ConvWinograd::pads_begin),
                                             field("pads_end", &ConvWinograd::pads_end),
                                             field("columns", &ConvWinograd::columns)};
  // A product and a sum per term, and the growth of 48 * 48 of what is summed (decision 0003).
  static constexpr Accuracy kAccuracy = rounding(64);
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<ConvWinograd> sample(Random& rng, ExprPool& pool);

  Window window() const { return {kOnes, kOnes, pads_begin, pads_end}; }
  static constexpr std::array<int64_t, 2> kOnes = {1, 1};
};

}  // namespace ingot::ops
