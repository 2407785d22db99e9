// frontend/onnx/ops_state.cc: layers that carry a state from step to step of a sequence.
#include <cmath>

#include "frontend/onnx/ops.h"
#include "ops/control.h"

namespace ingot::onnx {
namespace {

/// Each channel's weighted sum of the last elements, the state being those before the first.
/// Source: ONNX CausalConvWithState-27.
Result<ValueIds> causal_conv(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 4));
  const ValueId x = n.in(0);
  const ValueId w = n.in(1);
  if (n.rank(x) != 3 || n.rank(w) != 3 || !n.dim(w, 1).is_int(1)) {
    return invalid_model("expected an input [B, C, L] and a weight [C, 1, K]");
  }
  const auto taps = n.dim(w, 2).as_int();
  if (!taps) return unsupported("a kernel of unknown size");
  if (*taps < 1) return invalid_model("expected a kernel of 1 or more, got ", *taps);
  constexpr std::string_view kActivations[] = {"none", "silu", "swish"};
  TRY(const size_t activation, n.attr_choice("activation", kActivations, 0));
  const Exprs dims = n.dims(x);
  ValueId before;
  if (n.has(3)) {
    TRY(before, n.cast(n.in(3), n.dtype(x)));
  } else {
    TRY(before, n.fill(n.dtype(x), 0, {dims[0], dims[1], n.integer(*taps - 1)}));
  }
  TRY(const ValueId whole, n.concat({before, x}, 2));
  ValueIds xs;
  for (int64_t k = 0; k < *taps; ++k) {
    TRY(const ValueId element, n.slice_axis(whole, 2, n.integer(k), dims[2]));
    TRY(ValueId weight, n.slice_axis(w, 2, n.integer(k), n.integer(1)));
    TRY(weight, n.reshape(weight, {dims[1], n.integer(1)}));
    xs.insert(xs.end(), {element, weight});
  }
  if (n.has(2)) {
    TRY(const ValueId bias, n.reshape(n.in(2), {dims[1], n.integer(1)}));
    xs.push_back(bias);
  }
  TRY(const ValueId y, n.map(n.dtype(x), xs, [&](std::span<const Expr> p) {
    Expr sum = p.size() % 2 == 1 ? p.back() : n.number(p[0].dtype(), 0);
    for (size_t k = 0; k + 1 < p.size(); k += 2) sum = sum + p[k] * p[k + 1];
    return activation == 0 ? sum : sum * unary(ExprKind::sigmoid, sum);
  }));
  TRY(const ValueId after, n.slice_axis(whole, 2, dims[2], n.integer(*taps - 1)));
  return ValueIds{y, after};
}

// ---- LinearAttention ----

/// A linear attention's sizes and inputs in the type of computation, [B, T, heads, size].
struct LinearAttention {
  bool gated = false;
  bool corrects = false;  // the delta rule
  double scale = 1;
  DType compute = DType::f32;
  int64_t heads = 1;
  int64_t group = 1;  // queries' heads that share one of the keys
  Expr batch, steps, key_size, value_size;
  ValueId q, k, v;
  ValueId decay;  // [B, T, heads, key_size or 1], or none
  ValueId beta;   // [B, T, heads or 1, 1], or none
};

/// x [B, T, parts * size] as [B, T, parts, size].
Result<ValueId> in_parts(OpContext& n, ValueId x, int64_t parts, DType compute) {
  const auto width = n.dim(x, 2).as_int();
  if (n.rank(x) != 3 || (width && *width % parts != 0)) {
    return invalid_model("expected [B, T, a multiple of ", parts, "], got rank ", n.rank(x));
  }
  TRY(const ValueId wide, n.cast(x, compute));
  return n.reshape(wide,
                   {n.dim(x, 0), n.dim(x, 1), n.integer(parts), floordiv(n.dim(x, 2), parts)});
}

Result<LinearAttention> read_linear_attention(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 6));
  constexpr std::string_view kRules[] = {"linear", "gated", "delta", "gated_delta"};
  LinearAttention a;
  TRY(const size_t rule, n.attr_choice("update_rule", kRules, 3));
  a.gated = rule == 1 || rule == 3;
  a.corrects = rule >= 2;
  TRY(const int64_t q_heads, n.attr_int("q_num_heads"));
  TRY(a.heads, n.attr_int("kv_num_heads"));
  n.has_attr("chunk_size");  // how others compute it
  if (a.heads < 1 || q_heads < 1 || q_heads % a.heads != 0) {
    return invalid_model("expected heads of keys that divide those of queries, got ", a.heads,
                         " and ", q_heads);
  }
  if (a.gated != n.has(4) || a.corrects != n.has(5)) {
    return invalid_model("update_rule '", kRules[rule], "': expected ", a.gated ? "a" : "no",
                         " decay and ", a.corrects ? "a" : "no", " beta");
  }
  a.group = q_heads / a.heads;
  a.compute = compute_dtype(n.dtype(n.in(0)));
  TRY(a.q, in_parts(n, n.in(0), q_heads, a.compute));
  TRY(a.k, in_parts(n, n.in(1), a.heads, a.compute));
  TRY(a.v, in_parts(n, n.in(2), a.heads, a.compute));
  a.batch = n.dim(a.q, 0);
  a.steps = n.dim(a.q, 1);
  a.key_size = n.dim(a.k, 3);
  a.value_size = n.dim(a.v, 3);
  if (a.gated) {
    TRY(a.decay, in_parts(n, n.in(4), a.heads, a.compute));
  }
  if (a.corrects) {
    const bool one_for_all = n.rank(n.in(5)) == 3 && n.dim(n.in(5), 2).is_int(1);
    TRY(a.beta, in_parts(n, n.in(5), one_for_all ? 1 : a.heads, a.compute));
  }
  TRY(a.scale, n.attr_real("scale", 0.0));
  if (a.scale == 0) {
    const auto size = n.dim(a.q, 3).as_int();
    if (!size) return unsupported("heads of unknown size without a scale");
    a.scale = 1 / std::sqrt(static_cast<double>(*size));
  }
  return a;
}

