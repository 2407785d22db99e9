// frontend/onnx/ops_recurrent.cc: RNN, GRU and LSTM as loops over time.
//
// The products with the input are one matmul over all steps; the loop's body has the products with
// the state and the gates. A reversed direction, and sequences that are shorter than the longest,
// only change which step a turn reads.
#include "frontend/onnx/activation.h"
#include "frontend/onnx/ops.h"
#include "ops/control.h"

namespace ingot::onnx {
namespace {

enum class Cell : uint8_t { rnn, gru, lstm };

/// What the attributes say, and the inputs in the type of computation.
struct Recurrent {
  Cell cell = Cell::rnn;
  int64_t directions = 1;
  bool reverse_first = false;
  bool batch_first = false;
  bool reset_after = false;             // GRU, linear_before_reset
  bool input_forget = false;            // LSTM
  bool quantized = false;               // DynamicQuantizeLSTM
  double clip = 0;                      // 0: none
  std::vector<Activation> activations;  // per direction, in the operator's order
  DType compute = DType::f32;
  Expr steps, batch, hidden;
  ValueId x;        // [T, B, I]
  ValueId lengths;  // i64 [B], or none

  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  size_t activation_count() const { return cell == Cell::lstm ? 3 : cell == Cell::gru ? 2 : 1; }
  bool is_reverse(int64_t direction) const { return reverse_first || direction == 1; }
  const Activation& activation(int64_t direction, size_t k) const {
    return activations[static_cast<size_t>(direction) * activation_count() + k];
  }
};

/// The names of the activations that a cell has unless the model says otherwise.
std::vector<std::string> usual_activations(const Recurrent& r) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < r.directions; ++d) {
    if (r.cell != Cell::rnn) names.push_back("sigmoid");
    names.push_back("tanh");
    if (r.cell == Cell::lstm) names.push_back("tanh");
  }
  return names;
}

Result<Recurrent> read_recurrent(OpContext& n, Cell cell, bool quantized) {
  TRY_STATUS(n.expect_floats(0, quantized ? 1 : 4));
  TRY_STATUS(n.expect_floats(5, 8));
  Recurrent r;
  r.cell = cell;
  r.quantized = quantized;
  constexpr std::string_view kDirections[] = {"forward", "reverse", "bidirectional"};
  TRY(const size_t direction, n.attr_choice("direction", kDirections, 0));
  r.directions = direction == 2 ? 2 : 1;
  r.reverse_first = direction == 1;
  TRY(r.batch_first, n.attr_flag("layout", false));
  TRY(r.clip, n.attr_real("clip", 0.0));
  if (cell == Cell::gru) {
    TRY(r.reset_after, n.attr_flag("linear_before_reset", false));
  }
  if (cell == Cell::lstm) {
    TRY(r.input_forget, n.attr_flag("input_forget", false));
  }
  TRY(r.activations, read_activations(n, usual_activations(r)));
  n.has_attr("output_sequence");  // opset 1: whether Y is wanted, which the node's outputs tell
  const ValueId x = n.in(0);
  if (quantized) {
    for (size_t k = 8; k < 12; ++k) {
      if (!n.has(k)) return invalid_model("a scale or zero point of the weights is missing");
    }
  }
  if (n.rank(x) != 3 || n.rank(n.in(1)) != 3 || n.rank(n.in(2)) != 3) {
    return invalid_model("expected X, W and R of rank 3, got ", n.rank(x), ", ", n.rank(n.in(1)),
                         " and ", n.rank(n.in(2)));
  }
  for (const size_t k : {1, 2}) {
    if (n.dim(n.in(k), 0).as_int().value_or(r.directions) != r.directions) {
      return invalid_model("expected weights of ", r.directions, " directions");
    }
  }
  r.hidden = n.dim(n.in(2), quantized ? 1 : 2);
  TRY(const int64_t declared, n.attr_int("hidden_size", -1));
  if (declared != -1 && r.hidden.as_int().value_or(declared) != declared) {
    return invalid_model("attribute 'hidden_size': expected ", *r.hidden.as_int(),
                         ", as the weights say, got ", declared);
  }
  r.compute = compute_dtype(n.dtype(x));
  TRY(r.x, n.cast(x, r.compute));
  if (r.batch_first) {
    TRY(r.x, n.transpose(r.x, {1, 0, 2}));
  }
  r.steps = n.dim(r.x, 0);
  r.batch = n.dim(r.x, 1);
  if (n.has(4)) {
    TRY(r.lengths, n.cast(n.in(4), DType::i64));
  }
  return r;
}

