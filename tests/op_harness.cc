// tests/op_harness.cc: the derived tests of every operator: cases drawn from `sample`, judged by
// `reference`, run by back ends.
#include "tests/op_harness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "kernel/scalar.h"
#include "kernel/stmt.h"

namespace ingot {

std::vector<Type> OpCase::input_types() const {
  std::vector<Type> types;
  for (const ValueId input : node().inputs) {
    types.push_back(input.valid() ? graph.type(input) : Type(ContainerType{}));
  }
  return types;
}

std::vector<bool> OpCase::present() const {
  std::vector<bool> result;
  for (const ValueId input : node().inputs) result.push_back(input.valid());
  return result;
}

namespace {

// ---- Planes ----------------------------------------------------------------------------------

/// Types of the planes that a value consists of.
std::vector<TensorType> plane_types(const Type& type) {
  if (!type.is_state()) return {type.tensor};
  const StateType& state = type.state;
  ExprPool& pool = state.batch.pool();
  TensorType data{state.dtype, {state.batch, state.capacity}};
  const TensorType lengths{DType::i64, {state.batch}};
  if (state.layout == StateLayout::paged) {
    data.dims = {state.capacity, pool.integer(state.block_size)};
  }
  data.dims.insert(data.dims.end(), state.token.begin(), state.token.end());
  if (state.layout == StateLayout::contiguous) return {data, lengths};
  return {data, TensorType{DType::i64, {state.batch, state.max_blocks}}, lengths};
}

size_t plane_number(const Type& type, StatePlane plane) {
  switch (plane) {
    case StatePlane::data:
      return 0;
    case StatePlane::table:
      return 1;
    case StatePlane::lengths:
      return type.state.layout == StateLayout::paged ? 2 : 1;
  }
  INGOT_UNREACHABLE();
}

std::vector<int64_t> concrete(std::span<const Expr> dims, std::span<const int64_t> symbols) {
  std::vector<int64_t> result;
  for (const Expr dim : dims) result.push_back(evaluate_dim(dim, symbols));
  return result;
}

// ---- Values ----------------------------------------------------------------------------------

/// The value as the storage type holds it.
Tensor rounded(const Tensor& tensor) {
  if (tensor.is_container()) {
    std::vector<Tensor> items;
    for (const Tensor& item : tensor.items()) items.push_back(rounded(item));
    return Tensor::container(std::move(items));
  }
  if (tensor.dtype() == DType::str) return tensor;
  auto result = Tensor::from_bytes(tensor.dtype(), tensor.dims(), tensor.to_bytes());
  CHECK(result, "a tensor's own bytes do not fit it");
  return *std::move(result);
}

Tensor random_values(Random& rng, DType dtype, std::vector<int64_t> dims,
                     const std::pair<double, double>* range) {
  Tensor tensor(dtype, std::move(dims));
  const double lo = range != nullptr ? range->first : is_signed(dtype) ? -2 : 0;
  const double hi = range != nullptr ? range->second : 2;
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (dtype == DType::str && range != nullptr) {
      tensor.set_string(
          k, concat(" ", rng.range(static_cast<int64_t>(lo), static_cast<int64_t>(hi)), "\n"));
    } else if (dtype == DType::str) {
      // Of 1 to 3 bytes a letter, with white space, upper case, an embedded zero, and no UTF-8.
      static constexpr std::string_view kTexts[] = {"",
                                                    "a",
                                                    "B b",
                                                    "aab  ab",
                                                    " c\tA ",
                                                    "\xC3\x84\xC3\xB6",
                                                    "\xE2\x82\xAC",
                                                    std::string_view("a\0b", 3),
                                                    "\xFF"
                                                    "A\xC3"};
      tensor.set_string(k, kTexts[rng.range(0, std::ssize(kTexts) - 1)]);
    } else if (dtype == DType::b8) {
      tensor.set_integer(k, rng.range(0, 1));
    } else if (!tensor.holds_reals()) {
      tensor.set_integer(k, hi < lo ? 0
                                    : rng.range(static_cast<int64_t>(range ? lo : 3 * lo),
                                                static_cast<int64_t>(range ? hi : 3 * hi)));
    } else if (range != nullptr && rng.chance(0.3)) {
      tensor.set_real(k, 0);  // a range for reals marks that zero matters
    } else {
      tensor.set_real(k, rng.real(lo, hi));
    }
  }
  return rounded(tensor);
}

/// A sequence of three tensors [2, 3], or an optional of one item.
Tensor random_container(Random& rng, const ContainerType& type) {
  const bool is_optional = type.kind == ContainerType::Kind::optional;
  std::vector<Tensor> items;
  while (items.size() < (is_optional ? 1 : 3)) {
    items.push_back(type.element->is_tensor()
                        ? random_values(rng, type.element->tensor.dtype, {2, 3}, nullptr)
                        : random_container(rng, type.element->container));
  }
  return Tensor::container(std::move(items));
}

/// Planes of a state whose sequences hold lengths within `range`; block tables name each block at
/// most once. Seeded by itself, so that the states of keys and of values agree.
std::vector<Tensor> random_state(const StateType& state, std::span<const int64_t> symbols,
                                 const std::pair<double, double>* range, uint64_t seed,
                                 Random& rng) {
  const auto types = plane_types(state);
  std::vector<Tensor> planes = {
      random_values(rng, types[0].dtype, concrete(types[0].dims, symbols), nullptr)};
  Random own(seed);
  if (state.layout == StateLayout::paged) {
    Tensor table(DType::i64, concrete(types[1].dims, symbols));
    std::vector<int64_t> blocks;
    for (int64_t k = 0; k < planes[0].dim(0); ++k) blocks.push_back(k);
    for (int64_t k = 0; k < table.size(); ++k) {
      const auto at = static_cast<size_t>(own.range(0, static_cast<int64_t>(blocks.size()) - 1));
      table.set_integer(k, blocks[at]);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
    planes.push_back(std::move(table));
  }
  planes.push_back(random_values(own, DType::i64, concrete(types.back().dims, symbols), range));
  return planes;
}

void poison(Random& rng, Tensor& tensor) {
  if (!tensor.holds_reals() || tensor.size() == 0) return;
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64 &&
      tensor.dtype() != DType::f16 && tensor.dtype() != DType::bf16) {
    return;
  }
  tensor.set_real(rng.range(0, tensor.size() - 1), std::numeric_limits<double>::quiet_NaN());
  tensor.set_real(rng.range(0, tensor.size() - 1), std::numeric_limits<double>::infinity());
}

// ---- Evaluating lower -------------------------------------------------------------------------

/// Speaks of input elements as loads: buffer = number of the plane, offset = flat position.
class PlaneLowering : public Lowering {
 public:
  PlaneLowering(const Graph& graph, const Node& node) : graph_(graph), node_(node) {
    size_t next = 0;
    for (const ValueId input : node.inputs) {
      first_plane_.push_back(next);
      next += input.valid() ? plane_types(graph.type(input)).size() : 1;
    }
  }

