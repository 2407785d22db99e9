// frontend/onnx/ops_microsoft_attention.cc: onnxruntime's attention with what its optimiser fused
// into it: projections, masks of several forms, past keys and values.
#include <cmath>
#include <limits>

#include "frontend/onnx/attention.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/scored.h"

namespace ingot::onnx {
namespace {

/// What a masked key's score has added, so that a row of nothing but those stays a distribution.
Result<double> mask_filter(OpContext& n) {
  return n.attr_real("mask_filter_value", -10000.0);
}

/// 0 for keys from a start to before an end, else the filter: [B, 1, 1, T]. `list` holds the ends,
/// one for each of the batch, then perhaps the starts.
Result<ValueId> mask_of_ends(OpContext& n, ValueId list, Expr batch, Expr keys, double filter) {
  const Expr count = n.dim(list, 0);
  const bool has_starts = provably_equal(count, batch * 2);
  if (!has_starts && !provably_equal(count, batch)) {
    return unsupported("a mask of ", to_text(count), " numbers for a batch of ", to_text(batch),
                       ": expected one or two for each");
  }
  TRY(const ValueId wide, n.cast(list, DType::i64));
  TRY(const ValueId key, n.iota({keys}, 0));
  ValueIds xs = {key};
  for (int64_t k = 0; k < (has_starts ? 2 : 1); ++k) {
    TRY(const ValueId part, n.slice_axis(wide, 0, batch * k, batch));
    TRY(const ValueId column, n.reshape(part, {batch, n.integer(1), n.integer(1), n.integer(1)}));
    xs.push_back(column);
  }
  return n.map(DType::f32, xs, [&](std::span<const Expr> p) {
    Expr seen = less(p[0], p[1]);
    if (has_starts) seen = logical_and(seen, less_equal(min(p[2], keys), p[0]));
    return select(seen, n.number(DType::f32, 0), n.number(DType::f32, filter));
  });
}

/// A mask as something to add to scores [B, N, S, T]: lists as above, or [B, T] or [B, S, T] of
/// ones and zeros.
Result<ValueId> added_mask(OpContext& n, ValueId mask, Expr batch, Expr keys) {
  TRY(const double filter, mask_filter(n));
  if (!is_int(n.dtype(mask))) return invalid_model("expected a mask of integers");
  const int64_t rank = n.rank(mask);
  if (rank == 1) return mask_of_ends(n, mask, batch, keys, filter);
  if (rank != 2 && rank != 3) return unsupported("a mask of rank ", rank);
  TRY(const ValueId added, n.map(DType::f32, {mask}, [&](std::span<const Expr> p) {
    const Expr seen = less(p[0].pool().integer(0, p[0].dtype()), p[0]);
    return select(seen, n.number(DType::f32, 0), n.number(DType::f32, filter));
  }));
  Exprs dims = n.dims(added);
  dims.insert(dims.begin() + 1, static_cast<size_t>(4 - rank), n.integer(1));
  return n.reshape(added, std::move(dims));
}

/// The mask, bias and direction that Attention and MultiHeadAttention share; inputs that are absent
/// are invalid.
Result<Scoring> scoring(OpContext& n, ValueId mask, ValueId bias, const Heads& heads, Expr past) {
  Scoring s;
  TRY(s.scale, score_scale(n, heads.q));
  TRY(s.causal, n.attr_flag("unidirectional", false));
  s.past = past;
  if (mask.valid()) {
    TRY(const ValueId added, added_mask(n, mask, n.dim(heads.q, 0), n.dim(heads.k, 2)));
    s.added.push_back(added);
  } else {
    n.has_attr("mask_filter_value");
  }
  if (bias.valid()) s.added.push_back(bias);
  return s;
}

Status no_cache_buffers(OpContext& n) {
  TRY(const bool shares, n.attr_flag("past_present_share_buffer", false));
  if (shares) return unsupported("past and present in one buffer");
  TRY(const bool turns, n.attr_flag("do_rotary", false));
  if (turns) return unsupported("rotation inside of it");
  n.has_attr("rotary_embedding_dim");
  return ok();
}

/// Keys and values behind those of past [2, B, N, P, H], and both as one such tensor.
Result<ValueIds> self_attention(OpContext& n, const Projected& p, ValueId mask, ValueId past,
                                ValueId bias) {
  TRY_STATUS(no_cache_buffers(n));
  TRY(const int64_t count, n.attr_int("num_heads"));
  Heads heads;
  TRY(heads.q, split_heads(n, p.q, count));
  TRY(heads.k, split_heads(n, p.k, count));
  TRY(heads.v, split_heads(n, p.v, count));
  Expr before = n.integer(0);
  if (past.valid()) {
    if (n.rank(past) != 5) return invalid_model("expected a past of rank 5, got ", n.rank(past));
    before = n.dim(past, 3);
    for (int64_t k = 0; k < 2; ++k) {
      ValueId& x = k == 0 ? heads.k : heads.v;
      TRY(const ValueId half, n.slice_axis(past, 0, n.integer(k), n.integer(1)));
      TRY(const ValueId held,
          n.reshape(half, {n.dim(past, 1), n.dim(past, 2), before, n.dim(past, 4)}));
      TRY(x, n.concat({held, x}, 2));
    }
  }
  TRY(const Scoring s, scoring(n, mask, bias, heads, before));
  TRY(const Attended a, attend(n, heads, s));
  if (!n.wants(1)) return ValueIds{a.y};
  ValueIds halves;
  for (const ValueId x : {heads.k, heads.v}) {
    Exprs dims = n.dims(x);
    dims.insert(dims.begin(), n.integer(1));
    TRY(const ValueId half, n.reshape(x, std::move(dims)));
    halves.push_back(half);
  }
  TRY(const ValueId present, n.concat(std::move(halves), 0));
  return ValueIds{a.y, present};
}

/// x [B, S, Hq + Hk + Hv] taken apart.
Result<Projected> taken_apart(OpContext& n, ValueId x, std::vector<int64_t> sizes) {
  const Expr all = n.dim(x, 2);
  if (sizes.empty()) {
    const auto known = all.as_int();
    if (!known || *known % 3 != 0) {
      return invalid_model("expected weights for three projections of one size");
    }
    sizes.assign(3, *known / 3);
  }
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxDim) return invalid_model("expected sizes of 1 or more, got ", size);
    sum += size;
  }
  if (sizes.size() != 3 || !all.is_int(sum)) {
    return invalid_model(
        "attribute 'qkv_hidden_sizes': expected three numbers that make up the "
        "columns of the weights");
  }
  Projected p;
  TRY(p.q, n.slice_axis(x, 2, n.integer(0), n.integer(sizes[0])));
  TRY(p.k, n.slice_axis(x, 2, n.integer(sizes[0]), n.integer(sizes[1])));
  TRY(p.v, n.slice_axis(x, 2, n.integer(sizes[0] + sizes[1]), n.integer(sizes[2])));
  return p;
}

