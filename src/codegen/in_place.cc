// codegen/in_place.cc: compares where a region reads with where it writes.
#include "codegen/in_place.h"

#include <algorithm>

#include "codegen/emit_cpu.h"
#include "codegen/emit_template.h"
#include "codegen/region.h"
#include "passes/region_body.h"

namespace ingot {
namespace {

/// Whether each input of a body reaches the operands of its template, which are read in an order of
/// the template's own.
std::vector<bool> read_by_template(const Graph& body, NodeId node) {
  std::vector<bool> reached(body.inputs().size(), false);
  std::vector<ValueId> work = body.node(node).inputs;
  std::vector<bool> seen(body.value_count(), false);
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    if (!value.valid() || seen[value.value]) continue;
    seen[value.value] = true;
    const Value& info = body.value(value);
    if (!info.producer.valid()) {
      reached[info.port] = true;
      continue;
    }
    const auto& more = body.node(info.producer).inputs;
    work.insert(work.end(), more.begin(), more.end());
  }
  return reached;
}

bool has_scatter(const Graph& body) {
  return std::ranges::any_of(body.nodes(), [&](NodeId id) { return is_scatter(body.node(id)); });
}

}  // namespace

std::vector<size_t> inputs_to_overwrite(const Graph& body, std::vector<size_t> inputs) {
  const ValueId output = body.outputs()[0].value;
  if (body.outputs().size() != 1 || !body.type(output).is_tensor() || has_scatter(body)) return {};
  const TensorType& written = body.tensor(output);
  ExprPool& pool = body.pool();
  const NodeId product = find_template(body);
  const std::vector<bool> excluded =
      product.valid() ? read_by_template(body, product) : std::vector<bool>(body.inputs().size());
  std::erase_if(inputs, [&](size_t input) {
    const Type& type = body.type(body.inputs()[input].value);
    return excluded[input] || !type.is_tensor() || is_packed(written.dtype) ||
           bits(type.tensor.dtype) != bits(written.dtype) ||
           element_count(pool, type.tensor.dims) != element_count(pool, written.dims);
  });
  if (inputs.empty()) return {};

  Region region(body);
  if (product.valid()) {
    const ValueId result = body.node(product).outputs[0];
    const Expr sum = pool.param(0, compute_dtype(body.tensor(result).dtype));
    region.bind(result, [sum](std::span<const Expr>) { return sum; });
  }
  Exprs index;
  for (const Expr& dim : written.dims) {
    index.push_back(dim.is_int(1) ? pool.integer(0) : pool.fresh_index(dim));
  }
  const Expr place = Region::offset(written, index, pool);
  const Expr stored = region.stored(0, index);
  std::erase_if(inputs, [&](size_t input) {
    bool elsewhere = false;
    for_each(stored, [&](Expr e) {
      elsewhere |= e.kind() == ExprKind::load && e.buffer() == region.input_buffer(input) &&
                   e.operand(0) != place;
    });
    return elsewhere;
  });
  return inputs;
}

}  // namespace ingot
