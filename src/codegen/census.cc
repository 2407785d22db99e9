// codegen/census.cc: counts nodes, sizes and memory for reports.
#include "codegen/census.h"

#include <algorithm>
#include <set>

#include "codegen/emit_cpu.h"
#include "ops/control.h"

namespace ingot {
namespace {

NodeName name_of(const Node& node) {
  return {std::string(node.op.def().name), node.provenance};
}

/// Walks a graph whose nodes are in topological order.
class Counter {
 public:
  explicit Counter(Census& census) : census_(census) {}

  /// `inputs`: per graph input, whether it holds data.
  void count(const Graph& graph, const std::vector<bool>& inputs) {
    std::vector<bool> has_data(graph.value_count());
    for (size_t k = 0; k < inputs.size(); ++k) {
      has_data[graph.inputs()[k].value.value] = inputs[k];
    }
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (node.op.is<Constant>()) continue;
      ++census_.nodes;
      const bool reads_data = node.op.def().accuracy.kind == Accuracy::Kind::random ||
                              std::ranges::any_of(node.inputs, [&](ValueId input) {
                                return input.valid() && has_data[input.value];
                              });
      for (const ValueId output : node.outputs) has_data[output.value] = reads_data;
      if (!reads_data && is_shape(graph, node)) census_.shape_nodes.push_back(name_of(node));
      add_sizes(graph, node);
      for (const GraphRef& body : ops::bodies_of(node.op)) {
        // What a loop carries holds data from the second turn on.
        count(*body, std::vector<bool>(body->inputs().size(), true));
      }
    }
  }

 private:
  static bool is_shape(const Graph& graph, const Node& node) {
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      if (!graph.type(output).is_tensor()) return false;
      const TensorType& type = graph.tensor(output);
      return (type.dtype == DType::i64 || type.dtype == DType::i32) && type.rank() <= 1;
    });
  }

  void add_sizes(const Graph& graph, const Node& node) {
    for (const ValueId output : node.outputs) {
      if (!graph.type(output).is_tensor()) continue;
      for (const Expr& dim : graph.tensor(output).dims) {
        for_each(dim, [&](Expr e) {
          if (e.kind() != ExprKind::symbol) return;
          const Symbol& symbol = std::as_const(graph.pool()).symbol_info(e.symbol());
          const bool known = std::ranges::any_of(
              census_.sizes, [&](const RunTimeSize& size) { return size.name == symbol.name; });
          if (!symbol.data_dependent || known) return;
          census_.sizes.push_back({symbol.name, name_of(node)});
        });
      }
    }
  }

  Census& census_;
};

/// The value of a symbol that is asked to be `wanted`, within its range.
int64_t value_within(const Symbol& symbol, int64_t wanted) {
  const int64_t step = std::max<int64_t>(symbol.divisor, 1);
  const int64_t value = std::clamp(wanted, symbol.range.lo, symbol.range.hi);
  const int64_t up = (value + step - 1) / step * step;
  return up <= symbol.range.hi ? up : up - step;
}

/// Whether a run allocates a value in the arena, of a size that is known before it.
bool is_planned(const ProgramPlan& plan, const PlannedValue& value) {
  if (value.kind != PlannedValue::Kind::arena || !value.bytes) return false;
  return std::ranges::none_of(symbols_of(value.bytes), [&](uint32_t symbol) {
    return plan.graph.pool().symbol_info(SymbolId(symbol)).data_dependent;
  });
}

/// Adds the arena of a program, which is not that of others. The fullest step is returned.
size_t add_memory(const ProgramPlan& plan, std::span<const int64_t> symbols, MemorySample& sample) {
  std::vector<uint64_t> alive(plan.steps.size() + 1, 0);
  for (const PlannedValue& value : plan.values) {
    if (value.kind != PlannedValue::Kind::arena || !value.bytes) continue;
    const int64_t bytes = std::max<int64_t>(evaluate_dim(value.bytes, symbols), 0);
    sample.sum += static_cast<uint64_t>(bytes);
    for (size_t step = value.first_step; step <= value.last_step && step < alive.size(); ++step) {
      alive[step] += static_cast<uint64_t>(bytes);
    }
  }
  const auto fullest = std::ranges::max_element(alive);
  sample.peak = std::max(sample.peak, *fullest);
  return static_cast<size_t>(fullest - alive.begin());
}

/// The bytes that are alive at a step.
Expr alive_at(const ProgramPlan& plan, size_t step) {
  Expr sum = plan.graph.pool().integer(0);
  for (const PlannedValue& value : plan.values) {
    const bool is_alive = value.first_step <= step && step <= value.last_step;
    if (is_alive && is_planned(plan, value)) sum = sum + value.bytes;
  }
  return sum;
}

}  // namespace

Census take_census(const Graph& graph, size_t first_constant) {
  Census census;
  std::vector<bool> inputs(graph.inputs().size(), false);
  std::fill_n(inputs.begin(), std::min(first_constant, inputs.size()), true);
  Counter(census).count(graph, inputs);
  return census;
}

MemoryCensus sample_memory(const ProgramPlan& plan) {
  const ExprPool& pool = plan.graph.pool();
  std::vector<bool> is_told(pool.symbol_count());
  for (const size_t input : plan.inputs) {
    for (const Expr& dim : plan.graph.tensor(plan.graph.inputs()[input].value).dims) {
      for_each(dim, [&](Expr e) {
        if (e.kind() == ExprKind::symbol) is_told[e.symbol().value] = true;
      });
    }
  }
  MemoryCensus census;
  std::vector<MemorySample>& samples = census.samples;
  std::set<size_t> fullest;
  for (const int64_t wanted : {1, 16, 128, 1024}) {
    MemorySample sample;
    std::vector<int64_t> symbols(pool.symbol_count(), 0);
    for (uint32_t id = 0; id < symbols.size(); ++id) {
      const Symbol& symbol = pool.symbol_info(SymbolId(id));
      if (symbol.data_dependent || !is_told[id]) continue;
      symbols[id] = value_within(symbol, wanted);
      sample.dims.emplace_back(symbol.name, symbols[id]);
    }
    if (!samples.empty() && samples.back().dims == sample.dims) continue;
    fullest.insert(add_memory(plan, symbols, sample));
    for (const ProgramPlan& body : plan.bodies) {
      if (&body.graph.pool() == &pool) add_memory(body, symbols, sample);
    }
    samples.push_back(std::move(sample));
  }
  for (const size_t step : fullest) {
    const Expr bytes = alive_at(plan, step);
    census.alive = census.alive ? max(census.alive, bytes) : bytes;
  }
  return census;
}

}  // namespace ingot
