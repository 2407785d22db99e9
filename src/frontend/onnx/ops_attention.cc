// frontend/onnx/ops_attention.cc: attention and rotary embeddings, out of products and softmax.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "frontend/onnx/attention.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// Which keys a query sees, and what is added to its scores; each broadcast against [B, H, T, S].
struct Bias {
  ValueId mask;     // b8, or a float to add
  ValueId lengths;  // i64 [B, 1, 1, 1]: keys from there on are hidden
  bool causal = false;
  int64_t left = -1, right = -1;  // so many keys before and behind a query's own; -1: all
  Expr past;                      // keys before the first query's, of a cache inside
  bool has_past = false;

  bool counts_positions() const { return causal || left >= 0 || right >= 0; }
  /// Whether there can be queries that see no key: a frontier alone leaves each query its own.
  bool may_hide_all() const { return mask.valid() || lengths.valid() || left >= 0 || right >= 0; }
};

/// The mask, with the keys that it does not speak of hidden.
Result<ValueId> whole_mask(OpContext& n, ValueId mask, Expr keys) {
  if (n.rank(mask) < 1 || n.rank(mask) > 4) {
    return invalid_model("input 'attn_mask': expected rank 1 to 4, got ", n.rank(mask));
  }
  const Expr spoken = n.dims(mask).back();
  if (provably_equal(spoken, keys)) return mask;
  Exprs none(static_cast<size_t>(n.rank(mask)), n.integer(0));
  Exprs after = none;
  after.back() = max(keys - spoken, n.integer(0));
  const DType held = n.dtype(mask);
  TRY(const ValueId hidden,
      n.scalar(held, held == DType::b8 ? 0 : -std::numeric_limits<double>::infinity()));
  return n.pad(mask, none, after, "constant", hidden);
}

/// A map over the bias: `fn` gets the operands `xs` and whether position and lengths let a query
/// see a key; the mask is the last of the operands, if there is one.
Result<ValueId> map_bias(
    OpContext& n, DType dtype, ValueIds xs, const Bias& bias, Expr queries, Expr keys,
    const std::function<Expr(std::span<const Expr> xs, std::optional<Expr> mask, Expr seen)>& fn) {
  const size_t own = xs.size();
  const auto add = [&](ValueId x) {
    xs.push_back(x);
    return xs.size() - 1;
  };
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  size_t mask = kNone, lengths = kNone, query = kNone, key = kNone;
  if (bias.mask.valid()) mask = add(bias.mask);
  if (bias.lengths.valid()) lengths = add(bias.lengths);
  if (bias.counts_positions() || bias.lengths.valid()) {
    TRY(const ValueId j, n.iota({keys}, 0));
    key = add(j);
  }
  if (bias.counts_positions()) {
    TRY(const ValueId i, n.iota({queries, n.integer(1)}, 0));
    query = add(i);
  }
  return n.map(dtype, xs, [&](std::span<const Expr> p) {
    Expr seen = n.pool().boolean(true);
    if (lengths != kNone) seen = less(p[key], p[lengths]);
    if (query != kNone) {
      // With a cache outside, the last query is the last of the keys that there are.
      const bool outside = lengths != kNone && !bias.has_past;
      const Expr at = p[query] + (outside ? p[lengths] - queries : bias.past);
      if (bias.causal) seen = logical_and(seen, less_equal(p[key], at));
      if (bias.left >= 0) seen = logical_and(seen, less_equal(at - p[key], n.integer(bias.left)));
      if (bias.right >= 0) seen = logical_and(seen, less_equal(p[key] - at, n.integer(bias.right)));
    }
    return fn(p.first(own), mask == kNone ? std::nullopt : std::optional(p[mask]), seen);
  });
}

Result<ValueId> add_bias(OpContext& n, ValueId scores, const Bias& bias) {
  if (!bias.may_hide_all() && !bias.causal) return scores;
  return map_bias(n, n.dtype(scores), {scores}, bias, n.dim(scores, 2), n.dim(scores, 3),
                  [&](std::span<const Expr> p, std::optional<Expr> mask, Expr seen) {
                    Expr e = p[0];
                    if (mask && mask->dtype() == DType::b8) {
                      seen = logical_and(*mask, seen);
                    } else if (mask) {
                      e = e + ingot::cast(*mask, e.dtype());
                    }
                    return select(seen, e,
                                  n.number(e.dtype(), -std::numeric_limits<double>::infinity()));
                  });
}

