// frontend/onnx/ops_microsoft_group_query.cc: attention over a cache of which each of the batch has
// filled a part of its own.
#include "frontend/onnx/attention.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/scored.h"

namespace ingot::onnx {
namespace {

/// Inputs by number.
enum : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,  // i32 [B]: number of the last key of each
  kTotal,     // keys of the longest
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths,
};

/// What the operator may do besides, and does not here.
Status refuse_variants(OpContext& n) {
  if (n.has(kKeyScale) || n.has(kValueScale)) return unsupported("quantized keys and values");
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    TRY(const std::string kind, n.attr_text(name, "NONE"));
    if (kind != "NONE") return unsupported("quantized keys and values");
  }
  n.has_attr("kv_cache_bit_width");
  if (n.has(kQueryNorm) || n.has(kKeyNorm)) return unsupported("a norm inside of it");
  for (const std::string_view name : {"qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon"}) {
    n.has_attr(name);
  }
  if (n.has(kQueryLengths)) return unsupported("queries of several lengths");
  TRY(const bool slides, n.attr_flag("sliding_window_cache", false));
  if (slides) return unsupported("a cache as large as its window");
  TRY(const int64_t shown, n.attr_int("qk_output", 0));
  if (shown != 0 || n.wants(3)) return unsupported("its output of scores");
  return ok();
}

/// Query, keys and values [B, heads, S, D], packed in one input or apart.
Result<Heads> read_heads(OpContext& n) {
  TRY(const int64_t q_heads, n.attr_int("num_heads"));
  TRY(const int64_t kv_heads, n.attr_int("kv_num_heads"));
  if (q_heads < 1 || kv_heads < 1 || q_heads > kMaxDim || kv_heads > kMaxDim) {
    return invalid_model("expected one head or more");
  }
  Projected p = {n.in(kQuery), n.in(kKey), n.in(kValue)};
  if (n.rank(p.q) != 3) return invalid_model("expected a query of rank 3, got ", n.rank(p.q));
  if (!n.has(kKey)) {
    const Expr size = floordiv(n.dim(p.q, 2), q_heads + 2 * kv_heads);
    const ValueId all = p.q;
    TRY(p.q, n.slice_axis(all, 2, n.integer(0), size * q_heads));
    TRY(p.k, n.slice_axis(all, 2, size * q_heads, size * kv_heads));
    TRY(p.v, n.slice_axis(all, 2, size * (q_heads + kv_heads), size * kv_heads));
  }
  if (!p.v.valid()) return invalid_model("expected values beside keys");
  for (const ValueId x : {p.k, p.v}) {
    if (n.rank(x) != 3) return invalid_model("expected keys and values of rank 3");
  }
  Heads heads;
  TRY(heads.q, split_heads(n, p.q, q_heads));
  TRY(heads.k, split_heads(n, p.k, kv_heads));
  TRY(heads.v, split_heads(n, p.v, kv_heads));
  return heads;
}

/// Where the new steps are in the cache.
struct Places {
  Expr steps;      // S
  Expr held;       // of the past
  Expr capacity;   // of the present
  ValueId last;    // i64 [B, 1, 1, 1]: number of the last key
  ValueId before;  // likewise: keys in front of the new ones
};

Result<Places> read_places(OpContext& n, const Heads& heads) {
  Places at;
  at.steps = n.dim(heads.q, 2);
  at.held = n.has(kPastKey) ? n.dim(n.in(kPastKey), 2) : n.integer(0);
  TRY(const Expr total, n.content(kTotal, "total_sequence_length"));
  at.capacity = max(at.held, max(total, at.steps));
  const Expr batch = n.dim(heads.q, 0), one = n.integer(1);
  TRY(const ValueId last, n.cast(n.in(kLastKeys), DType::i64));
  TRY(at.last, n.reshape(last, {batch, one, one, one}));
  TRY(at.before, n.map1(at.last, [&](Expr e) {
    // The steps of a prompt come first, also where some are padding.
    return select(equal(at.steps, total), n.integer(0), max(e + 1 - at.steps, n.integer(0)));
  }));
  return at;
}

/// The new keys or values [B, H, S, D] written behind those of the past [B, H, P, D].
Result<ValueId> written(OpContext& n, ValueId past, ValueId x, const Places& at) {
  if (past.valid() && n.rank(past) != 4) {
    return invalid_model("expected a past of rank 4, got ", n.rank(past));
  }
  const Expr batch = n.dim(x, 0), heads = n.dim(x, 1), size = n.dim(x, 3);
  ValueId all = x;
  if (past.valid()) {
    TRY(all, n.concat({past, x}, 2));
  }
  const Expr rows = at.held + at.steps;
  TRY(const ValueId b, n.iota({batch, n.integer(1), n.integer(1), n.integer(1)}, 0));
  TRY(const ValueId h, n.iota({heads, n.integer(1), n.integer(1)}, 0));
  TRY(const ValueId j, n.iota({at.capacity, n.integer(1)}, 0));
  const auto row_of = [&](Expr key, Expr before) {
    const Expr step = key - before;
    const Expr is_new = logical_and(less_equal(n.integer(0), step), less(step, at.steps));
    return select(is_new, at.held + step,
                  select(less(key, min(before, at.held)), key, n.integer(-1)));
  };
  TRY(const ValueId positions,
      n.map(DType::i64, {b, h, j, at.before}, [&](std::span<const Expr> p) {
        return (p[0] * heads + p[1]) * rows + max(row_of(p[2], p[3]), n.integer(0));
      }));
  TRY(const ValueId flat, n.reshape(all, {batch * heads * rows, size}));
  TRY(const ValueId list, n.reshape(positions, {batch, heads, at.capacity}));
  TRY(const ValueId taken, n.gather(flat, list, 0));
  TRY(const ValueId present, n.map(n.dtype(x), {taken, j, at.before}, [&](std::span<const Expr> p) {
    return select(less(row_of(p[1], p[2]), n.integer(0)), n.number(p[0].dtype(), 0), p[0]);
  }));
  return present;
}