  ExprPool& pool() override { return graph_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t input) const override {
    return input < node_.inputs.size() && node_.inputs[input].valid();
  }
  const Type& input_type(size_t input) const override { return graph_.type(node_.inputs[input]); }
  const Type& output_type(size_t output) const override {
    return graph_.type(node_.outputs[output]);
  }
  Expr load(size_t input, std::span<const Expr> index) override {
    return pool().load(buffer(input), compute_dtype(tensor(input).dtype), flat(input, index));
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    return pool().load(buffer(input), compute_dtype(tensor(input).dtype), flat(input, index),
                       condition, otherwise);
  }
  Expr load_plane(size_t input, StatePlane plane, Expr offset) override {
    const Type& type = input_type(input);
    const DType dtype = plane == StatePlane::data ? compute_dtype(type.state.dtype) : DType::i64;
    return pool().load(buffer(input) + static_cast<uint32_t>(plane_number(type, plane)), dtype,
                       offset);
  }

 private:
  uint32_t buffer(size_t input) const { return static_cast<uint32_t>(first_plane_[input]); }
  Expr flat(size_t input, std::span<const Expr> index) {
    const Exprs& dims = tensor(input).dims;
    CHECK(index.size() == dims.size(), "lower: an index of rank ", index.size(), " into ",
          to_text(tensor(input)));
    Expr position = pool().integer(0);
    for (size_t a = 0; a < dims.size(); ++a) position = position * dims[a] + index[a];
    return position;
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<size_t> first_plane_;
};

/// One element after another, by the definition of expressions.
class ElementEvaluator {
 public:
  ElementEvaluator(std::span<const Tensor> planes, std::span<const int64_t> symbols)
      : planes_(planes), symbols_(symbols) {}

