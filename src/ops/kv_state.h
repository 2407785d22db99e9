// ops/kv_state.h: where the tokens of a state lie, as expressions and as numbers.
//
// Time: the plane of lengths holds, during the whole run, how many tokens each sequence had BEFORE
// the run; the runtime advances it afterwards. So within a run the tokens that state_append wrote
// are s = lengths[b] .. lengths[b] + T - 1, and an operator that reads the appended state needs T
// to know how far it reaches.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// lengths[b]: tokens of sequence b before the run, i64.
Expr tokens_before(Lowering& k, size_t input, Expr b);

/// Flat offset in the data plane of element `inside` (one index per token dim) of token `s` of
/// sequence `b`. A wrong block table or length leads to another token, never outside the plane.
Expr token_offset(Lowering& k, size_t input, Expr b, Expr s, std::span<const Expr> inside);

/// The planes of a state among the inputs of a reference.
struct StateView {
  const Tensor* data = nullptr;
  const Tensor* table = nullptr;  // null: contiguous
  const Tensor* lengths = nullptr;

  /// The planes that begin at input `first`; `paged` if there is a table among them.
  static StateView at(const ReferenceContext& ctx, size_t first, bool paged);
  /// Position in the data plane of the first element of token s of sequence b.
  int64_t token(int64_t b, int64_t s) const;
};

/// A state for a sample: `batch` sequences of at most `length` tokens of [heads, size].
StateType sample_state(Random& rng, ExprPool& pool, DType dtype, int64_t batch, int64_t length,
                       std::span<const int64_t> token);

}  // namespace ingot::ops