/// y [B, H, T, ..] with zeros for queries that the bias shows no key.
Result<ValueId> without_blind(OpContext& n, ValueId y, const Bias& bias, Expr keys) {
  if (!bias.may_hide_all()) return y;
  TRY(const ValueId sees,
      map_bias(n, DType::b8, {}, bias, n.dim(y, 2), keys,
               [&](std::span<const Expr>, std::optional<Expr> mask, Expr seen) {
                 if (!mask) return seen;
                 if (mask->dtype() == DType::b8) return logical_and(*mask, seen);
                 const double lowest = -std::numeric_limits<double>::infinity();
                 return logical_and(seen,
                                    logical_not(equal(*mask, n.number(mask->dtype(), lowest))));
               }));
  TRY(const ValueId any, n.reduce(ReduceKind::any, sees, {n.rank(sees) - 1}, true));
  return n.map(n.dtype(y), {y, any}, [&](std::span<const Expr> p) {
    return select(p[1], p[0], n.number(p[0].dtype(), 0));
  });
}

/// The stages of the scores that the fourth output may show.
struct Scores {
  ValueId product, capped, biased, weights;
};

/// Softmax over the keys of scale * q k' + bias, in the type of computation.
Result<Scores> attention_scores(OpContext& n, ValueId q, ValueId k, const Bias& bias) {
  const auto head_size = n.dims(q).back().as_int();
  if (!head_size && !n.has_attr("scale")) return unsupported("heads of unknown size");
  const double usual = head_size ? 1 / std::sqrt(static_cast<double>(*head_size)) : 1;
  TRY(const double scale, n.attr_real("scale", usual));
  TRY(const double cap, n.attr_real("softcap", 0.0));
  Scores s;
  TRY(const ValueId turned, n.transpose(k, {0, 1, 3, 2}));
  TRY(s.product, grouped_matmul(n, q, turned));
  TRY(s.product, n.map1(s.product, [&](Expr e) { return e * n.number(e.dtype(), scale); }));
  s.capped = s.product;
  if (cap > 0) {
    TRY(s.capped, n.map1(s.product, [&](Expr e) {
      const Expr limit = n.number(e.dtype(), cap);
      return tanh(e / limit) * limit;
    }));
  }
  TRY(s.biased, add_bias(n, s.capped, bias));
  TRY(const DType precision, n.attr_dtype("softmax_precision", n.dtype(s.biased)));
  TRY(const ValueId precise,
      n.cast(s.biased, precision == DType::f64 ? precision : n.dtype(s.biased)));
  TRY(const ValueId weights, n.softmax(precise, -1, false));
  TRY(s.weights, n.cast(weights, n.dtype(s.biased)));
  return s;
}