  Scalar evaluate(Expr e) {
    switch (e.kind()) {
      case ExprKind::constant:
        if (is_float(e.dtype())) return make_real(*e.as_real(), e.dtype());
        return make_integer(static_cast<int64_t>(e.payload()), e.dtype());
      case ExprKind::symbol:
        return make_integer(symbols_[e.symbol().index()], e.dtype());
      case ExprKind::index:
        return make_integer(variables_.at(e.var().value), e.dtype());
      case ExprKind::load:
        return evaluate_load(e);
      case ExprKind::reduce:
        return evaluate_reduce(e);
      case ExprKind::param:
      case ExprKind::local:
        CHECK(false, "lower: left a ", name(e.kind()), " in ", to_text(e));
        return {};
      default:
        break;
    }
    std::array<Scalar, 3> operands;
    const int count = arity(e.kind());
    for (int k = 0; k < count; ++k) operands[static_cast<size_t>(k)] = evaluate(e.operand(k));
    return apply(e.kind(), e.dtype(), std::span(operands).first(static_cast<size_t>(count)));
  }

  /// Goes on to another element; set its variables afterwards.
  void begin_element() {
    reduced_.clear();
    loads = 0;
  }
  void set_variable(VarId var, int64_t value) {
    variables_[var.value] = value;
    element_variables_.insert(var.value);
  }
  int64_t loads = 0;  // by this element

 private:
  Scalar evaluate_load(Expr e) {
    if (e.operand(1) && evaluate(e.operand(1)).integer == 0) return evaluate(e.operand(2));
    const Tensor& plane = planes_[e.buffer()];
    const int64_t at = evaluate(e.operand(0)).integer;
    CHECK(at >= 0 && at < plane.size(), "lower: read element ", at, " of input plane ", e.buffer(),
          " of ", plane.size());
    ++loads;
    return plane.holds_reals() ? make_real(plane.real(at), e.dtype())
                               : make_integer(plane.integer(at), e.dtype());
  }

  /// A reduction that depends on the element alone is computed once for it, as a kernel would.
  Scalar evaluate_reduce(Expr e) {
    if (!depends_on_element_alone(e)) return run_reduce(e);
    if (const auto found = reduced_.find(e.id()); found != reduced_.end()) return found->second;
    const Scalar result = run_reduce(e);
    reduced_.emplace(e.id(), result);
    return result;
  }

  bool depends_on_element_alone(Expr reduce) {
    const auto [found, is_new] = alone_.emplace(reduce.id(), true);
    if (!is_new) return found->second;
    std::set<uint32_t> bound(element_variables_);
    std::set<uint32_t> used;
    for_each(reduce, [&](Expr e) {
      if (e.kind() == ExprKind::reduce) bound.insert(e.var().value);
      if (e.kind() == ExprKind::index) used.insert(e.var().value);
    });
    return found->second = std::ranges::includes(bound, used);
  }

  Scalar run_reduce(Expr e) {
    Scalar sum = neutral(e.reduce_kind(), e.dtype());
    const int64_t extent = evaluate(e.operand(1)).integer;
    for (int64_t j = 0; j < extent; ++j) {
      variables_[e.var().value] = j;
      sum = gather(e.reduce_kind(), sum, evaluate(e.operand(0)));
    }
    return sum;
  }

