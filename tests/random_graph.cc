// tests/random_graph.cc: random graphs of core operators.
#include "tests/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel/stmt.h"
#include "ops/broadcast_to.h"
#include "ops/concat.h"
#include "ops/conv.h"
#include "ops/gather.h"
#include "ops/indexing.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/reshape.h"
#include "ops/shape_of.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/transpose.h"

namespace ingot {
namespace {

using namespace ops;

constexpr double kMaxElements = 600;  // of one value, with symbols at their largest
constexpr double kMaxMagnitude = 1e12;
constexpr int64_t kRowsOfProduct = 9;  // fewer are not worth packing the right matrix for
constexpr int64_t kChannels = 64;      // that make a picture of unknown sides a large one

bool has_symbolic_attributes(const OpRef& op) {
  bool found = false;
  for (size_t k = 0; k < op.def().fields.size(); ++k) {
    const Attribute attribute = op.attribute(k);
    Exprs exprs;
    if (const auto* expr = std::get_if<Expr>(&attribute)) exprs = {*expr};
    if (const auto* several = std::get_if<Exprs>(&attribute)) exprs = *several;
    if (std::holds_alternative<GraphRef>(attribute)) return true;
    for (const Expr root : exprs) {
      if (!root) continue;
      for_each(root, [&](Expr e) { found = found || e.kind() == ExprKind::symbol; });
    }
  }
  return found;
}

/// Values of the symbols for which the graph's assumptions hold.
std::vector<int64_t> random_symbols(const Graph& g, Random& rng) {
  std::vector<int64_t> symbols(g.pool().symbol_count());
  for (int attempt = 0; attempt < 10000; ++attempt) {
    for (size_t k = 0; k < symbols.size(); ++k) {
      const Symbol& symbol = std::as_const(g.pool()).symbol_info(SymbolId(k));
      const int64_t hi = std::min<int64_t>(symbol.range.hi, symbol.range.lo + 8);
      symbols[k] = rng.range(symbol.range.lo, hi) / symbol.divisor * symbol.divisor;
    }
    const bool holds = std::ranges::all_of(g.assumptions(), [&](const Assumption& assumption) {
      return evaluate_dim(assumption.a, symbols) == evaluate_dim(assumption.b, symbols);
    });
    if (holds) return symbols;
  }
  CHECK(false, "random_graph: no symbols satisfy the assumptions of\n", to_text(g));
  return symbols;
}

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : options_(options), rng_(seed), g_(result_.graph), pool_(g_.pool()) {}

  RandomGraph run() {
    g_.name = "random";
    if (options_.symbolic_dims) {
      declare("n", 6);
      declare("m", 4);
    }
    const int64_t inputs = rng_.range(1, 2);
    for (int64_t k = 0; k < inputs; ++k) add_input();
    for (int k = 0; k < options_.steps; ++k) step();
    std::vector<GraphOutput> outputs;
    for (const ValueId value : values_) {
      if (g_.value(value).uses.empty() || rng_.chance(0.15)) {
        outputs.push_back({concat("y", outputs.size()), value});
      }
    }
    g_.set_outputs(std::move(outputs));
    g_.compact();
    return std::move(result_);
  }

 private:
  void declare(std::string_view name, int64_t most) {
    pool_.symbol_info(pool_.symbol(name).symbol()).range = {1, most};
  }
  Expr integer(int64_t value) { return pool_.integer(value); }
  Expr p(uint32_t k) { return pool_.param(k, DType::f32); }
  Expr real(double value) { return pool_.real(value); }
  const Exprs& dims(ValueId v) const { return g_.tensor(v).dims; }
  int64_t rank(ValueId v) const { return g_.tensor(v).rank(); }
  ValueId pick() { return rng_.pick(values_); }

  double largest(std::span<const Expr> of) const {
    double count = 1;
    for (const Expr dim : of) count *= static_cast<double>(range_of(dim).hi);
    return count;
  }

