// ir/interpret.cc: runs a graph with the reference functions; the judge of everything after it.
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "ir/graph.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

constexpr int64_t kUnknown = -1;
/// Of one tensor. The machine's memory holds no more of them, of 8 bytes each.
int64_t most_elements() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(::sysconf(_SC_PAGE_SIZE)) / 8;
}

class GraphExpansion : public Expansion {
 public:
  GraphExpansion(Graph& graph, const std::vector<std::string>& provenance)
      : graph_(graph), provenance_(provenance) {}
  Graph& graph() override { return graph_; }
  std::vector<ValueId> add_ref(OpRef op, std::vector<ValueId> inputs) override {
    const std::string_view op_name = op.name();
    auto outputs = graph_.add(std::move(op), std::move(inputs), provenance_);
    CHECK(outputs, "expand: ", op_name, ": ", outputs ? std::string() : to_text(outputs.error()));
    return std::move(*outputs);
  }

 private:
  Graph& graph_;
  const std::vector<std::string>& provenance_;
};

/// Whether a tensor holds keys and values as a map's type says.
bool is_map(const ContainerType& type, const Tensor& tensor) {
  if (!tensor.is_container() || tensor.items().size() != 2 || type.element == nullptr) return false;
  const Tensor &keys = tensor.items()[0], &values = tensor.items()[1];
  return keys.dtype() == type.key && keys.rank() == 1 && !keys.is_container() &&
         values.dtype() == type.element->tensor.dtype && values.dims() == keys.dims() &&
         !values.is_container();
}

/// Whether a tensor is a container where one is wanted, with items as its type says.
bool is_kind(const Type& type, const Tensor& tensor) {
  if (!type.is_container()) return !tensor.is_container();
  if (type.container.kind == ContainerType::Kind::map) return is_map(type.container, tensor);
  return tensor.is_container() && !type.is_nothing() &&
         std::ranges::all_of(tensor.items(), [&](const Tensor& item) {
           const Type& element = *type.container.element;
           return is_kind(element, item) && item.dtype() == element.tensor.dtype;
         });
}

/// Dims and dtype of each plane of a type.
std::vector<TensorType> planes_of(const Type& type) {
  if (!type.is_state()) return {type.tensor};
  const StateType& state = type.state;
  TensorType data{state.dtype, {state.batch, state.capacity}};
  const TensorType lengths{DType::i64, {state.batch}};
  if (state.layout == StateLayout::contiguous) {
    data.dims.insert(data.dims.end(), state.token.begin(), state.token.end());
    return {data, lengths};
  }
  data.dims = {state.capacity, state.capacity.pool().integer(state.block_size)};
  data.dims.insert(data.dims.end(), state.token.begin(), state.token.end());
  return {data, TensorType{DType::i64, {state.batch, state.max_blocks}}, lengths};
}

/// Tokens that a sequence of a state can hold.
int64_t room_of(const StateType& state, std::span<const Tensor> planes) {
  return state.layout == StateLayout::paged ? planes[1].dim(1) * state.block_size
                                            : planes[0].dim(1);
}

/// Whether `added` more tokens fit behind those that the lengths tell.
Status check_room(const StateType& state, std::span<const Tensor> planes, int64_t added) {
  const Tensor& lengths = planes.back();
  const int64_t room = room_of(state, planes);
  for (int64_t b = 0; b < lengths.size(); ++b) {
    const int64_t length = lengths.integer(b);
    if (length < 0) return invalid_argument("length ", b, ": expected at least 0, got ", length);
    if (length > room || added > room - length) {
      return invalid_argument("sequence ", b, ": ", length, " tokens and ", added,
                              " new ones do not fit in ", room);
    }
    if (length + added > 0 && planes[0].dim(0) == 0) {
      return invalid_argument("expected at least 1 block for ", length + added, " tokens, got 0");
    }
  }
  return ok();
}