  std::span<const Tensor> planes_;
  std::span<const int64_t> symbols_;
  std::unordered_map<uint32_t, int64_t> variables_;
  std::set<uint32_t> element_variables_;
  std::unordered_map<uint32_t, Scalar> reduced_;  // of this element, by expression
  std::unordered_map<uint32_t, bool> alone_;      // by expression
};

/// Index variables for a space of `dims`, ready to be given values.
Exprs fresh_indices(ExprPool& pool, std::span<const Expr> dims) {
  Exprs index;
  for (const Expr dim : dims) index.push_back(pool.fresh_index(dim));
  return index;
}

/// fn() for every index of the space, with the variables set.
void for_each_element(ElementEvaluator& evaluator, std::span<const Expr> index,
                      std::span<const int64_t> dims, const std::function<void(int64_t)>& fn) {
  for_each_index(dims, [&](int64_t position, std::span<const int64_t> at) {
    evaluator.begin_element();
    // A variable over 0 <= i < 1 may have simplified to the constant 0.
    for (size_t a = 0; a < at.size(); ++a) {
      if (index[a].kind() == ExprKind::index) evaluator.set_variable(index[a].var(), at[a]);
    }
    fn(position);
  });
}

void store(Tensor& tensor, int64_t position, const Scalar& value) {
  if (tensor.holds_reals()) {
    tensor.set_real(position, value.real);
  } else {
    tensor.set_integer(position, value.integer);
  }
}

/// Values of the symbols of a graph's inputs, from their dims and from the lengths of states.
Result<std::vector<int64_t>> symbols_of(const Graph& graph, std::span<const Tensor> inputs) {
  Graph only_inputs = graph;
  only_inputs.set_outputs({});
  only_inputs.compact();
  Interpreter interpreter(only_inputs);
  TRY_STATUS([&]() -> Status {
    auto done = interpreter.run(inputs);
    if (!done) return std::move(done.error());
    return ok();
  }());
  return interpreter.symbols;
}

}  // namespace

namespace {

/// Planes of the outputs of one node, given those of its inputs.
std::vector<Tensor> run_scatter(const Graph& graph, const Node& node, std::span<const Tensor> in,
                                std::span<const int64_t> symbols) {
  const OpDef& def = node.op.def();
  std::vector<Type> types;
  for (const ValueId input : node.inputs) types.push_back(graph.type(input));
  std::vector<Tensor> results(
      in.begin(), in.begin() + static_cast<std::ptrdiff_t>(plane_types(types[0]).size()));
  PlaneLowering lowering(graph, node);
  ElementEvaluator evaluator(in, symbols);
  const Exprs domain = def.scatter_domain(node.op.data(), types);
  const Exprs index = fresh_indices(graph.pool(), domain);
  const Scatter scatter = def.lower_scatter(node.op.data(), lowering, index);
  Tensor& target = results[plane_number(types[0], scatter.plane)];
  for_each_element(evaluator, index, concrete(domain, symbols), [&](int64_t) {
    if (scatter.predicate && evaluator.evaluate(scatter.predicate).integer == 0) return;
    const int64_t at = evaluator.evaluate(scatter.offset).integer;
    CHECK(at >= 0 && at < target.size(), "lower_scatter: wrote element ", at, " of ",
          target.size());
    store(target, at, evaluator.evaluate(scatter.value));
  });
  return results;
}

std::vector<Tensor> run_elements(const Graph& graph, const Node& node, std::span<const Tensor> in,
                                 std::span<const int64_t> symbols, double* terms) {
  const OpDef& def = node.op.def();
  PlaneLowering lowering(graph, node);
  ElementEvaluator evaluator(in, symbols);
  std::vector<Tensor> results;
  for (size_t output = 0; output < node.outputs.size(); ++output) {
    const TensorType& type = graph.tensor(node.outputs[output]);
    Tensor result(type.dtype, concrete(type.dims, symbols));
    const Exprs index = fresh_indices(graph.pool(), type.dims);
    const Expr element = def.lower(node.op.data(), lowering, output, index);
    const DType wanted = compute_dtype(type.dtype);
    CHECK(element.dtype() == wanted, def.name, ": lower of output ", output, " is ",
          element.dtype(), " instead of ", wanted);
    for_each_element(evaluator, index, result.dims(), [&](int64_t position) {
      store(result, position, evaluator.evaluate(element));
      if (terms != nullptr) *terms = std::max(*terms, static_cast<double>(evaluator.loads));
    });
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

Result<std::vector<Tensor>> run_lowered(const Graph& graph, std::span<const Tensor> inputs,
                                        double* terms) {
  TRY(const std::vector<int64_t> symbols, symbols_of(graph, inputs));
  std::vector<std::vector<Tensor>> planes(graph.value_count());
  size_t next = 0;
  for (const GraphInput& input : graph.inputs()) {
    for (size_t k = plane_count(graph.type(input.value)); k > 0; --k) {
      planes[input.value.index()].push_back(inputs[next++]);
    }
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const OpDef& def = node.op.def();
    std::vector<Tensor> in;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) {
        in.emplace_back(DType::f32, std::vector<int64_t>{0});
        continue;
      }
      for (const Tensor& plane : planes[input.index()]) in.push_back(plane);
    }
    std::vector<Tensor> out;
    if (def.lower_scatter != nullptr) {
      out = run_scatter(graph, node, in, symbols);
    } else if (def.lower != nullptr) {
      out = run_elements(graph, node, in, symbols, terms);
    } else {
      return unsupported(def.name, ": has no lower");
    }
    size_t made = 0;
    for (const ValueId output : node.outputs) {
      for (size_t k = plane_count(graph.type(output)); k > 0; --k) {
        planes[output.index()].push_back(std::move(out[made++]));
      }
    }
  }
  std::vector<Tensor> results;
  for (const GraphOutput& output : graph.outputs()) {
    for (const Tensor& plane : planes[output.value.index()]) results.push_back(plane);
  }
  return results;
}

Backend lowered_backend() {
  return {
      "lower",
      [](const Graph& graph, std::span<const Tensor> inputs) { return run_lowered(graph, inputs); },
      {},
      true};
}

// ---- Cases -----------------------------------------------------------------------------------

namespace {

/// Fills in everything that follows from graph and inputs.
Result<OpCase> finish(OpCase c) {
  if (!c.op().is<Unimplemented>()) {
    Interpreter interpreter(c.graph);
    TRY(c.expected, add_note(interpreter.run(c.inputs), c.label));
    c.symbols = interpreter.symbols;
  }
  for (const Tensor& input : c.inputs) {
    for (const double value : input.reals()) {
      if (std::isfinite(value)) c.magnitude = std::max(c.magnitude, std::abs(value));
    }
  }
  return c;
}

Result<OpCase> one_node(std::string label, OpRef op, std::shared_ptr<ExprPool> pool,
                        std::span<const Type> inputs) {
  OpCase c{std::move(label), Graph(std::move(pool)), {}, {}, {}, {}};
  c.graph.name = "case";
  std::vector<ValueId> values;
  for (const Type& type : inputs) {
    const bool absent = type.is_nothing();
    values.push_back(absent ? ValueId() : c.graph.add_input(concat("x", values.size()), type));
  }
  TRY(const std::vector<ValueId> results, add_note(c.graph.add(std::move(op), values), c.label));
  std::vector<GraphOutput> outputs;
  for (const ValueId result : results) outputs.push_back({concat("y", outputs.size()), result});
  c.graph.set_outputs(std::move(outputs));
  return c;
}

}  // namespace

Result<OpCase> make_case(std::string label, OpRef op, std::shared_ptr<ExprPool> pool,
                         std::vector<Type> inputs,
                         const std::map<size_t, std::pair<double, double>>& ranges, uint64_t seed) {
  TRY(OpCase c, one_node(std::move(label), std::move(op), std::move(pool), inputs));
  c.ranges = ranges;
  Random rng(seed);
  std::vector<int64_t> symbols;
  for (size_t k = 0; k < c.graph.pool().symbol_count(); ++k) {
    const Range range = std::as_const(c.graph.pool()).symbol_info(SymbolId(k)).range;
    symbols.push_back(range.hi < kMaxDim ? range.hi : std::max<int64_t>(range.lo, 2));
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto found = ranges.find(k);
    const auto* range = found == ranges.end() ? nullptr : &found->second;
    if (inputs[k].is_nothing()) continue;
    if (inputs[k].is_container()) {
      c.inputs.push_back(random_container(rng, inputs[k].container));
    } else if (inputs[k].is_tensor()) {
      const TensorType& type = inputs[k].tensor;
      c.inputs.push_back(random_values(rng, type.dtype, concrete(type.dims, symbols), range));
    } else {
      for (Tensor& plane : random_state(inputs[k].state, symbols, range, seed, rng)) {
        c.inputs.push_back(std::move(plane));
      }
    }
  }
  if (seed % 8 == 7 && !c.inputs.empty()) poison(rng, c.inputs[0]);
  return finish(std::move(c));
}

Result<OpCase> draw_case(const OpDef& def, uint64_t seed) {
  auto pool = std::make_shared<ExprPool>();
  Random rng(seed * 7919 + 1);
  OpDef::AnySample sample = def.sample(rng, *pool);
  return make_case(concat(def.name, ", seed ", seed), std::move(sample.op), std::move(pool),
                   std::move(sample.inputs), sample.value_ranges, seed);
}

Result<OpCase> with_dynamic_dims(const OpCase& c, int* symbols_made) {
  ExprPool& pool = c.graph.pool();
  std::vector<Type> types = c.input_types();
  const auto allowed = [&] {
    InferContext ctx{pool, types, c.present(), {}};
    return static_cast<bool>(c.op().def().infer(c.op().data(), ctx));
  };
  for (Type& type : types) {
    if (!type.is_tensor()) continue;
    for (size_t a = 0; a < type.tensor.dims.size(); ++a) {
      const Expr size = type.tensor.dims[a];
      if (!size.as_int() || size.is_int(1)) continue;  // 1 decides what broadcasts
      type.tensor.dims[a] = pool.fresh_symbol("n", false);
      if (!allowed()) {
        type.tensor.dims[a] = size;
      } else if (symbols_made != nullptr) {
        ++*symbols_made;
      }
    }
  }
  TRY(OpCase dynamic, one_node(c.label + ", dynamic", c.op(), c.graph.shared_pool(), types));
  dynamic.inputs = c.inputs;
  return finish(std::move(dynamic));
}

Result<OpCase> with_constant_inputs(const OpCase& c) {
  OpCase folded{c.label + ", constant", Graph(c.graph.shared_pool()), {}, {}, {}, c.ranges};
  std::vector<ValueId> values;
  size_t plane = 0;
  for (const Type& type : c.input_types()) {
    if (type.is_nothing()) {
      values.emplace_back();
    } else if (type.is_tensor()) {
      values.push_back(folded.graph.add_constant(to_constant(c.inputs[plane++])));
    } else {
      values.push_back(folded.graph.add_input(concat("x", values.size()), type));
      for (size_t k = plane_count(type); k > 0; --k) folded.inputs.push_back(c.inputs[plane++]);
    }
  }
  TRY(const std::vector<ValueId> results, folded.graph.add(c.op(), values));
  std::vector<GraphOutput> outputs;
  for (const ValueId result : results) outputs.push_back({concat("y", outputs.size()), result});
  folded.graph.set_outputs(std::move(outputs));
  Interpreter interpreter(folded.graph);
  interpreter.known_symbols = c.symbols;
  TRY(folded.expected, add_note(interpreter.run(folded.inputs), folded.label));
  return folded;
}

// ---- Literal cases ---------------------------------------------------------------------------

std::string infer_text(const OpRef& op, ExprPool& pool,
                       std::initializer_list<std::string_view> types) {
  std::vector<Type> inputs;
  std::vector<bool> present;
  for (const std::string_view text : types) {
    present.push_back(text != "-");
    if (!present.back()) {
      inputs.emplace_back(ContainerType{});
      continue;
    }
    auto type = parse_type(text, pool);
    CHECK(type, "a test's type: ", text, ": ", type ? "" : to_text(type.error()));
    inputs.push_back(*std::move(type));
  }
  InferContext ctx{pool, inputs, present, {}};
  const auto outputs = op.def().infer(op.data(), ctx);
  if (!outputs) return to_text(outputs.error());
  std::string text = join(*outputs, ", ");
  for (const Assumption& assumption : ctx.assumptions) {
    text += concat("; ", to_text(assumption.a), " == ", to_text(assumption.b));
  }
  return text;
}

Tensor tensor_of(DType dtype, std::vector<int64_t> dims, std::initializer_list<double> values) {
  Tensor tensor(dtype, std::move(dims));
  CHECK(tensor.size() == static_cast<int64_t>(values.size()), "tensor_of: ", tensor.size(),
        " elements, ", values.size(), " values");
  int64_t k = 0;
  for (const double value : values) tensor.set_real(k++, value);
  return tensor;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.real(k));
  return values;
}

Tensor run_reference(const OpRef& op, std::shared_ptr<ExprPool> pool, std::vector<Tensor> inputs) {
  std::vector<Type> types;
  for (const Tensor& input : inputs) {
    TensorType type{input.dtype(), {}};
    for (const int64_t dim : input.dims()) type.dims.push_back(pool->integer(dim));
    types.emplace_back(std::move(type));
  }
  auto c = one_node("literal case", op, std::move(pool), types);
  CHECK(c, c ? "" : to_text(c.error()));
  auto results = Interpreter(c->graph).run(inputs);
  CHECK(results, results ? "" : to_text(results.error()));
  return std::move((*results)[0]);
}

// ---- Comparing -------------------------------------------------------------------------------

namespace {

/// Distance between 1 and the next number, halved: the largest relative error of one rounding.
double rounding_unit(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-2;  // the formats of 8 and 4 bits have 1 to 3 bits of mantissa
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.FEp127;
    case DType::f32:
      return 0x1.FFFFFEp127;
    default:
      return std::numeric_limits<double>::max();
  }
}

/// How far results of a case may lie from the reference.
class Bounds {
 public:
  Bounds(const OpCase& c, bool exact_reals) : case_(c), exact_reals_(exact_reals) {}

