// codegen/program.cc: numbers values, finds their lifetimes, and writes each distinct kernel once.
#include "codegen/program.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"
#include "codegen/dim_table.h"
#include "codegen/emit_cpu.h"
#include "codegen/in_place.h"
#include "ops/control.h"
#include "ops/fusion.h"
#include "ops/reshape.h"
#include "passes/passes.h"

namespace ingot {
namespace {

constexpr int64_t kConstantAlignment = 64;

/// What a region is called: its most telling op.
std::string kind_name(const Graph& body) {
  std::string name = "pointwise";
  for (NodeId id : body.nodes()) {
    const std::string_view op = body.node(id).op.name();
    if (op == Constant::kName || op == "pointwise") continue;
    name = op;
    if (op == "matmul" || op.starts_with("conv") || op == "softmax" || op == "attention") break;
  }
  return name;
}

/// A region that only names the same bytes differently.
bool is_view(const Graph& body) {
  for (NodeId id : body.nodes()) {
    if (!body.node(id).op.is<ops::Reshape>()) return false;
  }
  return !body.nodes().empty();
}

class Planner {
 public:
  Planner(Graph graph, size_t first_prepared, std::string_view prefix)
      : first_prepared_(first_prepared), prefix_(prefix), root_(*this) {
    plan_.graph = std::move(graph);
  }
  /// Of a body: `known` are the symbols that the program around has defined.
  Planner(const Graph& body, Planner& root, const std::set<uint32_t>& known)
      : first_prepared_(body.inputs().size()), root_(root), known_(known) {
    plan_.graph = body;
    plan_.is_body = true;
    for (const GraphInput& input : body.inputs()) {
      for (const Expr& dim : body.tensor(input.value).dims) known_.merge(symbols_of(dim));
    }
  }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  ProgramPlan run() {
    find_last_readers();
    add_inputs();
    for (NodeId id : plan_.graph.nodes()) add_node(id);
    finish_outputs();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }

  Expr bytes(const TensorType& type) {
    const Expr elements = element_count(graph().pool(), type.dims);
    if (is_packed(type.dtype)) return ceildiv(elements, 8 / bits(type.dtype));
    return elements * (bits(type.dtype) / 8);
  }

  uint32_t add_value(PlannedValue value) {
    plan_.values.push_back(std::move(value));
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }

  void add_inputs() {
    for (size_t k = 0; k < graph().inputs().size(); ++k) {
      const GraphInput& input = graph().inputs()[k];
      const Type& type = graph().type(input.value);
      if (type.is_state()) {
        add_state(k, input.value, type.state);
        continue;
      }
      PlannedValue value;
      value.bytes = bytes(type.tensor);
      if (k >= first_prepared_) {
        value.kind = PlannedValue::Kind::constant;
        value.base = static_cast<uint32_t>(plan_.constants.size());
        PlannedConstant constant{input.name,
                                 {},
                                 static_cast<int64_t>(k - first_prepared_),
                                 0,
                                 value.bytes.as_int().value_or(0)};
        plan_.constants.push_back(std::move(constant));
      } else {
        value.kind = PlannedValue::Kind::input;
        value.base = static_cast<uint32_t>(plan_.inputs.size());
        plan_.inputs.push_back(k);
        plan_.input_values.push_back(static_cast<uint32_t>(plan_.values.size()));
      }
      number_[input.value] = {add_value(std::move(value))};
    }
  }

  void add_state(size_t input, ValueId id, const StateType& type) {
    PlannedState state;
    state.input = input;
    state.type = type;
    const auto number = static_cast<uint32_t>(plan_.states.size());
    const auto plane = [&](uint32_t which) {
      PlannedValue value;
      value.kind = PlannedValue::Kind::state;
      value.base = number;
      value.plane = which;
      return add_value(std::move(value));
    };
    std::vector<uint32_t> planes = {state.data = plane(0)};
    if (type.layout == StateLayout::paged) planes.push_back(state.table = plane(1));
    planes.push_back(state.lengths = plane(2));
    state.appended = graph().pool().integer(0);
    state_of_[id] = number;
    number_[id] = std::move(planes);
    plan_.states.push_back(std::move(state));
  }