/// The angles of the new steps, from a table [positions, half].
Result<ValueId> step_angles(OpContext& n, size_t table, const Places& at) {
  if (!n.has(table) || n.rank(n.in(table)) != 2) {
    return invalid_model("expected tables of angles, of rank 2");
  }
  ValueId positions;
  if (n.has(kPositions)) {
    TRY(positions, n.cast(n.in(kPositions), DType::i64));
    if (n.rank(positions) != 2) return invalid_model("expected positions [B, S]");
  } else {
    TRY(const ValueId step, n.iota({at.steps}, 0));
    TRY(const ValueId before, n.reshape(at.before, {n.dim(at.before, 0), n.integer(1)}));
    TRY(positions, n.map2(before, step, [](Expr p, Expr s) { return p + s; }));
  }
  TRY(const ValueId rows, n.gather(n.in(table), positions, 0));  // [B, S, half]
  return n.reshape(rows, {n.dim(rows, 0), n.integer(1), n.dim(rows, 1), n.dim(rows, 2)});
}

/// Which keys step s of each of the batch sees: [B, 1, S, capacity].
Result<ValueId> visible_keys(OpContext& n, const Places& at) {
  TRY(const bool causal, n.attr_flag("causal", true));
  TRY(const int64_t window, n.attr_int("local_window_size", -1));
  TRY(const ValueId step, n.iota({at.steps, n.integer(1)}, 0));
  TRY(const ValueId key, n.iota({at.capacity}, 0));
  return n.map(DType::b8, {at.before, step, key, at.last}, [&](std::span<const Expr> p) {
    const Expr own = p[0] + p[1];
    Expr seen = less_equal(p[2], causal ? min(own, p[3]) : p[3]);
    if (window >= 0) seen = logical_and(seen, less(own - window, p[2]));
    return seen;
  });
}

/// The bias, with zeros for keys that it does not speak of.
Result<ValueId> whole_bias(OpContext& n, ValueId bias, Expr capacity) {
  if (n.rank(bias) != 4) return invalid_model("expected a bias of rank 4, got ", n.rank(bias));
  if (provably_equal(n.dim(bias, 3), capacity)) return bias;
  const Exprs none(4, n.integer(0));
  Exprs after = none;
  after[3] = max(capacity - n.dim(bias, 3), n.integer(0));
  TRY(const ValueId padded, n.pad(bias, none, after, "constant", ValueId()));
  Exprs dims = n.dims(padded);
  dims[3] = capacity;
  return n.reshape(padded, std::move(dims));
}

}  // namespace

Result<ValueIds> group_query_attention(OpContext& n) {
  TRY_STATUS(n.expect_inputs({kLastKeys, kTotal}));
  TRY_STATUS(refuse_variants(n));
  TRY_STATUS(n.expect_floats(0, kLastKeys));
  if (n.has(kPastKey) != n.has(kPastValue)) return invalid_model("expected past keys and values");
  TRY(Heads heads, read_heads(n));
  TRY(const Places at, read_places(n, heads));
  TRY(const bool turns, n.attr_flag("do_rotary", false));
  TRY(const bool interleaved, n.attr_flag("rotary_interleaved", false));
  if (turns) {
    TRY(const ValueId cosines, step_angles(n, kCosines, at));
    TRY(const ValueId sines, step_angles(n, kSines, at));
    TRY(heads.q, rotated(n, heads.q, cosines, sines, interleaved));
    TRY(heads.k, rotated(n, heads.k, cosines, sines, interleaved));
  }
  TRY(heads.k, written(n, n.in(kPastKey), heads.k, at));
  TRY(heads.v, written(n, n.in(kPastValue), heads.v, at));
  Scoring s;
  TRY(s.scale, score_scale(n, heads.q));
  TRY(s.softcap, n.attr_real("softcap", 0.0));
  TRY(s.visible, visible_keys(n, at));
  if (n.has(kBias)) {
    TRY(const ValueId bias, whole_bias(n, n.in(kBias), at.capacity));
    s.added.push_back(bias);
  }
  TRY(const int64_t smooth, n.attr_int("smooth_softmax", -1));
  s.sink = n.in(kSink);
  if (!s.sink.valid() && smooth == 1) {
    TRY(s.sink, n.fill(DType::f32, 0, {n.dim(heads.q, 1)}));
  }
  TRY(const Attended a, attend(n, heads, s));
  return ValueIds{a.y, heads.k, heads.v};
}

}  // namespace ingot::onnx