  double of(DType dtype, double expected) {
    const OpCase& c = case_;
    const double unit =
        exact_reals_ ? rounding_unit(DType::f64) : rounding_unit(compute_dtype(dtype));
    const double computed = c.op().def().accuracy.ulp * unit * 2 * terms() *
                            (std::abs(expected) + c.magnitude * c.magnitude);
    if (exact_reals_ || dtype == compute_dtype(dtype)) return computed;
    // f16 is the only storage type of narrow exponent here; 2^-25 is half its smallest number.
    return computed + rounding_unit(dtype) * std::abs(expected) + 0x1p-25;
  }

  bool agree(DType dtype, double expected, double got) {
    if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
    if (expected == got) return true;
    if (std::isinf(expected)) return false;
    const double bound = of(dtype, expected);
    if (std::isinf(got)) {
      return std::abs(expected) + bound > largest(dtype) &&
             std::signbit(got) == std::signbit(expected);
    }
    return std::abs(expected - got) <= bound;
  }

 private:
  /// Values that an output element gathers, at most. Only a run of the whole op tells, so it waits
  /// for the first result that is not the reference's.
  double terms() {
    if (terms_) return *terms_;
    terms_ = 1;
    if (case_.op().def().lower != nullptr) {
      const auto ran = run_lowered(case_.graph, case_.inputs, &*terms_);
      CHECK(ran, case_.label, ": ", ran.error());
    }
    return *terms_;
  }