// ---- parts of weights ----

/// x [D, size, ..] of one direction: rows [from, from + count) of it.
Result<ValueId> part(OpContext& n, const Recurrent& r, ValueId x, int64_t direction, Expr from,
                     Expr count) {
  TRY(ValueId y, n.cast(x, r.compute));
  TRY(y, n.slice_axis(y, 0, n.integer(direction), n.integer(1)));
  Exprs dims(n.dims(y).begin() + 1, n.dims(y).end());
  TRY(y, n.reshape(y, std::move(dims)));
  return n.slice_axis(y, 0, from, count);
}

/// What something is multiplied by: [K, N] of numbers, or of differences from a zero point with
/// the scale of one.
struct Weights {
  ValueId matrix;
  ValueId scale;  // f32 [] or [N]; or none
};

/// W or R of one direction. Quantised ones lie transposed already, with their scales and zero
/// points from input `factors` on.
Result<Weights> weights_of(OpContext& n, const Recurrent& r, size_t k, size_t factors,
                           int64_t direction) {
  Weights w;
  if (!r.quantized) {
    TRY(const ValueId rows, part(n, r, n.in(k), direction, n.integer(0), r.hidden * r.gates()));
    TRY(w.matrix, n.transpose(rows, {1, 0}));
    return w;
  }
  const auto of_direction = [&](ValueId x) -> Result<ValueId> {
    TRY(const ValueId one, n.slice_axis(x, 0, n.integer(direction), n.integer(1)));
    return n.reshape(one, Exprs(n.dims(one).begin() + 1, n.dims(one).end()));
  };
  TRY(const ValueId whole, of_direction(n.in(k)));
  TRY(w.scale, of_direction(n.in(factors)));
  TRY(const ValueId zero, of_direction(n.in(factors + 1)));
  TRY(w.matrix, n.map(DType::i32, {whole, zero}, [](std::span<const Expr> p) {
    return ingot::cast(p[0], DType::i32) - ingot::cast(p[1], DType::i32);
  }));
  return w;
}

/// x [.., K] times weights; for quantised ones x is quantised, too, by a scale of its own.
Result<ValueId> product_of(Builder& b, ValueId x, const Weights& w) {
  if (!w.scale.valid()) return b.matmul(x, w.matrix);
  TRY(const ValueIds q, b.add_all("dynamic_quantize", {}, {x}));
  TRY(const ValueId steps, b.map(DType::i32, {q[0], q[2]}, [](std::span<const Expr> p) {
    return ingot::cast(p[0], DType::i32) - ingot::cast(p[1], DType::i32);
  }));
  TRY(const ValueId sums, b.matmul(steps, w.matrix));
  return b.map(DType::f32, {sums, q[1], w.scale}, [](std::span<const Expr> p) {
    return ingot::cast(p[0], DType::f32) * (p[1] * p[2]);
  });
}

/// The state before the first step: [B, H].
Result<ValueId> initial(OpContext& n, const Recurrent& r, size_t k, int64_t direction) {
  const Exprs dims = {r.batch, r.hidden};
  if (!n.has(k)) return n.fill(r.compute, 0, dims);
  TRY(ValueId y, n.cast(n.in(k), r.compute));
  TRY(y, n.slice_axis(y, r.batch_first ? 1 : 0, n.integer(direction), n.integer(1)));
  return n.reshape(y, dims);
}