/// Source: ONNX Attention-25. The cache is what past and new keys and values are one after another.
Result<ValueIds> attention(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  const DType held = n.dtype(n.in(0));
  const DType compute = compute_dtype(held);
  const int64_t rank = n.rank(n.in(0));
  ValueIds qkv = {n.in(0), n.in(1), n.in(2)};
  if (rank == 3) {
    TRY(const int64_t q_heads, n.attr_int("q_num_heads"));
    TRY(const int64_t kv_heads, n.attr_int("kv_num_heads"));
    for (size_t k = 0; k < 3; ++k) {
      if (n.rank(qkv[k]) != 3) return invalid_model("expected Q, K and V of one rank");
      TRY(qkv[k], split_heads(n, qkv[k], k == 0 ? q_heads : kv_heads));
    }
  } else {
    n.has_attr("q_num_heads");
    n.has_attr("kv_num_heads");
    for (const ValueId x : qkv) {
      if (n.rank(x) != 4) return invalid_model("expected inputs of rank 3 or 4, got ", n.rank(x));
    }
  }
  Bias bias;
  bias.past = n.integer(0);
  bias.has_past = n.has(4);
  for (const size_t k : {1, 2}) {
    const size_t past = k + 3;
    if (!n.has(past)) continue;
    if (k == 1) bias.past = n.dim(n.in(past), 2);
    TRY(const ValueId before, n.cast(n.in(past), n.dtype(qkv[k])));
    TRY(qkv[k], n.concat({before, qkv[k]}, 2));
  }
  TRY(bias.causal, n.attr_flag("is_causal", false));
  TRY(bias.left, n.attr_int("left_window_size", -1));
  TRY(bias.right, n.attr_int("right_window_size", -1));
  if (bias.left < -1 || bias.right < -1) {
    return invalid_model("expected windows of -1 or more, got ", bias.left, " and ", bias.right);
  }
  if (n.has(3)) {
    TRY(bias.mask, whole_mask(n, n.in(3), n.dim(qkv[1], 2)));
  }
  if (n.has(6)) {
    TRY(const ValueId lengths, n.cast(n.in(6), DType::i64));
    TRY(bias.lengths,
        n.reshape(lengths, {n.dim(lengths, 0), n.integer(1), n.integer(1), n.integer(1)}));
  }
  ValueIds wide;
  for (const ValueId x : qkv) {
    TRY(const ValueId one, n.cast(x, compute));
    wide.push_back(one);
  }
  TRY(const Scores s, attention_scores(n, wide[0], wide[1], bias));
  const Expr keys = n.dim(wide[1], 2);
  TRY(ValueId y, grouped_matmul(n, s.weights, wide[2]));
  TRY(y, without_blind(n, y, bias, keys));
  TRY(y, n.cast(y, held));
  if (rank == 3) {
    TRY(y, merge_heads(n, y));
  }
  TRY(const int64_t mode, n.attr_int("qk_matmul_output_mode", 0));
  if (mode < 0 || mode > 3) {
    return invalid_model("attribute 'qk_matmul_output_mode': expected 0 to 3, got ", mode);
  }
  ValueId shown = std::array{s.product, s.capped, s.biased, s.weights}[static_cast<size_t>(mode)];
  if (mode == 3 && n.wants(3)) {
    TRY(shown, without_blind(n, shown, bias, keys));
  }
  TRY(shown, n.cast(shown, held));
  return ValueIds{y, qkv[1], qkv[2], shown};
}

/// Pairs of elements turned by the angles of their position. Source: ONNX RotaryEmbedding-23.
Result<ValueIds> rotary_embedding(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  ValueId x = n.in(0);
  const Exprs dims = n.dims(x);
  TRY(const int64_t heads, n.attr_int("num_heads", 0));
  TRY(int64_t turned, n.attr_int("rotary_embedding_dim", 0));
  TRY(const bool interleaved, n.attr_flag("interleaved", false));
  if (dims.size() == 3) {
    TRY(x, split_heads(n, x, heads));
  } else if (dims.size() != 4) {
    return invalid_model("expected an input of rank 3 or 4, got ", dims.size());
  }
  // x [B, H, T, D]; the caches become [B, 1, T, half].
  const auto size = n.dim(x, 3).as_int();
  if (!size) return unsupported("heads of unknown size");
  if (turned == 0) turned = *size;
  if (turned < 2 || turned % 2 != 0 || turned > *size) {
    return invalid_model("attribute 'rotary_embedding_dim': expected an even number up to ", *size,
                         ", got ", turned);
  }
  const int64_t half = turned / 2;
  ValueIds angles;
  for (const size_t k : {1, 2}) {
    ValueId cache = n.in(k);
    if (n.has(3)) {
      TRY(const ValueId at, n.cast(n.in(3), DType::i64));
      TRY(cache, n.gather(cache, at, 0));
    }
    if (n.rank(cache) != 3 || !n.dim(cache, 2).is_int(half)) {
      return invalid_model("expected caches with ", half, " angles of each position");
    }
    TRY(cache, n.reshape(cache, {n.dim(cache, 0), n.integer(1), n.dim(cache, 1), n.integer(half)}));
    angles.push_back(cache);
  }
  TRY(const ValueId y, rotated(n, x, angles[0], angles[1], interleaved));
  return only(dims.size() == 3 ? merge_heads(n, y) : y);
}

constexpr OpRow kRows[] = {
    {"Attention", 23, 3, 7, attention},
    {"RotaryEmbedding", 23, 3, 4, rotary_embedding},
};

}  // namespace

std::span<const OpRow> attention_rows() {
  return kRows;
}

}  // namespace ingot::onnx
