// codegen/in_place.cc: compares where a region reads with where it writes.
#include "codegen/in_place.h"

#include <algorithm>

#include "codegen/emit_template.h"
#include "codegen/region.h"
#include "ops/fusion.h"
#include "passes/access.h"

namespace ingot {
namespace {

/// Whether each input of a body reaches the operands of its template, which are read in an order of
/// the template's own.
std::vector<bool> read_by_template(const Graph& body) {
  std::vector<bool> reached(body.inputs().size(), false);
  const NodeId node = find_template(body);
  if (!node.valid()) return reached;
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

bool all_lower(const Graph& body) {
  return std::ranges::all_of(body.nodes(), [&](NodeId id) {
    return body.node(id).op.is<Constant>() || body.node(id).op.def().lower != nullptr;
  });
}

}  // namespace

std::vector<size_t> inputs_to_overwrite(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto* fusion = node.op.as<ops::Fusion>();
  if (fusion == nullptr || node.outputs.size() != 1 || !all_lower(*fusion->body)) return {};
  if (!graph.type(node.outputs[0]).is_tensor()) return {};
  const std::vector<bool> excluded = read_by_template(*fusion->body);
  const AccessProfile profile = profile_of(graph, id);
  const TensorType& written = graph.tensor(node.outputs[0]);
  const Expr place = Region::offset(written, profile.index, graph.pool());
  std::vector<size_t> found;
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    if (excluded[slot] || !graph.type(node.inputs[slot]).is_tensor()) continue;
    const TensorType& read = graph.tensor(node.inputs[slot]);
    const bool same_size = bits(read.dtype) == bits(written.dtype) &&
                           element_count(graph.pool(), read.dims) ==
                               element_count(graph.pool(), written.dims);
    const bool in_place = std::ranges::all_of(profile.accesses, [&](const Access& access) {
      return access.input != slot || Region::offset(read, access.index, graph.pool()) == place;
    });
    if (same_size && in_place) found.push_back(slot);
  }
  return found;
}

}  // namespace ingot
