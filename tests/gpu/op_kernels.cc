// tests/gpu/op_kernels.cc: the derived cases of operators as loop nests for the emulator.
#include "op_kernels.h"

#include "base/text.h"
#include "codegen/schedule.h"
#include "ops/registry.h"

namespace ingot {
namespace {

/// Output `number` of a case as a kernel of its own, reading the case's inputs.
KernelCase kernel_of(const OpCase& op, size_t number, std::string name) {
  Graph graph = op.graph;
  const GraphOutput output = op.graph.outputs()[number];
  graph.set_outputs({output});
  Region region(graph);
  KernelCase at;
  at.label = concat(op.label, ", output ", number);
  at.kernel = schedule(region, std::move(name), {op.label});
  at.symbols = op.symbols;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const BufferValues values = buffer_of(op.inputs[k], at.kernel.buffers[k].dtype);
    at.before.push_back(values);
    at.after.push_back(values);
  }
  if (at.kernel.buffers.size() > op.inputs.size()) {
    // An op that changes a tensor in place begins with its first input; others write everything.
    const bool in_place = op.op().def().lower_scatter != nullptr;
    const DType dtype = at.kernel.buffers.back().dtype;
    at.before.push_back(in_place ? buffer_of(op.inputs[0], dtype) : BufferValues{dtype, {}, {}});
    at.after.push_back(buffer_of(op.expected[number], dtype));
  }
  return at;
}

}  // namespace

Result<std::vector<OpKernels>> op_kernels(uint64_t seeds) {
  std::vector<OpKernels> all;
  int count = 0;
  const auto add = [&](OpCase op) {
    OpKernels made{std::make_shared<OpCase>(std::move(op)), {}};
    for (size_t k = 0; k < made.op->graph.outputs().size(); ++k) {
      const std::string name = concat(made.op->op().name(), "_", count++);
      made.kernels.push_back(kernel_of(*made.op, k, name));
    }
    all.push_back(std::move(made));
  };
  for (const OpDef* def : all_ops()) {
    if (def->lower == nullptr && def->lower_scatter == nullptr) continue;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      TRY(OpCase op, draw_case(*def, seed));
      int symbols = 0;
      TRY(OpCase dynamic, with_dynamic_dims(op, &symbols));
      add(std::move(op));
      if (symbols > 0) add(std::move(dynamic));
    }
  }
  return all;
}

}  // namespace ingot