  /// Keeps a value for later steps if it is an f32 of moderate size.
  void keep(ValueId value) {
    if (g_.tensor(value).dtype == DType::f32 && largest(dims(value)) <= kMaxElements) {
      values_.push_back(value);
    }
  }
  template <class Op>
  std::optional<ValueId> add(Op op, std::vector<ValueId> inputs) {
    auto outputs =
        g_.add(make_op(std::move(op)), std::move(inputs), {concat("node", g_.node_count())});
    return outputs ? std::optional((*outputs)[0]) : std::nullopt;
  }
  void try_keep(std::optional<ValueId> value) {
    if (value) keep(*value);
  }

  void add_input() {
    TensorType type;
    const int64_t rank = rng_.range(1, 4);
    for (int64_t a = 0; a < rank; ++a) {
      const bool symbolic = options_.symbolic_dims && a != 1 && rng_.chance(0.3);
      type.dims.push_back(symbolic ? pool_.symbol(rng_.chance(0.7) ? "n" : "m")
                                   : integer(rng_.range(1, 5)));
    }
    values_.push_back(g_.add_input(concat("x", g_.inputs().size()), type));
  }

  ValueId constant(std::vector<int64_t> of, double lo = -1, double hi = 1) {
    Tensor tensor(DType::f32, std::move(of));
    const bool uniform = rng_.chance(0.2);
    const double one = std::round(rng_.real(lo, hi) * 4) / 4;
    for (int64_t k = 0; k < tensor.size(); ++k) {
      tensor.set_real(k, uniform ? one : std::round(rng_.real(lo, hi) * 64) / 64);
    }
    return g_.add_constant(to_constant(tensor), concat("w", g_.node_count()));
  }
  ValueId indices(std::vector<int64_t> values) {
    return g_.add_constant(to_constant(Tensor::of_ints(std::move(values))));
  }

  void step() {
    switch (rng_.range(0, 21)) {
      case 0:
      case 1:
        return unary();
      case 2:
      case 3:
        return binary();
      case 4:
        return per_channel();
      case 5:
        return transpose();
      case 6:
        return reshape();
      case 7:
        return reduce();
      case 8:
        return softmax();
      case 9:
        return concatenate();
      case 10:
        return slice();
      case 11:
        return pad();
      case 12:
        return matmul();
      case 13:
      case 14:
        return channels_last_block();
      case 15:
        return gather();
      case 16:
        return constant_chain();
      case 17:
        return shape_arithmetic();
      case 18:
        return redundant();
      case 19:
        return attention();
      case 20:
        return product_before_conv();
      default:
        return options_.samples && !options_.only_f32 ? sample() : repeat();
    }
  }

  void unary() {
    const ValueId x = pick();
    Expr value;
    switch (rng_.range(0, 6)) {
      case 0:
        value = max(p(0), real(0));
        break;
      case 1:
        value = tanh(p(0));
        break;
      case 2:
        value = unary_of(ExprKind::sigmoid);
        break;
      case 3:
        value = p(0) * real(0.5) + real(1);
        break;
      case 4:
        value = exp(min(p(0), real(2)));
        break;
      case 5:
        value = unary_of(ExprKind::abs);
        break;
      default:
        value = select(less(p(0), real(0.25)), p(0) * real(0.1), p(0));
        break;
    }
    try_keep(add(Pointwise{value, DType::f32}, {x}));
  }
  Expr unary_of(ExprKind kind) { return ingot::unary(kind, p(0)); }

  void binary() {
    const ValueId x = pick();
    const ValueId y = pick();
    const std::vector<Exprs> shapes = {dims(x), dims(y)};
    std::vector<std::pair<Expr, Expr>> assumed;
    const auto joined = broadcast(shapes, &assumed);
    if (!joined || !assumed.empty() || largest(*joined) > kMaxElements) return unary();
    const Expr value = rng_.chance(0.6)   ? p(0) + p(1)
                       : rng_.chance(0.5) ? p(0) * p(1) - real(0.25)
                                          : min(p(0), p(1)) + p(0);
    try_keep(add(Pointwise{value, DType::f32}, {x, y}));
  }

  /// x s + b with s and b along one axis, as a normalisation at inference time.
  void per_channel() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    const int64_t axis = rng_.range(0, rank(x) - 1);
    const auto channels = dims(x)[static_cast<size_t>(axis)].as_int();
    if (!channels) return unary();
    std::vector<int64_t> of = {*channels};
    of.resize(static_cast<size_t>(rank(x) - axis), 1);
    try_keep(add(Pointwise{p(0) * p(1) + p(2), DType::f32}, {x, constant(of), constant(of)}));
  }