/// One direction: the loop and what it reads.
class Direction {
 public:
  Direction(OpContext& n, const Recurrent& r, int64_t direction)
      : n_(n),
        r_(r),
        direction_(direction),
        body_(std::make_shared<Graph>(n.graph().shared_pool())),
        b_(*body_, n.provenance()) {}

  /// Y [T, B, H], then the last states [B, H].
  Result<ValueIds> run();

 private:
  /// A value of the graph around, as the body sees it.
  ValueId capture(std::string name, ValueId outer) {
    outer_.push_back(outer);
    return body_->add_input(std::move(name), n_.graph().type(outer));
  }

  Result<ValueId> step_of_turn();
  Result<ValueId> input_of_turn(ValueId products);
  Result<ValueId> gate(ValueId all, int64_t which);
  Result<ValueId> peephole(size_t which);
  Result<ValueIds> rnn_cell(ValueId x, ValueId h);
  Result<ValueIds> gru_cell(ValueId x, ValueId h);
  Result<ValueIds> lstm_cell(ValueId x, ValueId h, ValueId c);
  Result<ValueId> keep_beyond_length(ValueId next, ValueId before);
  Result<ValueId> in_time_order(ValueId stacked);

  Expr clipped(Expr e) const {
    if (r_.clip <= 0) return e;
    const Expr limit = e.pool().real(r_.clip, e.dtype());
    return min(max(e, e.pool().real(-r_.clip, e.dtype())), limit);
  }
  Expr activate(size_t k, Expr e) const { return r_.activation(direction_, k)(clipped(e)); }
  Expr gate_rows(int64_t gates) const { return r_.hidden * gates; }
  bool is_reverse() const { return r_.is_reverse(direction_); }

  OpContext& n_;
  const Recurrent& r_;
  int64_t direction_;
  std::shared_ptr<Graph> body_;
  Builder b_;
  ValueId turn_;
  ValueId lengths_;    // inside
  Weights recurrent_;  // inside: R transposed, [H, gates * H]
  ValueIds outer_;     // operands of the loop
};

/// Row of the products that this turn reads, of T * B; [B] or a scalar.
Result<ValueId> Direction::step_of_turn() {
  if (!is_reverse()) return turn_;
  if (!lengths_.valid()) {
    return b_.map1(turn_, [&](Expr t) { return r_.steps - 1 - t; });
  }
  // Beyond its length a sequence reads what nobody looks at.
  return b_.map2(lengths_, turn_,
                 [&](Expr length, Expr t) { return max(length - 1 - t, b_.integer(0)); });
}

/// The rows of this turn of products [T, B, gates * H].
Result<ValueId> Direction::input_of_turn(ValueId products) {
  TRY(const ValueId step, step_of_turn());
  if (b_.rank(step) == 0) return b_.gather(products, step, 0);
  const Expr width = b_.dim(products, 2);
  TRY(const ValueId rows, b_.reshape(products, {r_.steps * r_.batch, width}));
  TRY(const ValueId i, b_.iota({r_.batch}, 0));
  TRY(const ValueId row, b_.map2(step, i, [&](Expr s, Expr k) { return s * r_.batch + k; }));
  return b_.gather(rows, row, 0);
}

Result<ValueId> Direction::gate(ValueId all, int64_t which) {
  return b_.slice_axis(all, 1, r_.hidden * which, r_.hidden);
}

/// Weights [H] of the LSTM's peephole to the input (0), output (1) or forget gate (2); or none.
Result<ValueId> Direction::peephole(size_t which) {
  if (!n_.has(7)) return ValueId();
  TRY(const ValueId p,
      part(n_, r_, n_.in(7), direction_, r_.hidden * static_cast<int64_t>(which), r_.hidden));
  return capture("peephole", p);
}

Result<ValueIds> Direction::rnn_cell(ValueId x, ValueId h) {
  TRY(const ValueId product, product_of(b_, h, recurrent_));
  TRY(const ValueId next, b_.map2(x, product, [&](Expr a, Expr p) { return activate(0, a + p); }));
  return ValueIds{next};
}