  /// The value whose memory a value is, if nothing but views stand between.
  ValueId viewed(ValueId id) const {
    while (graph().value(id).producer.valid() && is_view_node(graph().value(id).producer)) {
      id = graph().node(graph().value(id).producer).inputs[0];
    }
    return id;
  }

  bool is_view_node(NodeId id) const {
    const auto* fusion = graph().node(id).op.as<ops::Fusion>();
    return fusion != nullptr && is_view(*fusion->body);
  }

  void find_last_readers() {
    for (NodeId id : graph().nodes()) {
      for (ValueId input : graph().node(id).inputs) {
        if (input.valid()) last_reader_[viewed(input)] = id;
      }
    }
  }

  /// An operand whose memory the result of a kernel takes over: its elements are read where the
  /// result's are written, and by nothing later.
  std::optional<uint32_t> operand_to_overwrite(NodeId id) const {
    const Node& node = graph().node(id);
    if (graph().is_graph_output(node.outputs[0])) return std::nullopt;
    std::vector<size_t> slots;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const ValueId memory = viewed(node.inputs[slot]);
      const bool is_last = last_reader_.at(memory) == id && !graph().is_graph_output(memory);
      if (is_last && is_in_arena(number_.at(node.inputs[slot])[0])) slots.push_back(slot);
    }
    if (slots.empty()) return std::nullopt;
    slots = inputs_to_overwrite(*node.op.as<ops::Fusion>()->body, std::move(slots));
    for (const size_t slot : slots) {
      bool alone = true;  // other operands in the same memory have to be such, too
      for (size_t other = 0; other < node.inputs.size(); ++other) {
        const bool same = viewed(node.inputs[other]) == viewed(node.inputs[slot]);
        alone &= !same || std::ranges::find(slots, other) != slots.end();
      }
      if (alone) return number_.at(node.inputs[slot])[0];
    }
    return std::nullopt;
  }

  bool is_in_arena(uint32_t number) const {
    while (plan_.values[number].kind == PlannedValue::Kind::alias) {
      number = plan_.values[number].base;
    }
    return plan_.values[number].kind == PlannedValue::Kind::arena;
  }

  void use(ValueId id) {
    for (uint32_t value : number_.at(id)) touch(value);
  }
  void touch(uint32_t value) {
    const auto step = static_cast<uint32_t>(plan_.steps.size());
    plan_.values[value].last_step = std::max(plan_.values[value].last_step, step);
    if (plan_.values[value].kind == PlannedValue::Kind::alias) touch(plan_.values[value].base);
  }

  uint32_t add_result(ValueId id) {
    PlannedValue value;
    value.bytes = bytes(graph().tensor(id));
    value.first_step = value.last_step = static_cast<uint32_t>(plan_.steps.size());
    const uint32_t number = add_value(std::move(value));
    number_[id] = {number};
    return number;
  }

  void add_node(NodeId id) {
    const Node& node = graph().node(id);
    const ConstantData* data = graph().constant(node.outputs[0]);
    if (data != nullptr && data->dtype == DType::str) {
      static constexpr RoutineInfo kStringConstant = {"ingot_string_constant"};
      add_routine(id, kStringConstant);
      return;
    }
    if (data != nullptr) {
      add_constant(node.outputs[0], *data);
      return;
    }
    if (ops::is_control(node.op)) {
      add_control(id);
      return;
    }
    const auto* fusion = node.op.as<ops::Fusion>();
    if (fusion == nullptr) {
      CHECK(node.op.def().routine != nullptr, "legalize let ", node.op.name(), " through");
      add_routine(id, *node.op.def().routine);
      return;
    }
    if (is_view(*fusion->body) && !graph().is_graph_output(node.outputs[0]) &&
        is_movable(node.inputs[0])) {
      PlannedValue value;
      value.kind = PlannedValue::Kind::alias;
      value.base = number_.at(node.inputs[0])[0];
      value.bytes = bytes(graph().tensor(node.outputs[0]));
      value.first_step = value.last_step = plan_.values[value.base].first_step;
      number_[node.outputs[0]] = {add_value(std::move(value))};
      return;
    }
    add_kernel(id, *fusion);
  }

