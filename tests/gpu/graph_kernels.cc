// tests/gpu/graph_kernels.cc: whole graphs in the emulator, one region after the other.
#include "graph_kernels.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "codegen/schedule.h"
#include "ops/fusion.h"
#include "passes/pass.h"

namespace ingot {
namespace {

/// An output with its dims and no values yet.
Tensor empty_output(const Graph& graph, ValueId output, std::span<const int64_t> symbols) {
  const TensorType& type = graph.tensor(output);
  std::vector<int64_t> dims;
  for (const Expr& dim : type.dims) dims.push_back(evaluate_dim(dim, symbols));
  return {type.dtype, std::move(dims)};
}

}  // namespace

Result<size_t> EmulatedGraphs::add(const Graph& graph, std::string_view label,
                                   const std::set<std::string, std::less<>>& disabled) {
  Graph fused = graph;
  PassOptions options;
  options.disabled = disabled;
  // As loops, one product inside another would be computed again for each of its columns.
  options.disabled.insert("fuse_products");
  TRY(auto records, run_passes(fused, closing_pipeline(), options));
  (void)records;
  std::map<NodeId, size_t> numbers;
  std::vector<KernelCase> made;
  for (const NodeId id : fused.nodes()) {
    const Node& node = fused.node(id);
    if (node.op.is<Constant>()) continue;
    const auto* fusion = node.op.as<ops::Fusion>();
    if (fusion == nullptr) return unsupported(node.op.name(), ": is no kernel");
    Region region(*fusion->body);
    KernelCase at;
    at.label = concat(label, ", region ", made.size());
    at.kernel = schedule(region, concat("g", programs_.size(), "_", made.size()), node.provenance);
    numbers[id] = kernels_.size() + made.size();
    made.push_back(std::move(at));
  }
  programs_.push_back({std::move(fused), std::move(numbers)});
  std::ranges::move(made, std::back_inserter(kernels_));
  return programs_.size() - 1;
}

Status EmulatedGraphs::build(EmulatedMode mode) {
  batch_.reset();
  TRY(batch_, EmulatedBatch::compile(kernels_, std::move(mode)));
  return ok();
}

Result<std::vector<Tensor>> EmulatedGraphs::run(size_t number, std::span<const Tensor> inputs,
                                                std::span<const int64_t> symbols) const {
  const Graph& graph = programs_[number].graph;
  std::map<ValueId, Tensor> values;
  for (size_t k = 0; k < inputs.size(); ++k) values[graph.inputs()[k].value] = inputs[k];
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (const ConstantData* constant = graph.constant(node.outputs[0])) {
      TRY(values[node.outputs[0]], to_tensor(*constant));
      continue;
    }
    const size_t kernel = programs_[number].kernels.at(id);
    const std::vector<BufferParam>& buffers = kernels_[kernel].kernel.buffers;
    KernelData data;
    data.symbols.assign(symbols.begin(), symbols.end());
    for (const ValueId input : node.inputs) {
      data.before.push_back(buffer_of(values.at(input), buffers[data.before.size()].dtype));
    }
    data.after = data.before;
    for (const ValueId id : node.outputs) {
      const Tensor output = empty_output(graph, id, symbols);
      data.before.push_back({output.dtype(), {}, {}});
      data.after.push_back(buffer_of(output, output.dtype()));
    }
    TRY(const std::vector<BufferValues> got, batch_->run_on(kernel, data));
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const size_t last = got.size() - node.outputs.size();
      values[node.outputs[k]] =
          to_tensor(empty_output(graph, node.outputs[k], symbols), got[last + k]);
    }
  }
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.push_back(values.at(output.value));
  return outputs;
}

}  // namespace ingot