/// Source: ONNX GRU-22. Gates z, r, h.
Result<ValueIds> Direction::gru_cell(ValueId x, ValueId h) {
  const auto sum = [&](Expr a, Expr p) { return activate(0, a + p); };
  ValueIds xs;
  for (const int64_t k : {0, 1, 2}) {
    TRY(const ValueId part_of_x, gate(x, k));
    xs.push_back(part_of_x);
  }
  ValueId z, reset, candidate;
  if (r_.reset_after) {
    // All three products at once; the bias of the candidate is reset, too.
    TRY(ValueId product, product_of(b_, h, recurrent_));
    if (n_.has(3)) {
      TRY(const ValueId bias, part(n_, r_, n_.in(3), direction_, gate_rows(5), r_.hidden));
      const ValueId inner = capture("bias", bias);
      TRY(const ValueId last, gate(product, 2));
      TRY(candidate, b_.map2(last, inner, [](Expr p, Expr q) { return p + q; }));
    } else {
      TRY(candidate, gate(product, 2));
    }
    TRY(const ValueId update, gate(product, 0));
    TRY(const ValueId forget, gate(product, 1));
    TRY(z, b_.map2(xs[0], update, sum));
    TRY(reset, b_.map2(xs[1], forget, sum));
    TRY(candidate, b_.map2(candidate, reset, [](Expr p, Expr q) { return p * q; }));
  } else {
    TRY(const ValueId both, b_.slice_axis(recurrent_.matrix, 1, b_.integer(0), gate_rows(2)));
    TRY(const ValueId product, b_.matmul(h, both));
    TRY(const ValueId update, gate(product, 0));
    TRY(const ValueId forget, gate(product, 1));
    TRY(z, b_.map2(xs[0], update, sum));
    TRY(reset, b_.map2(xs[1], forget, sum));
    TRY(const ValueId kept, b_.map2(h, reset, [](Expr p, Expr q) { return p * q; }));
    TRY(const ValueId last, b_.slice_axis(recurrent_.matrix, 1, gate_rows(2), r_.hidden));
    TRY(candidate, b_.matmul(kept, last));
  }
  TRY(const ValueId next,
      b_.map(r_.compute, {xs[2], candidate, z, h}, [&](std::span<const Expr> p) {
        const Expr one = p[2].pool().real(1, p[2].dtype());
        return (one - p[2]) * activate(1, p[0] + p[1]) + p[2] * p[3];
      }));
  return ValueIds{next};
}

/// Source: ONNX LSTM-22. Gates i, o, f, c.
Result<ValueIds> Direction::lstm_cell(ValueId x, ValueId h, ValueId c) {
  TRY(const ValueId product, product_of(b_, h, recurrent_));
  TRY(const ValueId sum, b_.map2(x, product, [](Expr a, Expr p) { return a + p; }));
  ValueIds gates;
  for (const int64_t k : {0, 1, 2, 3}) {
    TRY(const ValueId one, gate(sum, k));
    gates.push_back(one);
  }
  TRY(const ValueId to_input, peephole(0));
  TRY(const ValueId to_output, peephole(1));
  TRY(const ValueId to_forget, peephole(2));
  ValueIds xs = {gates[0], gates[2], gates[3], c};
  if (to_input.valid()) xs.insert(xs.end(), {to_input, to_forget});
  TRY(const ValueId next_c, b_.map(r_.compute, xs, [&](std::span<const Expr> p) {
    const bool peeps = p.size() > 4;
    const Expr input = activate(0, peeps ? p[0] + p[4] * p[3] : p[0]);
    const Expr forget = r_.input_forget ? input.pool().real(1, input.dtype()) - input
                                        : activate(0, peeps ? p[1] + p[5] * p[3] : p[1]);
    return forget * p[3] + input * activate(1, p[2]);
  }));
  ValueIds ys = {gates[1], next_c};
  if (to_output.valid()) ys.push_back(to_output);
  TRY(const ValueId next_h, b_.map(r_.compute, ys, [&](std::span<const Expr> p) {
    const Expr output = activate(0, p.size() > 2 ? p[0] + p[2] * p[1] : p[0]);
    return output * activate(2, p[1]);
  }));
  return ValueIds{next_h, next_c};
}