  const OpCase& case_;
  bool exact_reals_;
  std::optional<double> terms_;
};

std::string index_text(std::span<const int64_t> dims, int64_t position) {
  std::vector<int64_t> index(dims.size());
  for (size_t a = dims.size(); a-- > 0; position /= dims[a]) index[a] = position % dims[a];
  return concat(index);
}

/// The first difference between two tensors of one shape, or nothing.
std::string first_difference(const OpCase& c, const Tensor& expected, const Tensor& got,
                             bool exact_reals) {
  if (expected.is_container() != got.is_container()) return "one is a container";
  if (expected.is_container()) {
    if (expected.items().size() != got.items().size()) {
      return concat("expected ", expected.items().size(), " items, got ", got.items().size());
    }
    for (size_t k = 0; k < expected.items().size(); ++k) {
      const Tensor& wanted = expected.items()[k];
      const Tensor& item = got.items()[k];
      if (!wanted.is_container() &&
          (wanted.dtype() != item.dtype() || wanted.dims() != item.dims())) {
        return concat("item ", k, ": expected ", wanted.dtype(), wanted.dims(), ", got ",
                      item.dtype(), item.dims());
      }
      const std::string difference = first_difference(c, wanted, item, exact_reals);
      if (!difference.empty()) return concat("item ", k, " at ", difference);
    }
    return {};
  }
  const bool to_the_bit = c.op().def().accuracy.kind == Accuracy::Kind::exact;
  Bounds bounds(c, exact_reals);
  for (int64_t k = 0; k < expected.size(); ++k) {
    const auto where = [&] { return index_text(expected.dims(), k); };
    if (expected.dtype() == DType::str) {
      if (expected.string(k) == got.string(k)) continue;
      return concat(where(), ": expected ", quote(expected.string(k)), ", got ",
                    quote(got.string(k)));
    } else if (!expected.holds_reals()) {
      if (expected.integer(k) == got.integer(k)) continue;
      return concat(where(), ": expected ", expected.integer(k), ", got ", got.integer(k));
    } else {
      const double wanted = expected.real(k);
      const double actual = got.real(k);
      const bool same = wanted == actual || (std::isnan(wanted) && std::isnan(actual));
      if (to_the_bit ? same : bounds.agree(expected.dtype(), wanted, actual)) continue;
      return concat(where(), ": expected ", format_number(wanted), ", got ", format_number(actual),
                    ", bound ",
                    format_number(to_the_bit ? 0.0 : bounds.of(expected.dtype(), wanted)));
    }
  }
  return {};
}

}  // namespace