Result<ValueIds> attention(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  if (n.rank(n.in(0)) != 3 || n.rank(n.in(1)) != 2) {
    return invalid_model("expected an input of rank 3 and weights of rank 2");
  }
  if (n.has(6)) return unsupported("past and present in one buffer");
  TRY(ValueId projected, n.matmul(n.in(0), n.in(1)));
  if (n.has(2)) {
    TRY(projected, n.map2(projected, n.in(2), [](Expr e, Expr b) { return e + b; }));
  }
  TRY(std::vector<int64_t> sizes, n.attr_ints("qkv_hidden_sizes"));
  TRY(const Projected p, taken_apart(n, projected, std::move(sizes)));
  return self_attention(n, p, n.in(3), n.in(4), n.in(5));
}

/// The projection is of 8-bit integers.
Result<ValueIds> quantized_attention(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  if (n.rank(n.in(0)) != 3 || n.rank(n.in(1)) != 2) {
    return invalid_model("expected an input of rank 3 and weights of rank 2");
  }
  TRY(const ValueId product, integer_matmul(n, n.in(0), n.in(6), n.in(1), n.in(7)));
  TRY(const ValueId projected,
      n.map(DType::f32, {product, n.in(3), n.in(4), n.in(2)},
            [](std::span<const Expr> p) { return cast(p[0], DType::f32) * (p[1] * p[2]) + p[3]; }));
  TRY(const Projected p, taken_apart(n, projected, {}));
  return self_attention(n, p, n.in(5), n.in(8), {});
}

/// x [B, L, N, parts, H]: part k as [B, L, N * H].
Result<ValueId> unpacked(OpContext& n, ValueId x, int64_t k) {
  TRY(const ValueId part, n.slice_axis(x, 3, n.integer(k), n.integer(1)));
  return n.reshape(part, {n.dim(x, 0), n.dim(x, 1), n.dim(x, 2) * n.dim(x, 4)});
}

/// The projections of MultiHeadAttention, packed or apart, with their share of the bias. Keys and
/// values of rank 4 are heads as they are.
Result<Projected> projections(OpContext& n) {
  Projected p = {n.in(0), n.in(1), n.in(2)};
  if (n.rank(p.q) == 5) {
    if (n.has(1) || n.has(2)) return invalid_model("expected no keys beside packed ones");
    TRY(p.k, unpacked(n, n.in(0), 1));
    TRY(p.v, unpacked(n, n.in(0), 2));
    TRY(p.q, unpacked(n, n.in(0), 0));
  } else if (n.has(1) && n.rank(p.k) == 5) {
    if (n.has(2)) return invalid_model("expected no values beside packed ones");
    TRY(p.v, unpacked(n, n.in(1), 1));
    TRY(p.k, unpacked(n, n.in(1), 0));
  }
  if (!p.k.valid() || !p.v.valid()) return invalid_model("expected keys and values");
  if (!n.has(3)) return p;
  Expr start = n.integer(0);
  for (ValueId* x : {&p.q, &p.k, &p.v}) {
    if (n.rank(*x) != 3) break;  // heads as they are, without a bias
    TRY(const ValueId share, n.slice_axis(n.in(3), 0, start, n.dim(*x, 2)));
    start = start + n.dim(*x, 2);
    TRY(*x, n.map2(*x, share, [](Expr e, Expr b) { return e + b; }));
  }
  return p;
}

