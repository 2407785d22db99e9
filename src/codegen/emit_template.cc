// codegen/emit_template.cc: which regions have a template, and who writes it.
#include "codegen/emit_template.h"

#include "base/check.h"
#include "codegen/emit_cpu.h"
#include "codegen/schedule.h"
#include "codegen/template_writer.h"

namespace ingot {

NodeId find_template(const Graph& body) {
  NodeId last;
  for (NodeId id : body.nodes()) {
    // Weights are read where they lie; what is multiplied by them may be computed here.
    if (template_of(body, id) != TemplateKind::none &&
        !body.value(body.node(id).inputs[1]).producer.valid()) {
      last = id;
    }
  }
  return last;
}

EmittedKernel emit_template(const Graph& body, std::string_view name, BufferNames names) {
  const NodeId node = find_template(body);
  CHECK(node.valid(), "the region has a template");
  TemplateWriter writer(body, node, names);
  const TemplateKind kind = template_of(body, node);
  const NodeId first = writer.is_produced() ? writer.product_of_operand() : NodeId();
  EmittedKernel kernel = kind != TemplateKind::gemm ? emit_conv(writer, kind, name)
                         : first.valid()            ? emit_chain(writer, body.node(first), name)
                                                    : emit_gemm(writer, name);
  kernel.shared = writer.shared();
  return kernel;
}

EmittedKernel emit_loops(const Graph& body, std::string_view name, BufferNames names) {
  Region region(body);
  Kernel kernel = schedule(region, std::string(name), {});
  if (names == BufferNames::neutral) {
    for (BufferParam& buffer : kernel.buffers) buffer.name = "x";
  }
  EmittedKernel result;
  result.text = emit_cpu(kernel);
  result.units = unit_count(kernel);
  result.unit_ns = estimate_unit_ns(kernel);
  result.scratch_bytes = kernel.pool->integer(0);
  return result;
}

}  // namespace ingot