std::string compare(const OpCase& c, std::span<const Tensor> got, bool exact_reals) {
  const auto report = [&](const auto&... parts) {
    return concat(c.label, ": ", parts..., "\n", to_text(c.graph));
  };
  if (got.size() != c.expected.size()) {
    return report("expected ", c.expected.size(), " output planes, got ", got.size());
  }
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor& wanted = c.expected[k];
    if (got[k].dtype() != wanted.dtype() || got[k].dims() != wanted.dims()) {
      return report("output plane ", k, ": expected ", wanted.dtype(), wanted.dims(), ", got ",
                    got[k].dtype(), got[k].dims());
    }
    const bool rounds = c.op().def().accuracy.kind == Accuracy::Kind::exact && !exact_reals;
    const std::string difference =
        first_difference(c, rounds ? rounded(wanted) : wanted, got[k], exact_reals);
    if (!difference.empty()) return report("output plane ", k, " at ", difference);
  }
  return {};
}

std::string check_case(const Backend& backend, const OpCase& c) {
  // Composites, routines and control flow are no kernels: whole artefacts test them.
  const OpDef& def = c.op().def();
  const bool is_kernel = def.lower != nullptr || def.lower_scatter != nullptr;
  const bool is_gap = backend.gaps.contains(def.name) || !is_kernel;
  const auto got = backend.run(c.graph, c.inputs);
  if (!got) {
    if (is_gap && got.error().code == Code::kUnsupported) return {};
    return concat(c.label, ": ", backend.name, ": ", to_text(got.error()), "\n", to_text(c.graph));
  }
  if (is_gap) return concat(c.label, ": ", backend.name, ": is no gap any more; remove it");
  const std::string difference = compare(c, *got, backend.exact_reals);
  return difference.empty() ? difference : concat(backend.name, ": ", difference);
}

}  // namespace ingot