  bool is_movable(ValueId id) const {
    return plan_.values[number_.at(id)[0]].kind != PlannedValue::Kind::state;
  }

  void add_constant(ValueId id, const ConstantData& data) {
    PlannedValue value;
    value.kind = PlannedValue::Kind::constant;
    value.base = static_cast<uint32_t>(root_.plan_.constants.size());
    value.bytes = bytes(graph().tensor(id));
    root_.plan_.constants.push_back(
        {graph().value(id).name, data, -1, 0, static_cast<int64_t>(data.bytes.size())});
    number_[id] = {add_value(std::move(value))};
  }

  void add_routine(NodeId id, const RoutineInfo& routine) {
    const Node& node = graph().node(id);
    PlannedStep step;
    step.routine = &routine;
    step.node = id;
    step.provenance = node.provenance;
    for (ValueId input : node.inputs) {
      use(input);
      step.operands.push_back(number_.at(input)[0]);
    }
    add_results(node, step);
    plan_.steps.push_back(std::move(step));
  }

  /// The outputs of a step that may find out their sizes.
  void add_results(const Node& node, PlannedStep& step) {
    for (ValueId output : node.outputs) {
      step.operands.push_back(add_result(output));
      for (const Expr& dim : graph().tensor(output).dims) {
        for (uint32_t symbol : symbols_of(dim)) {
          const bool dependent = graph().pool().symbol_info(SymbolId(symbol)).data_dependent;
          if (!dependent || known_.contains(symbol)) continue;
          if (plan_.defined.insert(symbol).second) step.defines.push_back(SymbolId(symbol));
        }
      }
    }
    std::ranges::sort(step.defines, {}, &SymbolId::value);
  }

  void add_control(NodeId id) {
    const Node& node = graph().node(id);
    PlannedStep step;
    step.node = id;
    step.provenance = node.provenance;
    std::set<uint32_t> known = known_;
    known.insert(plan_.defined.begin(), plan_.defined.end());
    for (const GraphRef& body : ops::bodies_of(node.op)) {
      ProgramPlan plan = Planner(*body, root_, known).run();
      step.bodies.push_back(static_cast<uint32_t>(root_.plan_.bodies.size()));
      root_.plan_.bodies.push_back(std::move(plan));
    }
    for (ValueId input : node.inputs) {
      use(input);
      step.operands.push_back(number_.at(input)[0]);
    }
    add_results(node, step);
    plan_.steps.push_back(std::move(step));
  }

  void add_kernel(NodeId id, const ops::Fusion& fusion) {
    const Node& node = graph().node(id);
    PlannedStep step;
    step.node = id;
    step.provenance = node.provenance;
    for (ValueId input : node.inputs) {
      use(input);
      const auto& planes = number_.at(input);
      step.operands.insert(step.operands.end(), planes.begin(), planes.end());
    }
    const std::optional<uint32_t> overwritten = operand_to_overwrite(id);
    for (ValueId output : node.outputs) {
      if (!graph().type(output).is_state()) {
        const uint32_t result = add_result(output);
        step.operands.push_back(result);
        if (overwritten) {
          plan_.values[result].kind = PlannedValue::Kind::alias;
          plan_.values[result].base = *overwritten;
        }
      } else {
        continue_state(node, output, *fusion.body);
      }
    }
    step.kernel = kernel_of(*fusion.body, node.provenance, &step.kernel_symbols);
    plan_.steps.push_back(std::move(step));
  }

  /// A state that a kernel updated is the memory of its input.
  void continue_state(const Node& node, ValueId output, const Graph& body) {
    ValueId at = body.outputs()[0].value;
    while (body.value(at).producer.valid()) {
      at = body.node(body.value(at).producer).inputs[0];
    }
    const ValueId from = node.inputs[body.value(at).port];
    number_[output] = number_.at(from);
    const uint32_t number = state_of_.at(from);
    state_of_[output] = number;
    PlannedState& state = plan_.states[number];
    state.appended = graph().type(output).state.length - state.type.length;
  }

