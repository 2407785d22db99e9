// frontend/onnx/scored.h: attention as onnxruntime's own operators have it: scores with tensors
// added.
#pragma once

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// [B, T, hidden].
struct Projected {
  ValueId q, k, v;
};

/// [B, heads, T, D]; the heads of k and v divide those of q.
struct Heads {
  ValueId q, k, v;
};

/// How scores [B, N, S, T] come about.
struct Scoring {
  double scale = 1;
  double softcap = 0;   // the bound of scores, before anything is added; 0: none
  ValueIds added = {};  // broadcast against the scores
  ValueId visible;      // b8, likewise: other keys get no weight
  bool causal = false;  // key t is seen by query s if t <= s + past
  Expr past;
  ValueId sink;  // [N]: what each head's softmax counts beside the keys
};

struct Attended {
  ValueId y;       // [B, S, N * D]
  ValueId scores;  // as softmax gets them
};

/// The attribute scale; without it 1 / sqrt(D).
Result<double> score_scale(OpContext& n, ValueId q);

Result<Attended> attend(OpContext& n, const Heads& heads, const Scoring& s);

/// GroupQueryAttention.
Result<ValueIds> group_query_attention(OpContext& n);

}  // namespace ingot::onnx