/// One run: values, symbols, and how many uses of a value are still to come.
class Run {
 public:
  Run(const Graph& graph, std::vector<int64_t>& symbols,
      const std::function<void(ValueId, const Tensor&)>& on_value)
      : graph_(graph),
        symbols_(symbols),
        on_value_(on_value),
        planes_(graph.value_count()),
        appended_(graph.value_count()) {
    symbols_.resize(graph.pool().symbol_count(), kUnknown);
  }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) {
    TRY_STATUS(take_inputs(inputs));
    count_uses();
    for (const NodeId id : graph_.nodes()) TRY_STATUS(run_node(id));
    TRY_STATUS(check_assumptions());
    std::vector<Tensor> results;
    for (const GraphOutput& output : graph_.outputs()) {
      for (const Tensor& plane : planes_[output.value.value]) results.push_back(plane);
    }
    return results;
  }

 private:
  bool is_known(Expr expr) const {
    bool known = true;
    for_each(expr, [&](Expr e) {
      if (e.kind() == ExprKind::symbol && symbols_[e.symbol().value] == kUnknown) known = false;
    });
    return known;
  }
  std::optional<int64_t> value_of(Expr expr) const {
    if (!is_known(expr)) return std::nullopt;
    return evaluate_dim(expr, symbols_);
  }

  /// Gives symbols that are dims by themselves their values.
  void bind(std::span<const Expr> dims, std::span<const int64_t> actual) {
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a].kind() != ExprKind::symbol) continue;
      int64_t& symbol = symbols_[dims[a].symbol().value];
      if (symbol == kUnknown) symbol = actual[a];
    }
  }

  /// Empty if `tensor` is of `type`, otherwise what was expected and got.
  std::string find_mismatch(const TensorType& type, const Tensor& tensor) const {
    if (tensor.dtype() != type.dtype)
      return concat("expected ", type.dtype, ", got ", tensor.dtype());
    if (tensor.rank() != type.rank()) {
      return concat("expected ", type, ", got dims ", tensor.dims());
    }
    for (size_t a = 0; a < type.dims.size(); ++a) {
      const auto expected = value_of(type.dims[a]);
      if (expected && *expected != tensor.dims()[a]) {
        return concat("expected dim ", a, " (", type.dims[a], ") to be ", *expected, ", got ",
                      tensor.dims()[a]);
      }
    }
    return {};
  }

  Status take_inputs(std::span<const Tensor> inputs) {
    size_t expected = 0;
    for (const GraphInput& input : graph_.inputs())
      expected += plane_count(graph_.type(input.value));
    if (inputs.size() != expected) {
      return invalid_argument("graph '", graph_.name, "': expected ", expected, " inputs, got ",
                              inputs.size());
    }
    size_t next = 0;
    for (const GraphInput& input : graph_.inputs()) {
      for (const TensorType& plane : planes_of(graph_.type(input.value))) {
        const Tensor& tensor = inputs[next++];
        if (tensor.rank() == plane.rank()) bind(plane.dims, tensor.dims());
        planes_[input.value.value].push_back(tensor);
      }
      bind_length(input.value);
    }
    for (const GraphInput& input : graph_.inputs()) {
      const Type& type = graph_.type(input.value);
      const auto types = planes_of(type);
      if (!type.is_state() && !is_kind(type, planes_[input.value.value][0])) {
        return invalid_argument("input '", input.name, "': expected ", type, ", got other items");
      }
      for (size_t k = 0; k < types.size(); ++k) {
        const auto problem = find_mismatch(types[k], planes_[input.value.value][k]);
        if (!problem.empty()) return invalid_argument("input '", input.name, "': ", problem);
      }
      TRY_STATUS(add_note(check_state(input.value), "input '", input.name, "'"));
    }
    TRY_STATUS(check_ranges());
    return check_assumptions();
  }

  /// A state's length bound, where it is a symbol that no dim told, is its longest sequence.
  void bind_length(ValueId id) {
    if (graph_.type(id).kind != Type::Kind::state) return;
    const int64_t longest = longest_of(planes_[id.value].back());
    bind(std::span(&graph_.type(id).state.length, 1), std::span(&longest, 1));
  }

  static int64_t longest_of(const Tensor& lengths) {
    int64_t longest = 0;
    for (int64_t k = 0; k < lengths.size(); ++k) longest = std::max(longest, lengths.integer(k));
    return longest;
  }

  /// The lengths of a state input are within what it declares and what its memory holds.
  Status check_state(ValueId id) const {
    const Type& type = graph_.type(id);
    if (type.kind != Type::Kind::state) return ok();
    const std::vector<Tensor>& planes = planes_[id.value];
    const auto most = value_of(type.state.length);
    const int64_t longest = longest_of(planes.back());
    if (most && longest > *most) {
      return invalid_argument("expected at most ", *most, " tokens (", type.state.length, "), got ",
                              longest);
    }
    return check_room(type.state, planes, 0);
  }

  Status check_ranges() const {
    for (size_t k = 0; k < symbols_.size(); ++k) {
      const Symbol& symbol = std::as_const(graph_.pool()).symbol_info(SymbolId(k));
      const int64_t value = symbols_[k];
      if (value == kUnknown) continue;
      if (value < symbol.range.lo || value > symbol.range.hi || value % symbol.divisor != 0) {
        return invalid_argument("dim ", symbol.name, ": expected ", symbol.range.lo, "..",
                                symbol.range.hi, ", a multiple of ", symbol.divisor, ", got ",
                                value);
      }
    }
    return ok();
  }

  Status check_assumptions() const {
    for (const Assumption& assumption : graph_.assumptions()) {
      const auto a = value_of(assumption.a);
      const auto b = value_of(assumption.b);
      if (a && b && *a != *b) {
        return invalid_argument(assumption.text, ": expected ", assumption.a, " == ", assumption.b,
                                ", got ", *a, " and ", *b);
      }
    }
    return ok();
  }

  void count_uses() {
    remaining_.resize(graph_.value_count());
    for (size_t v = 0; v < remaining_.size(); ++v) {
      const Value& value = graph_.value(ValueId(v));
      remaining_[v] = value.uses.size() + value.output_count;
    }
  }

  /// Every dim is known or found out by the node itself, not negative, and of a size that memory
  /// may have.
  Status check_dims(const Node& node, const TensorType& type) const {
    int64_t elements = 1;
    bool is_empty = false, is_too_large = false;
    for (const Expr dim : type.dims) {
      const auto value = value_of(dim);
      if (!value) {
        const bool found_by_run = dim.kind() == ExprKind::symbol && symbol_of(dim).data_dependent &&
                                  !is_attribute(node, dim);
        if (found_by_run) continue;
        return invalid_argument("no input tells the dim ", dim, " of its result ", type);
      }
      if (*value < 0) {
        return invalid_argument("expected dims of at least 0, got ", *value, " for ", dim, " of ",
                                type);
      }
      is_empty |= *value == 0;
      is_too_large |= __builtin_mul_overflow(elements, std::max<int64_t>(*value, 1), &elements) ||
                      elements > most_elements_;
    }
    if (is_too_large && !is_empty) {
      return resource_exhausted("its result ", type, " does not fit memory");
    }
    return ok();
  }

  const Symbol& symbol_of(Expr symbol) const {
    return std::as_const(graph_.pool()).symbol_info(symbol.symbol());
  }

  /// Whether a dim is one of the node's attributes, and so nothing that it finds out. Ops with a
  /// body name there what their body finds out.
  static bool is_attribute(const Node& node, Expr dim) {
    bool found = false;
    for (size_t k = 0; k < node.op.def().fields.size(); ++k) {
      const Attribute attribute = node.op.attribute(k);
      if (std::holds_alternative<GraphRef>(attribute)) return false;
      const auto* dims = std::get_if<Exprs>(&attribute);
      const auto* single = std::get_if<Expr>(&attribute);
      found = found || (single != nullptr && *single == dim) ||
              (dims != nullptr && std::ranges::find(*dims, dim) != dims->end());
    }
    return found;
  }

  /// Counts the tokens that a node appends to a state, and refuses those that do not fit.
  Status append(const Node& node, ValueId output, std::span<const Tensor> planes) {
    const Type& type = graph_.type(output);
    for (const ValueId input : node.inputs) {
      if (!input.valid() || graph_.type(input).kind != Type::Kind::state) continue;
      const auto before = value_of(graph_.type(input).state.length);
      const auto after = value_of(type.state.length);
      const int64_t added = before && after ? std::max<int64_t>(*after - *before, 0) : 0;
      appended_[output.value] = appended_[input.value] + added;
      return check_room(type.state, planes, appended_[output.value]);
    }
    return ok();
  }

  Status run_node(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string label = node.provenance.empty()
                                  ? std::string(node.op.name())
                                  : concat("node '", node.provenance[0], "': ", node.op.name());
    if (node.op.is<Unimplemented>()) {
      return unsupported(label, ": ", node.op.as<Unimplemented>()->reason);
    }
    std::vector<Tensor> in;
    ReferenceContext ctx;
    for (const ValueId input : node.inputs) {
      if (input.valid()) {
        for (const Tensor& plane : planes_[input.value]) in.push_back(plane);
      } else {
        in.emplace_back(DType::f32, std::vector<int64_t>{0});
      }
      ctx.present.resize(in.size(), input.valid());
    }
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      const auto planes = planes_of(graph_.type(output));
      for (const TensorType& plane : planes) {
        if (graph_.type(output).is_tensor()) TRY_STATUS(add_note(check_dims(node, plane), label));
        types.push_back(plane);
      }
      std::vector<int64_t> dims;
      if (!graph_.type(output).is_state()) {
        for (const Expr dim : planes[0].dims) dims.push_back(value_of(dim).value_or(kUnknown));
      }
      ctx.out_dims.push_back(std::move(dims));
      ctx.out_dtypes.push_back(planes[0].dtype);
    }
    ctx.in = in;
    ctx.symbols = symbols_;
    std::vector<Tensor> results;
    if (node.op.def().reference != nullptr) {
      results = node.op.def().reference(node.op.data(), ctx);
      if (ctx.failure) return add_note(*std::move(ctx.failure), label);
    } else if (node.op.def().expand != nullptr) {
      TRY(results, run_expanded(node, in));
    } else {
      return unsupported(label, ": has no reference");
    }
    if (results.size() != types.size()) {
      return internal_error(label, ": expected ", types.size(), " results, got ", results.size());
    }
    return keep(node, label, types, std::move(results));
  }

  Status keep(const Node& node, const std::string& label, std::span<const TensorType> types,
              std::vector<Tensor> results) {
    size_t next = 0;
    for (const ValueId output : node.outputs) {
      const size_t first = next;
      for (size_t count = plane_count(graph_.type(output)); count > 0; --count, ++next) {
        Tensor& result = results[next];
        if (result.rank() == types[next].rank()) bind(types[next].dims, result.dims());
        const auto problem = find_mismatch(types[next], result);
        if (!problem.empty()) return internal_error(label, ": ", problem);
        if (on_value_ && graph_.type(output).is_tensor()) on_value_(output, result);
        planes_[output.value].push_back(std::move(result));
      }
      if (next - first > 1) {
        TRY_STATUS(add_note(append(node, output, planes_[output.value]), label));
      }
    }
    for (const ValueId input : node.inputs) {
      if (input.valid() && --remaining_[input.value] == 0) planes_[input.value].clear();
    }
    for (const ValueId output : node.outputs) {
      if (remaining_[output.value] == 0) planes_[output.value].clear();
    }
    return ok();
  }

  Result<std::vector<Tensor>> run_expanded(const Node& node, std::span<const Tensor> in) {
    Graph inner(graph_.shared_pool());
    std::vector<ValueId> arguments;
    std::vector<Tensor> given;
    size_t next = 0;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) {
        arguments.emplace_back();
        ++next;
        continue;
      }
      arguments.push_back(inner.add_input(concat(arguments.size()), graph_.type(input)));
      for (size_t k = plane_count(graph_.type(input)); k > 0; --k) given.push_back(in[next++]);
    }
    std::vector<GraphOutput> outputs;
    for (const ValueId output : expand_into(inner, node.op, arguments)) {
      outputs.push_back({concat(outputs.size()), output});
    }
    inner.set_outputs(std::move(outputs));
    Interpreter interpreter(inner);
    interpreter.known_symbols = symbols_;
    return interpreter.run(given);
  }

  const Graph& graph_;
  std::vector<int64_t>& symbols_;
  const std::function<void(ValueId, const Tensor&)>& on_value_;
  std::vector<std::vector<Tensor>> planes_;  // by value
  std::vector<int64_t> appended_;            // tokens since the input, by value
  std::vector<size_t> remaining_;            // uses to come, by value
  const int64_t most_elements_ = most_elements();
};

}  // namespace

std::vector<ValueId> expand_into(Graph& graph, const OpRef& op, std::span<const ValueId> inputs,
                                 const std::vector<std::string>& provenance) {
  CHECK(op.def().expand != nullptr, op.name(), ": is not a composite op");
  GraphExpansion expansion(graph, provenance);
  return op.def().expand(op.data(), expansion, inputs);
}

size_t plane_count(const Type& type) {
  switch (type.kind) {
    case Type::Kind::tensor:
    case Type::Kind::container:
      return 1;
    case Type::Kind::state:
      return type.state.layout == StateLayout::paged ? 3 : 2;
  }
  INGOT_UNREACHABLE();
}

Interpreter::Interpreter(const Graph& graph) : graph_(graph) {}

Result<std::vector<Tensor>> Interpreter::run(std::span<const Tensor> inputs) {
  symbols = known_symbols;
  return Run(graph_, symbols, on_value).run(inputs);
}

}  // namespace ingot