Result<ValueIds> multi_head_attention(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 4));
  if (n.has(8) || n.has(9)) return unsupported("past and present in one buffer");
  TRY(const int64_t count, n.attr_int("num_heads"));
  TRY(const Projected p, projections(n));
  Heads heads;
  TRY(heads.q, split_heads(n, p.q, count));
  heads.k = p.k;
  heads.v = p.v;
  Expr before = n.integer(0);
  for (const size_t k : {0, 1}) {
    ValueId& x = k == 0 ? heads.k : heads.v;
    if (n.rank(x) == 3) {
      TRY(x, split_heads(n, x, count));
    }
    if (n.rank(x) != 4) return invalid_model("expected keys and values of rank 3 to 5");
    if (!n.has(6 + k)) continue;
    if (k == 0) before = n.dim(n.in(6), 2);
    TRY(x, n.concat({n.in(6 + k), x}, 2));
  }
  TRY(const Scoring s, scoring(n, n.in(4), n.in(5), heads, before));
  if (n.wants(3) && s.causal) return unsupported("its output of scores where some keys are hidden");
  TRY(const Attended a, attend(n, heads, s));
  return ValueIds{a.y, heads.k, heads.v, a.scores};
}

/// Rows of a table of angles for the positions of x [B, H, T, D], as `rotated` takes them.
/// One number is the position of the first row.
Result<ValueId> angles_at(OpContext& n, ValueId table, ValueId positions, Expr steps) {
  if (n.rank(table) != 2)
    return invalid_model("expected a table of angles, got rank ", n.rank(table));
  TRY(ValueId at, n.cast(positions, DType::i64));
  if (n.rank(at) < 2) {
    TRY(at, n.reshape(at, {}));
    TRY(const ValueId step, n.iota({n.integer(1), steps}, 1));
    TRY(at, n.map2(step, at, [](Expr s, Expr first) { return s + first; }));
  }
  TRY(const ValueId rows, n.gather(table, at, 0));  // [B or 1, T, half]
  return n.reshape(rows, {n.dim(rows, 0), n.integer(1), n.dim(rows, 1), n.dim(rows, 2)});
}

/// Inputs: x, positions, cosines, sines.
Result<ValueIds> rotary_embedding(OpContext& n) {
  ValueId x = n.in(0);
  TRY(int64_t heads, n.attr_int("num_heads", 0));
  TRY(const int64_t turned, n.attr_int("rotary_embedding_dim", 0));
  TRY(const bool interleaved, n.attr_flag("interleaved", false));
  TRY(const bool ragged, n.attr_flag("is_packed_batching", false));
  if (ragged) return unsupported("batches of several lengths in one row");
  n.has_attr("scale");  // onnxruntime's kernels leave it out
  const int64_t rank = n.rank(x);
  if (rank == 3) {
    const auto hidden = n.dim(x, 2).as_int(), half = n.dim(n.in(2), 1).as_int();
    if (turned == 0 && hidden && half && *half > 0) heads = *hidden / (2 * *half);
    TRY(x, split_heads(n, x, heads));
  } else if (rank != 4) {
    return invalid_model("expected an input of rank 3 or 4, got ", rank);
  }
  TRY(const ValueId cosines, angles_at(n, n.in(2), n.in(1), n.dim(x, 2)));
  TRY(const ValueId sines, angles_at(n, n.in(3), n.in(1), n.dim(x, 2)));
  TRY(const ValueId y, rotated(n, x, cosines, sines, interleaved));
  return only(rank == 3 ? merge_heads(n, y) : y);
}

constexpr OpRow kRows[] = {
    {"com.microsoft.Attention", 1, 2, 7, attention},
    {"com.microsoft.GroupQueryAttention", 1, 1, 17, group_query_attention},
    {"com.microsoft.MultiHeadAttention", 1, 1, 10, multi_head_attention},
    {"com.microsoft.QAttention", 1, 5, 9, quantized_attention},
    {"com.microsoft.RotaryEmbedding", 1, 4, 4, rotary_embedding},
};

}  // namespace

std::span<const OpRow> microsoft_attention_rows() {
  return kRows;
}

}  // namespace ingot::onnx
