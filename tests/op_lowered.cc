// tests/op_lowered.cc: the back end of what `lower` and `lower_scatter` say, element by element.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "kernel/scalar.h"
#include "kernel/stmt.h"
#include "tests/op_harness.h"
#include "tests/op_planes.h"

namespace ingot {
namespace {

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

}  // namespace ingot