/// A sequence that has ended keeps its state.
Result<ValueId> Direction::keep_beyond_length(ValueId next, ValueId before) {
  TRY(const ValueId column, b_.reshape(lengths_, {r_.batch, b_.integer(1)}));
  return b_.map(r_.compute, {next, before, column, turn_},
                [](std::span<const Expr> p) { return select(less(p[3], p[2]), p[0], p[1]); });
}

/// The states of all turns [T, B, H] in the order of time, 0 beyond the lengths.
Result<ValueId> Direction::in_time_order(ValueId stacked) {
  if (!r_.lengths.valid()) {
    if (!is_reverse()) return stacked;
    return n_.slice_axis(stacked, 0, r_.steps - 1, r_.steps, -1);
  }
  TRY(const ValueId t, n_.iota({r_.steps, n_.integer(1)}, 0));
  ValueId ordered = stacked;
  if (is_reverse()) {
    TRY(const ValueId i, n_.iota({r_.batch}, 0));
    TRY(const ValueId row, n_.map(DType::i64, {t, r_.lengths, i}, [&](std::span<const Expr> p) {
      return max(p[1] - 1 - p[0], n_.integer(0)) * r_.batch + p[2];
    }));
    TRY(const ValueId rows, n_.reshape(stacked, {r_.steps * r_.batch, r_.hidden}));
    TRY(ordered, n_.gather(rows, row, 0));
  }
  TRY(const ValueId held,
      n_.map2(t, r_.lengths, [](Expr step, Expr length) { return length - step; }));
  TRY(const ValueId column, n_.reshape(held, {r_.steps, r_.batch, n_.integer(1)}));
  return n_.map(r_.compute, {ordered, column}, [&](std::span<const Expr> p) {
    return select(less(n_.integer(0), p[1]), p[0], n_.number(r_.compute, 0));
  });
}

Result<ValueIds> Direction::run() {
  const Expr width = gate_rows(r_.gates());
  const Expr zero = n_.integer(0);
  // X times W, with the biases of both products where they only add up.
  TRY(const Weights w, weights_of(n_, r_, 1, 8, direction_));
  TRY(ValueId products, product_of(n_, r_.x, w));
  if (n_.has(3)) {
    TRY(const ValueId of_x, part(n_, r_, n_.in(3), direction_, zero, width));
    TRY(ValueId of_h, part(n_, r_, n_.in(3), direction_, width, width));
    if (r_.cell == Cell::gru && r_.reset_after) {
      TRY(of_h, n_.slice_axis(of_h, 0, zero, gate_rows(2)));
      TRY(const ValueId none, n_.fill(r_.compute, 0, {r_.hidden}));
      TRY(of_h, n_.concat({of_h, none}, 0));
    }
    TRY(products, n_.map(r_.compute, {products, of_x, of_h},
                         [](std::span<const Expr> p) { return p[0] + (p[1] + p[2]); }));
  }
  TRY(const Weights recurrent, weights_of(n_, r_, 2, 10, direction_));
  ValueIds states;
  for (const size_t k : {5, 6}) {
    if (k == 6 && r_.cell != Cell::lstm) continue;
    TRY(const ValueId state, initial(n_, r_, k, direction_));
    states.push_back(state);
  }

  TRY(const ValueId trips, n_.scalar_of(r_.steps, DType::i64));
  TRY(const ValueId yes, n_.scalar(DType::b8, 1));
  turn_ = capture("turn", trips);
  const ValueId condition = capture("condition", yes);
  ValueIds before;
  for (const ValueId state : states) before.push_back(capture("state", state));
  recurrent_.matrix = capture("weights", recurrent.matrix);
  if (recurrent.scale.valid()) recurrent_.scale = capture("scale", recurrent.scale);
  if (r_.lengths.valid()) lengths_ = capture("lengths", r_.lengths);
  TRY(const ValueId x, input_of_turn(capture("products", products)));
  TRY(ValueIds after, r_.cell == Cell::lstm  ? lstm_cell(x, before[0], before[1])
                      : r_.cell == Cell::gru ? gru_cell(x, before[0])
                                             : rnn_cell(x, before[0]));
  if (r_.lengths.valid()) {
    for (size_t k = 0; k < after.size(); ++k) {
      TRY(after[k], keep_beyond_length(after[k], before[k]));
    }
  }
  std::vector<GraphOutput> outputs = {{"condition", condition}};
  for (const ValueId state : after) outputs.push_back({"state", state});
  const bool wants_all = n_.wants(0);
  if (wants_all) outputs.push_back({"y", after[0]});
  body_->set_outputs(std::move(outputs));

  ops::Loop loop;
  loop.body = body_;
  loop.carried = static_cast<int64_t>(after.size());
  loop.trip_count = {r_.steps};
  TRY(ValueIds results,
      n_.graph().add(make_op(std::move(loop)), std::move(outer_), {n_.provenance()}));
  ValueId all;
  if (wants_all) {
    TRY(all, in_time_order(results.back()));
    results.pop_back();
  }
  results.insert(results.begin(), all);
  return results;
}