  static EmittedKernel emit(const Graph& region, std::string_view name, BufferNames names) {
    return find_template(region).valid() ? emit_template(region, name, names)
                                         : emit_loops(region, name, names);
  }

  uint32_t kernel_of(const Graph& body, const std::vector<std::string>& provenance,
                     Exprs* symbols) {
    DimTable dims(DimTable::Names::neutral);
    const Graph region = over(body, dims);
    *symbols = dims.leaves();
    const EmittedKernel neutral = emit(region, "kernel", BufferNames::neutral);
    const std::string key =
        concat(neutral.text, cpu_dim(neutral.units), "\n", cpu_dim(neutral.unit_ns));
    const auto [at, fresh] =
        root_.kernels_.try_emplace(key, static_cast<uint32_t>(root_.plan_.kernels.size()));
    if (fresh) {
      PlannedKernel kernel;
      kernel.name = concat(root_.prefix_, kind_name(body), "_", root_.plan_.kernels.size());
      DimTable named(DimTable::Names::of_symbols);
      kernel.region = over(body, named);
      kernel.emitted = emit(kernel.region, kernel.name, BufferNames::of_values);
      kernel.text = std::move(kernel.emitted.text);
      root_.plan_.kernels.push_back(std::move(kernel));
    }
    std::vector<std::string>& all = root_.plan_.kernels[at->second].provenance;
    all.insert(all.end(), provenance.begin(), provenance.end());
    return at->second;
  }

  /// The region over the symbols of a table.
  static Graph over(const Graph& body, DimTable& dims) {
    Result<Graph> mapped = map_dims(body, dims.pool(), [&](Expr e) { return dims.find_leaf(e); });
    CHECK(mapped, mapped ? std::string() : to_text(mapped.error()));
    return std::move(*mapped);
  }

  void finish_outputs() {
    const auto last = static_cast<uint32_t>(std::max<size_t>(plan_.steps.size(), 1) - 1);
    for (size_t k = 0; k < graph().outputs().size(); ++k) {
      const GraphOutput& output = graph().outputs()[k];
      if (graph().type(output.value).is_state()) {
        plan_.states[state_of_.at(output.value)].output_name = output.name;
        continue;
      }
      const uint32_t number = number_.at(output.value)[0];
      PlannedValue& value = plan_.values[number];
      CHECK(value.kind == PlannedValue::Kind::arena, "fuse gives every output memory of its own");
      value.kind = PlannedValue::Kind::output;
      value.base = static_cast<uint32_t>(plan_.outputs.size());
      value.last_step = last;
      plan_.outputs.push_back(k);
      plan_.output_values.push_back(number);
    }
  }

  ProgramPlan plan_;
  size_t first_prepared_;
  std::string prefix_;
  std::map<ValueId, std::vector<uint32_t>> number_;  // planes for states
  std::map<ValueId, uint32_t> state_of_;
  std::unordered_map<std::string, uint32_t> kernels_;
  std::map<ValueId, NodeId> last_reader_;  // of a value or a view of it
  Planner& root_;                          // whose kernels and constants bodies share
  std::set<uint32_t> known_;               // data-dependent symbols that need no step here
};

}  // namespace

ProgramPlan plan_program(Graph graph, size_t first_prepared, std::string_view prefix) {
  return Planner(std::move(graph), first_prepared, prefix).run();
}

int64_t aligned(int64_t offset) {
  return (offset + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
}

int64_t place_constants(ProgramPlan& plan, Placed which, int64_t first) {
  int64_t offset = first;
  for (PlannedConstant& constant : plan.constants) {
    const Placed kind = constant.prepared < 0 ? Placed::held : Placed::prepared;
    if (which != Placed::all && which != kind) continue;
    constant.offset = offset;
    offset = aligned(offset + constant.size_bytes);
  }
  return offset;
}

}  // namespace ingot
