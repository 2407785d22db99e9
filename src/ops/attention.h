// ops/attention.h: scaled dot-product attention over tensors or over states.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = softmax(q k' * scale) v per head, over keys and values in tensors or in states.
struct Attention {
  double scale = 1;
  bool causal = false;

  static constexpr std::string_view kName = "attention";
  static constexpr std::string_view kDoc =
      "y[b, t, h] = sum over visible s of softmax over visible s (scale * q[b, t, h] . k[b, s, g]) "
      "* v[b, s, g], with g = h div (H / Hk). A row that sees no key is 0.\n"
      "k and v as tensors: all S keys are visible; causal: s <= t + S - T, queries aligned at the "
      "end.\n"
      "k and v as states: these are the states AFTER state_append of this run's T tokens, T being "
      "that of q, while the plane of lengths holds the lengths BEFORE the run. Visible are s < "
      "lengths[b] + T; causal: s <= lengths[b] + t.\n"
      "C1: q, k, v are floats of one type; q has rank 4; k and v are both tensors of rank 4, or "
      "both states of one layout with tokens of two dims.\n"
      "C2: q, k, v agree in B; q and k in D; k and v in S (states: capacity, block table) and Hk.\n"
      "C3: H and Hk are constants, and Hk divides H.\n"
      "C4: scale is finite.\n"
      "Sources: Vaswani et al. 2017; grouped heads as in ONNX Attention-23.";
  static constexpr std::array kInputs = {Port{"q", "[B, T, H, D]"},
                                         Port{"k", "[B, S, Hk, D], or a state of [Hk, D]"},
                                         Port{"v", "[B, S, Hk, Dv], or a state of [Hk, Dv]"}};
  static constexpr std::array kOutputs = {Port{"y", "[B, T, H, Dv]"}};
  static constexpr auto kFields =
      std::tuple{field("scale", &Attention::scale), field("causal", &Attention::causal)};
  static constexpr Accuracy kAccuracy = rounding(8);  // a dot product, an exp, a weighted sum
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Attention> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