  std::vector<int64_t> random_order(int64_t rank) {
    std::vector<int64_t> order(static_cast<size_t>(rank));
    for (size_t a = 0; a < order.size(); ++a) order[a] = static_cast<int64_t>(a);
    for (size_t a = order.size(); a > 1; --a) {
      std::swap(order[a - 1],
                order[static_cast<size_t>(rng_.range(0, static_cast<int64_t>(a) - 1))]);
    }
    return order;
  }
  void transpose() {
    const ValueId x = pick();
    try_keep(add(Transpose{random_order(rank(x))}, {x}));
  }

  void reshape() {
    const ValueId x = pick();
    Exprs to = dims(x);
    const size_t at = to.empty() ? 0 : static_cast<size_t>(rng_.range(0, rank(x) - 1));
    if (to.size() >= 2 && at + 1 < to.size() && rng_.chance(0.6)) {
      to[at] = to[at] * to[at + 1];
      to.erase(to.begin() + static_cast<ptrdiff_t>(at) + 1);
    } else if (!to.empty() && to[at].as_int().value_or(1) == 4) {
      to[at] = integer(2);
      to.insert(to.begin() + static_cast<ptrdiff_t>(at), integer(2));
    } else if (to.size() < 5) {
      to.insert(to.begin() + static_cast<ptrdiff_t>(at), integer(1));
    }
    try_keep(add(Reshape{to}, {x}));
  }

