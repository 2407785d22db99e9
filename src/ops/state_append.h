// ops/state_append.h: more tokens at the end of a state.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = state with the T tokens of x appended to each sequence.
struct StateAppend {
  static constexpr std::string_view kName = "state_append";
  static constexpr std::string_view kDoc =
      "y = state with x[b, t] as token lengths[b] + t of sequence b; planning makes it in place.\n"
      "The plane of lengths is not changed: it holds the lengths before the run, and the runtime "
      "advances it by T afterwards. The bound `length` of the type grows by T.\n"
      "Tokens beyond the capacity (paged: beyond the block table) are dropped; the runtime refuses "
      "such a run before it begins.\n"
      "C1: x has the type of the state and the dims [B, T, token..] of it.\n"
      "C2: length + T does not exceed the capacity, as far as all are constants.\n"
      "Sources: vLLM's paged KV cache (Kwon et al. 2023) for the paged layout.";
  static constexpr std::array kInputs = {Port{"state", "contiguous or paged"},
                                         Port{"x", "[B, T, token..]"}};
  static constexpr std::array kOutputs = {Port{"y", "the state, T tokens longer"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Scatter lower_scatter(Lowering& k, std::span<const Expr> index) const;
  Exprs scatter_domain(std::span<const Type> inputs) const;
  static Sample<StateAppend> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