/// The directions' parts side by side along a new axis, in the model's type.
Result<ValueId> joined(OpContext& n, const ValueIds& parts, int64_t axis) {
  ValueIds columns;
  for (const ValueId one : parts) {
    Exprs dims = n.dims(one);
    dims.insert(dims.begin() + axis, n.integer(1));
    TRY(const ValueId column, n.reshape(one, std::move(dims)));
    columns.push_back(column);
  }
  TRY(const ValueId y, n.concat(std::move(columns), axis));
  return n.cast(y, n.dtype(n.in(0)));
}

Result<ValueIds> recurrent(OpContext& n, Cell cell, bool quantized = false) {
  TRY(const Recurrent r, read_recurrent(n, cell, quantized));
  std::vector<ValueIds> parts(cell == Cell::lstm ? 3 : 2);
  for (int64_t d = 0; d < r.directions; ++d) {
    TRY(const ValueIds results, Direction(n, r, d).run());
    for (size_t k = 0; k < parts.size(); ++k) parts[k].push_back(results[k]);
  }
  ValueIds outputs;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (!parts[k][0].valid()) {  // Y, which nobody asked for: its place is kept
      TRY(const ValueId none, n.fill(n.dtype(n.in(0)), 0, {n.integer(0)}));
      outputs.push_back(none);
      continue;
    }
    // Y [T, D, B, H] or [B, T, D, H]; states [D, B, H] or [B, D, H].
    TRY(ValueId y, joined(n, parts[k], k == 0 ? 1 : 0));
    if (r.batch_first) {
      TRY(y, n.transpose(
                 y, k == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2}));
    }
    outputs.push_back(y);
  }
  return outputs;
}

Result<ValueIds> rnn(OpContext& n) {
  return recurrent(n, Cell::rnn);
}
Result<ValueIds> gru(OpContext& n) {
  return recurrent(n, Cell::gru);
}
Result<ValueIds> lstm(OpContext& n) {
  return recurrent(n, Cell::lstm);
}

/// Source: onnxruntime's ContribOperators.md. The products are of integers.
Result<ValueIds> dynamic_quantize_lstm(OpContext& n) {
  return recurrent(n, Cell::lstm, true);
}

constexpr OpRow kRows[] = {
    {"GRU", 1, 3, 6, gru},
    {"LSTM", 1, 3, 8, lstm},
    {"RNN", 1, 3, 6, rnn},
    {"com.microsoft.DynamicQuantizeLSTM", 1, 3, 12, dynamic_quantize_lstm},
};

}  // namespace

std::span<const OpRow> recurrent_rows() {
  return kRows;
}

}  // namespace ingot::onnx