/// One step's parts of the inputs [B, heads, size], as seen by who builds the step.
struct StepInputs {
  ValueId q, k, v, decay, beta;
};

/// The state [B, H, K, V] after a step, and what the queries read: [B, H * group, V].
Result<ValueIds> attend_step(Builder& b, const LinearAttention& a, const StepInputs& in,
                             ValueId state) {
  const Expr heads = b.integer(a.heads), one = b.integer(1);
  const auto product = [](Expr x, Expr y) { return x * y; };
  if (a.gated) {
    Exprs dims = b.dims(in.decay);
    dims.push_back(one);
    TRY(const ValueId decay, b.reshape(in.decay, std::move(dims)));
    TRY(state, b.map2(state, decay, [](Expr s, Expr g) { return s * exp(g); }));
  }
  TRY(const ValueId key_row, b.reshape(in.k, {a.batch, heads, one, a.key_size}));
  TRY(const ValueId key_column, b.reshape(in.k, {a.batch, heads, a.key_size, one}));
  TRY(ValueId value, b.reshape(in.v, {a.batch, heads, one, a.value_size}));
  if (a.corrects) {
    TRY(const ValueId known, b.matmul(key_row, state));
    Exprs dims = b.dims(in.beta);
    dims.push_back(one);
    TRY(const ValueId beta, b.reshape(in.beta, std::move(dims)));
    TRY(value, b.map(a.compute, {value, known, beta},
                     [](std::span<const Expr> p) { return p[2] * (p[0] - p[1]); }));
  }
  TRY(const ValueId update, b.map2(key_column, value, product));
  TRY(state, b.map2(state, update, [](Expr s, Expr u) { return s + u; }));
  TRY(const ValueId queries, b.reshape(in.q, {a.batch, heads, b.integer(a.group), a.key_size}));
  TRY(ValueId read, b.matmul(queries, state));
  TRY(read, b.map1(read, [&](Expr e) { return e * b.number(a.compute, a.scale); }));
  TRY(read, b.reshape(read, {a.batch, b.integer(a.heads * a.group), a.value_size}));
  return ValueIds{state, read};
}

/// All steps as a loop: the last state, and what all queries read, [T, B, H * group, V].
Result<ValueIds> attend_in_loop(OpContext& n, const LinearAttention& a, ValueId state) {
  auto body = std::make_shared<Graph>(n.graph().shared_pool());
  Builder b(*body, n.provenance());
  ValueIds operands;
  const auto capture = [&](std::string name, ValueId outer) {
    operands.push_back(outer);
    return body->add_input(std::move(name), n.graph().type(outer));
  };
  TRY(const ValueId trips, n.scalar_of(a.steps, DType::i64));
  TRY(const ValueId yes, n.scalar(DType::b8, 1));
  const ValueId turn = capture("turn", trips);
  const ValueId condition = capture("condition", yes);
  const ValueId before = capture("state", state);
  StepInputs in;
  const auto read = [&](std::string name, ValueId whole, ValueId& part) -> Status {
    if (!whole.valid()) return ok();
    TRY(part, b.gather(capture(std::move(name), whole), turn, 1));
    return ok();
  };
  TRY_STATUS(read("q", a.q, in.q));
  TRY_STATUS(read("k", a.k, in.k));
  TRY_STATUS(read("v", a.v, in.v));
  TRY_STATUS(read("decay", a.decay, in.decay));
  TRY_STATUS(read("beta", a.beta, in.beta));
  TRY(const ValueIds after, attend_step(b, a, in, before));
  body->set_outputs({{"condition", condition}, {"state", after[0]}, {"y", after[1]}});
  ops::Loop loop;
  loop.body = body;
  loop.carried = 1;
  loop.trip_count = {a.steps};
  return n.graph().add(make_op(std::move(loop)), std::move(operands), {n.provenance()});
}

/// Source: ONNX LinearAttention-27.
Result<ValueIds> linear_attention(OpContext& n) {
  TRY(const LinearAttention a, read_linear_attention(n));
  const DType held = n.dtype(n.in(0));
  const DType state_held = n.has(3) ? n.dtype(n.in(3)) : held;
  const Exprs state_dims = {a.batch, n.integer(a.heads), a.key_size, a.value_size};
  ValueId state;
  if (n.has(3)) {
    if (n.rank(n.in(3)) != 4) return invalid_model("expected a state of rank 4");
    TRY(state, n.cast(n.in(3), a.compute));
    TRY(state, n.reshape(state, state_dims));
  } else {
    TRY(state, n.fill(a.compute, 0, state_dims));
  }
  TRY(const ValueIds results, attend_in_loop(n, a, state));
  TRY(ValueId y, n.transpose(results[1], {1, 0, 2, 3}));
  TRY(y, n.reshape(y, {a.batch, a.steps, a.value_size * (a.heads * a.group)}));
  TRY(y, n.cast(y, held));
  TRY(const ValueId last, n.cast(results[0], state_held));
  return ValueIds{y, last};
}

constexpr OpRow kRows[] = {
    {"CausalConvWithState", 27, 2, 4, causal_conv},
    {"LinearAttention", 27, 3, 6, linear_attention},
};

}  // namespace

std::span<const OpRow> state_rows() {
  return kRows;
}

}  // namespace ingot::onnx