  void reduce() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    Reduce op;
    op.kind = rng_.chance(0.5)   ? ReduceKind::sum
              : rng_.chance(0.5) ? ReduceKind::max
                                 : ReduceKind::min;
    op.keepdims = rng_.chance(0.5);
    for (int64_t a = 0; a < rank(x); ++a) {
      if (rng_.chance(0.4)) op.axes.push_back(rng_.chance(0.3) ? a - rank(x) : a);
    }
    try_keep(add(std::move(op), {x}));
  }

  void softmax() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    if (rng_.chance(0.3)) return try_keep(add(LayerNorm{rng_.range(0, rank(x) - 1), 1e-3}, {x}));
    try_keep(add(Softmax{rng_.range(-rank(x), rank(x) - 1), rng_.chance(0.3)}, {x}));
  }

  void concatenate() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    std::vector<ValueId> parts = {x};
    for (const ValueId other : values_) {
      if (parts.size() < 3 && dims(other) == dims(x) && rng_.chance(0.7)) parts.push_back(other);
    }
    const int64_t axis = rng_.range(-rank(x), rank(x) - 1);
    const auto whole = add(Concat{axis}, parts);
    try_keep(whole);
    if (!rng_.chance(0.5)) return;
    // One part is taken out again, perhaps backwards.
    const size_t a = front_axis(axis, dims(x).size());
    const Expr size = dims(x)[a];
    const Expr start = size * rng_.range(0, static_cast<int64_t>(parts.size()) - 1);
    const bool backwards = rng_.chance(0.3);
    Slice op{Exprs(dims(x).size(), integer(0)), dims(x), std::vector<int64_t>(dims(x).size(), 1)};
    op.starts[a] = backwards ? start + (size - 1) : start;
    op.steps[a] = backwards ? -1 : 1;
    try_keep(add(std::move(op), {*whole}));
  }

  void slice() {
    const ValueId x = pick();
    Slice op;
    for (const Expr dim : dims(x)) {
      const auto size = dim.as_int();
      if (!size || *size < 2 || rng_.chance(0.5)) {
        op.starts.push_back(integer(0));
        op.sizes.push_back(dim);
        op.steps.push_back(1);
        continue;
      }
      const int64_t start = rng_.range(0, *size - 1);
      const int64_t step = rng_.chance(0.3) ? -1 : rng_.chance(0.3) ? 2 : 1;
      const int64_t most = step < 0 ? start + 1 : (*size - start + step - 1) / step;
      op.starts.push_back(integer(start));
      op.sizes.push_back(integer(rng_.range(1, most)));
      op.steps.push_back(step);
    }
    try_keep(add(std::move(op), {x}));
  }

  void pad() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    Pad op;
    op.mode = rng_.chance(0.6) ? "constant" : rng_.chance(0.5) ? "edge" : "reflect";
    for (int64_t a = 0; a < rank(x); ++a) {
      op.begin.push_back(integer(rng_.chance(0.3) ? 1 : 0));
      op.end.push_back(integer(rng_.chance(0.3) ? 1 : 0));
    }
    try_keep(add(std::move(op), {x}));
  }

  void matmul() {
    ValueId x = pick();
    if (rank(x) < 2) return unary();
    if (rng_.chance(0.3) && rank(x) > 2) {  // a classifier's flattening
      Exprs to = {dims(x)[0], integer(1)};
      for (int64_t a = 1; a < rank(x); ++a) to[1] = to[1] * dims(x)[static_cast<size_t>(a)];
      const auto flat = add(Reshape{to}, {x});
      if (!flat) return;
      x = *flat;
    }
    const auto depth = dims(x).back().as_int();
    if (!depth) {
      std::vector<int64_t> order(static_cast<size_t>(rank(x)));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      const auto turned = add(Transpose{order}, {x});
      return turned ? try_keep(add(MatMul{}, {x, *turned})) : void();
    }
    const auto product = add(MatMul{}, {x, constant({*depth, rng_.range(1, 20)})});
    if (!product) return;
    keep(*product);
    if (rng_.chance(0.5)) try_keep(add(Pointwise{p(0) * real(0.25), DType::f32}, {*product}));
  }

  /// Rows made of a product of computed matrices, and multiplied again.
  void attention() {
    const ValueId x = pick();
    if (rank(x) < 2 || range_of(dims(x)[dims(x).size() - 2]).hi < 1) return unary();
    const ValueId q = repeated(x, kRowsOfProduct), k = repeated(q, rng_.range(1, 40));
    std::vector<int64_t> order(static_cast<size_t>(rank(x)));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    ValueId rows = must(MatMul{}, {q, must(Transpose{order}, {k})});
    for (int64_t steps = rng_.range(1, 3); steps > 0; --steps) rows = made_of_rows(rows, q);
    const ValueId v = rng_.chance(0.5) ? k : must(Pointwise{p(0) * real(0.5), DType::f32}, {k});
    const ValueId y = must(MatMul{}, {rows, v});
    keep(rng_.chance(0.5) ? y : must(Pointwise{max(p(0), p(1)), DType::f32}, {y, q}));
  }
  template <class Op>
  ValueId must(Op op, std::vector<ValueId> inputs) {
    return g_.must_add(std::move(op), std::move(inputs), {concat("node", g_.node_count())});
  }

  /// x several times below itself, so that it has `rows` rows or more.
  ValueId repeated(ValueId x, int64_t rows) {
    const size_t axis = dims(x).size() - 2;
    const int64_t most = range_of(dims(x)[axis]).hi;
    if (most >= rows) return x;
    const Expr times = integer((rows + most - 1) / most);
    Exprs one = dims(x), all = dims(x), joined = dims(x);
    one.insert(one.begin() + static_cast<ptrdiff_t>(axis), integer(1));
    all.insert(all.begin() + static_cast<ptrdiff_t>(axis), times);
    joined[axis] = times * joined[axis];
    return must(Reshape{joined}, {must(BroadcastTo{all}, {must(Reshape{one}, {x})})});
  }

  /// What attention and the like make of scores. Most of it keeps to a row; not all.
  ValueId made_of_rows(ValueId x, ValueId q) {
    const int64_t axis = rng_.chance(0.8) ? -1 : -2;
    const auto reduced = [&](ValueId of, ReduceKind kind) {
      return must(Reduce{kind, {axis}, true}, {of});
    };
    switch (rng_.range(0, 7)) {
      case 0:
      case 1:
        return must(Softmax{axis, rng_.chance(0.2)}, {x});
      case 2: {
        const ValueId e = must(Pointwise{exp(min(p(0) - p(1), real(2))), DType::f32},
                               {x, reduced(x, ReduceKind::max)});
        return must(Pointwise{p(0) / p(1), DType::f32}, {e, reduced(e, ReduceKind::sum)});
      }
      case 3:
        return must(Pointwise{p(0) * real(0.25), DType::f32}, {x});
      case 4:  // a mask or bias by row
        return must(Pointwise{select(less(p(1), real(0)), p(0), p(1)), DType::f32},
                    {x, must(Reduce{ReduceKind::max, {-1}, true}, {q})});
      case 5:
        return must(Pointwise{max(p(0), real(0)), DType::f32}, {x});
      case 6: {
        const ValueId norm = must(LayerNorm{rank(x) - 1, 1e-3}, {x});
        return rng_.chance(0.5) ? norm : must(Pointwise{p(0) - p(1), DType::f32}, {norm, x});
      }
      default: {
        const ValueId sum = reduced(x, ReduceKind::sum);
        return must(Pointwise{p(0) / (p(1) * p(1) + real(1)), DType::f32}, {x, sum});
      }
    }
  }

  /// A convolution of what a product makes, large enough for it to be made a few rows at a time.
  void product_before_conv() {
    if (!options_.symbolic_dims) return unary();
    const int64_t terms = rng_.range(1, 9);
    const Exprs picture = {integer(rng_.range(1, 2)), pool_.symbol("n"), pool_.symbol("m")};
    TensorType type{DType::f32, picture};
    type.dims.push_back(integer(terms));
    const ValueId x = g_.add_input(concat("x", g_.inputs().size()), type);
    const ValueId product = must(MatMul{}, {x, constant({terms, kChannels})});
    const ValueId y = must(Pointwise{max(p(0), real(0)), DType::f32}, {product});
    if (rng_.chance(0.2)) keep(must(Reduce{ReduceKind::max, {-1}, false}, {y}));
    Conv op;
    op.dilations = {1, 1};
    const bool depthwise = rng_.chance(0.5);
    const int64_t filters = depthwise ? kChannels : rng_.range(1, 6);
    std::vector<int64_t> weights = {0, 0, depthwise ? 1 : kChannels, filters};
    if (depthwise) op.groups = kChannels;
    for (size_t a = 0; a < 2; ++a) {
      weights[a] = rng_.range(1, 3);
      op.strides.push_back(rng_.range(1, 2));
      // No window is larger than a picture of one pixel with its borders.
      op.pads_begin.push_back(rng_.range(0, weights[a]));
      op.pads_end.push_back(std::max(weights[a] - 1 - op.pads_begin[a], rng_.range(0, 1)));
    }
    const ValueId conv = must(std::move(op), {y, constant(weights)});
    keep(depthwise ? must(Reduce{ReduceKind::sum, {-1}, true}, {conv}) : conv);
  }

  /// A convolution or pool on [N, C, spatial..] as a reader puts it: between two transposes.
  void channels_last_block() {
    const ValueId x = pick();
    const int64_t r = rank(x);
    if (r < 3) return unary();
    const auto channels = dims(x)[1].as_int();
    if (!channels) return unary();
    std::vector<int64_t> to_last = {0};
    std::vector<int64_t> to_first = {0, r - 1};
    for (int64_t a = 2; a < r; ++a) {
      to_last.push_back(a);
      to_first.push_back(a - 1);
    }
    to_last.push_back(1);
    const auto last = add(Transpose{to_last}, {x});
    const auto spatial = static_cast<size_t>(r - 2);
    const std::vector<int64_t> ones(spatial, 1);
    const int64_t kernel = rng_.range(1, 3);
    const std::vector<int64_t> pads(spatial, kernel / 2);
    std::optional<ValueId> y;
    int64_t out_channels = *channels;
    if (rng_.chance(0.3)) {
      Pool op;
      op.kind = rng_.chance(0.5) ? "max" : "average";
      op.kernel.assign(spatial, kernel);
      op.strides = op.dilations = ones;
      op.pads_begin = op.pads_end = pads;
      y = add(std::move(op), {*last});
    } else {
      out_channels = rng_.range(1, 6);
      // Weights [OC, C, k..] as models hold them.
      std::vector<int64_t> weight_dims = {out_channels, *channels};
      weight_dims.insert(weight_dims.end(), spatial, kernel);
      std::vector<int64_t> order;
      for (int64_t a = 2; a < r; ++a) order.push_back(a);
      order.push_back(1);
      order.push_back(0);
      const auto weights = add(Transpose{order}, {constant(weight_dims)});
      Conv op;
      op.strides = op.dilations = ones;
      op.pads_begin = op.pads_end = pads;
      std::vector<ValueId> inputs = {*last, *weights};
      if (rng_.chance(0.5)) inputs.push_back(constant({out_channels}));
      y = add(std::move(op), std::move(inputs));
    }
    if (!y) return;
    const auto first = add(Transpose{to_first}, {*y});
    keep(*first);
    if (!rng_.chance(0.6)) return;
    std::vector<int64_t> of = {out_channels};
    of.resize(spatial + 1, 1);
    const auto normal = add(Pointwise{(p(0) - p(1)) * p(2) / real(1.5) + p(3), DType::f32},
                            {*first, constant(of), constant(of), constant(of)});
    keep(*normal);
    try_keep(add(Pointwise{max(p(0), real(0)), DType::f32}, {*normal}));
  }

  void gather() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    const int64_t axis = rng_.range(0, rank(x) - 1);
    const int64_t most = dims(x)[static_cast<size_t>(axis)].as_int().value_or(1);
    if (most < 1) return unary();
    std::vector<int64_t> chosen;
    for (int64_t k = rng_.range(1, 3); k > 0; --k) chosen.push_back(rng_.range(-most, most - 1));
    const ValueId index = chosen.size() == 1 && rng_.chance(0.7)
                              ? g_.add_constant(to_constant(
                                    Tensor::scalar(DType::i64, static_cast<double>(chosen[0]))))
                              : indices(chosen);
    try_keep(add(Gather{axis}, {x, index}));
  }

  void constant_chain() {
    const ValueId x = pick();
    const int64_t last = rank(x) > 0 ? dims(x).back().as_int().value_or(1) : 1;
    const auto a = add(Pointwise{p(0) * real(2), DType::f32}, {constant({last})});
    const auto b = add(Pointwise{p(0) + p(1), DType::f32}, {*a, constant({last})});
    try_keep(add(Pointwise{p(0) - p(1), DType::f32}, {x, *b}));
  }

  /// A dim times two, as a number to multiply by.
  void shape_arithmetic() {
    const ValueId x = pick();
    if (rank(x) == 0) return unary();
    const auto shape = add(ShapeOf{}, {x});
    const auto dim = add(
        Gather{0}, {*shape, g_.add_constant(to_constant(Tensor::scalar(
                                DType::i64, static_cast<double>(rng_.range(0, rank(x) - 1)))))});
    const Expr twice = pool_.param(0, DType::i64) * pool_.integer(2);
    const auto doubled = add(Pointwise{twice, DType::i64}, {*dim});
    const Expr as_real = cast(pool_.param(0, DType::i64), DType::f32) * real(0.125);
    const auto factor = add(Pointwise{as_real, DType::f32}, {*doubled});
    try_keep(add(Pointwise{p(0) * p(1), DType::f32}, {x, *factor}));
  }

  /// Things that do nothing.
  void redundant() {
    const ValueId x = pick();
    const auto same = add(Reshape{dims(x)}, {x});
    const auto spread = add(BroadcastTo{dims(*same)}, {*same});
    const auto cast_to_itself = add(Pointwise{p(0), DType::f32}, {*spread});
    try_keep(
        add(Pointwise{p(0) * p(1) + real(0), DType::f32}, {*cast_to_itself, constant({}, 1, 1)}));
  }

  /// A node that is there already.
  void repeat() {
    const NodeId producer = g_.value(pick()).producer;
    if (!producer.valid()) return unary();
    const Node& node = g_.node(producer);
    auto outputs = g_.add(node.op, node.inputs, {"twin"});
    if (outputs) keep((*outputs)[0]);
  }

  void sample() {
    const OpDef& def = *rng_.pick(all_ops());
    if (def.name == Constant::kName || def.name == Unimplemented::kName) return;
    const OpDef::AnySample drawn = def.sample(rng_, pool_);
    if (has_symbolic_attributes(drawn.op)) return;  // which may ask for relations between symbols
    std::vector<ValueId> inputs;
    for (size_t k = 0; k < drawn.inputs.size(); ++k) {
      const Type& type = drawn.inputs[k];
      if (type.is_nothing()) {
        inputs.emplace_back();
        continue;
      }
      if (!type.is_tensor()) return;
      for (const Expr dim : type.tensor.dims) {
        if (range_of(dim).hi > 64) return;
      }
      const size_t number = g_.inputs().size();
      inputs.push_back(g_.add_input(concat("s", number), type));
      const auto range = drawn.value_ranges.find(k);
      if (range != drawn.value_ranges.end()) result_.ranges[number] = range->second;
    }
    auto outputs = g_.add(drawn.op, std::move(inputs), {concat("sample", g_.node_count())});
    if (!outputs) return;
    for (const ValueId output : *outputs) {
      if (g_.type(output).is_tensor() && g_.tensor(output).dtype == DType::f32) {
        values_.push_back(output);
      } else {
        keep_as_real(output);
      }
    }
  }

  /// Results of other dtypes stay alive through a cast.
  void keep_as_real(ValueId value) {
    if (!g_.type(value).is_tensor() || g_.tensor(value).dtype == DType::str) return;
    const DType dtype = compute_dtype(g_.tensor(value).dtype);
    const auto as_real =
        add(Pointwise{cast(pool_.param(0, dtype), DType::f32), DType::f32}, {value});
    if (as_real && largest(dims(*as_real)) <= kMaxElements) values_.push_back(*as_real);
  }

  const RandomGraphOptions& options_;
  Random rng_;
  RandomGraph result_;
  Graph& g_;
  ExprPool& pool_;
  std::vector<ValueId> values_;
};

}  // namespace

RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).run();
}

std::vector<Tensor> random_inputs(const RandomGraph& random, uint64_t seed) {
  Random rng(seed);
  const Graph& g = random.graph;
  const std::vector<int64_t> symbols = random_symbols(g, rng);
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < g.inputs().size(); ++k) {
    const TensorType& type = g.tensor(g.inputs()[k].value);
    std::vector<int64_t> dims;
    for (const Expr dim : type.dims) dims.push_back(evaluate_dim(dim, symbols));
    Tensor tensor(type.dtype, dims);
    const auto range = random.ranges.find(k);
    const bool real = is_float(type.dtype);
    const double lo = range != random.ranges.end() ? range->second.first
                      : is_signed(type.dtype)      ? (real ? -2 : -9)
                                                   : 0;
    const double hi = range != random.ranges.end() ? range->second.second : (real ? 2 : 9);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (real) {
        tensor.set_real(i, rng.real(lo, hi));
      } else {
        const int64_t least = static_cast<int64_t>(lo);
        const int64_t value = rng.range(least, std::max(least, static_cast<int64_t>(hi)));
        if (type.dtype == DType::str) {
          tensor.set_string(i, concat(value));
        } else {
          tensor.set_integer(i, value);
        }
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::string find_difference(std::span<const Tensor> expected, std::span<const Tensor> got,
                            double tolerance) {
  if (expected.size() != got.size()) {
    return concat("expected ", expected.size(), " tensors, got ", got.size());
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    const Tensor& want = expected[k];
    const Tensor& have = got[k];
    if (want.dtype() != have.dtype() || want.dims() != have.dims()) {
      return concat("output ", k, ": expected ", want.dtype(), want.dims(), ", got ", have.dtype(),
                    have.dims());
    }
    double largest = 1;
    for (int64_t i = 0; i < want.size(); ++i) {
      const double x = std::abs(want.real(i));
      if (std::isfinite(x) && x <= kMaxMagnitude) largest = std::max(largest, x);
    }
    for (int64_t i = 0; i < want.size(); ++i) {
      const double x = want.real(i);
      const double y = have.real(i);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (std::abs(x) > kMaxMagnitude || x == y) continue;
      if (!(std::abs(x - y) <= tolerance * largest)) {
        return concat("output ", k, ", element ", i, ": expected ", x, ", got ", y);
      }
    }
  }
  return {};
}

}  // namespace ingot
