// ir/graph.cc: the op graph's five verbs.
#include "ir/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/text.h"

namespace ingot {
namespace {

constexpr size_t kRecentAssumptions = 32;  // looked through for a repetition
constexpr size_t kMaxProvenance = 64;      // names of a node; more help nobody

Status check_arity(const OpDef& def, std::span<const ValueId> inputs) {
  size_t least = 0;
  bool endless = false;
  for (size_t k = 0; k < def.inputs.size(); ++k) {
    if (def.inputs[k].kind == PortKind::required) least = k + 1;
    if (def.inputs[k].kind == PortKind::variadic) endless = true;
  }
  if (inputs.size() < least || (!endless && inputs.size() > def.inputs.size())) {
    const size_t most = def.inputs.size();
    const std::string expected = endless         ? concat("at least ", least)
                                 : least == most ? concat(least)
                                                 : concat(least, " to ", most);
    return invalid_argument("expected ", expected, " inputs, got ", inputs.size());
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool optional = k < def.inputs.size() && def.inputs[k].kind == PortKind::optional;
    if (!inputs[k].valid() && !optional) {
      return invalid_argument("input ", k, " is required, but absent");
    }
  }
  return ok();
}

bool is_free_symbol(Expr dim) {
  return dim.kind() == ExprKind::symbol && dim.pool().symbol_info(dim.symbol()).data_dependent;
}

bool compatible_dims(const Exprs& a, const Exprs& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k] || (is_free_symbol(a[k]) && is_free_symbol(b[k]))) continue;
    if (!provably_equal(a[k], b[k])) return false;
  }
  return true;
}

}  // namespace

bool is_compatible(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Type::Kind::tensor:
      return a.tensor.dtype == b.tensor.dtype && compatible_dims(a.tensor.dims, b.tensor.dims);
    case Type::Kind::state: {
      const StateType& x = a.state;
      const StateType& y = b.state;
      // The length grows from value to value; it is a bound, not a part of the layout.
      const bool same_kind =
          x.dtype == y.dtype && x.layout == y.layout && x.block_size == y.block_size;
      if (!same_kind || !compatible_dims(x.token, y.token)) return false;
      Exprs sizes_x = {x.batch, x.capacity};
      Exprs sizes_y = {y.batch, y.capacity};
      if (x.layout == StateLayout::paged) {
        sizes_x.push_back(x.max_blocks);
        sizes_y.push_back(y.max_blocks);
      }
      return compatible_dims(sizes_x, sizes_y);
    }
    case Type::Kind::container:
      return a.container == b.container;
  }
  INGOT_UNREACHABLE();
}

Graph::Graph(std::shared_ptr<ExprPool> pool) : pool_(std::move(pool)) {
  CHECK(pool_ != nullptr, "graph: needs a pool of expressions");
}

ValueId Graph::new_value(Type type, NodeId producer, size_t port) {
  const ValueId id(values_.size());
  Value& value = values_.emplace_back();
  value.type = std::move(type);
  value.producer = producer;
  value.port = static_cast<uint32_t>(port);
  return id;
}

ValueId Graph::add_input(std::string name, Type type) {
  const ValueId id = new_value(std::move(type), NodeId(), inputs_.size());
  values_[id.value].name = name;
  inputs_.push_back({std::move(name), id});
  return id;
}

void Graph::set_input_name(size_t number, std::string name) {
  inputs_[number].name = std::move(name);
}

ValueId Graph::add_constant(ConstantData data, std::string name) {
  const ValueId id = must_add(Constant{std::move(data)}, {});
  values_[id.value].name = std::move(name);
  return id;
}

void Graph::assume(const Assumption& assumption) {
  const size_t begin = assumptions_.size() - std::min(assumptions_.size(), kRecentAssumptions);
  for (size_t k = begin; k < assumptions_.size(); ++k) {
    const Assumption& known = assumptions_[k];
    if (known.a == assumption.a && known.b == assumption.b) return;
  }
  assumptions_.push_back(assumption);
}

Result<Types> Graph::infer(const OpRef& op, std::span<const ValueId> inputs) {
  TRY_STATUS(add_note(check_arity(op.def(), inputs), op.name()));
  std::vector<Type> types(inputs.size(), Type(ContainerType{}));
  InferContext ctx{*pool_, types, std::vector<bool>(inputs.size(), false), {}};
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].valid()) continue;
    CHECK(inputs[k].value < values_.size(), op.name(), ": input ", k, " is not of this graph");
    types[k] = type(inputs[k]);
    ctx.present[k] = true;
  }
  ctx.inputs = types;
  Result<Types> outputs = op.def().infer(op.data(), ctx);
  if (!outputs) {
    // Most ops begin their messages with their name; helpers such as broadcast() cannot.
    const bool named = outputs.error().message.starts_with(op.name());
    return named ? std::move(outputs) : add_note(std::move(outputs), op.name());
  }
  for (const Assumption& assumption : ctx.assumptions) assume(assumption);
  return outputs;
}

Result<std::vector<ValueId>> Graph::add(OpRef op, std::vector<ValueId> inputs,
                                        std::vector<std::string> provenance) {
  CHECK(op, "graph: add of no op");
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  auto types = infer(op, inputs);
  if (!types) {
    if (provenance.empty()) return std::move(types.error());
    return add_note(std::move(types.error()), "node '", provenance[0], "'");
  }
  const NodeId id(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.provenance = std::move(provenance);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid()) continue;
    values_[node.inputs[k].value].uses.push_back({id, static_cast<uint32_t>(k)});
  }
  for (size_t k = 0; k < types->size(); ++k) {
    node.outputs.push_back(new_value(std::move((*types)[k]), id, k));
  }
  return node.outputs;
}

ValueId Graph::must_add(OpRef op, std::vector<ValueId> inputs,
                        std::vector<std::string> provenance) {
  const std::string_view op_name = op.name();
  auto outputs = add(std::move(op), std::move(inputs), std::move(provenance));
  CHECK(outputs, op_name, ": ", outputs ? std::string() : to_text(outputs.error()));
  return outputs->at(0);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  CHECK(is_compatible(type(from), type(to)), "replace_uses: expected type ", type(from), ", got ",
        type(to));
  std::vector<Use> moved = std::move(values_[from.value].uses);
  values_[from.value].uses.clear();
  auto& uses = values_[to.value].uses;
  for (const Use& use : moved) {
    nodes_[use.node.value].inputs[use.slot] = to;
    uses.push_back(use);
  }
  if (values_[from.value].output_count == 0) return;
  for (GraphOutput& output : outputs_) {
    if (output.value == from) output.value = to;
  }
  values_[to.value].output_count += std::exchange(values_[from.value].output_count, 0);
}

void Graph::set_op(NodeId id, OpRef op) {
  Node& node = nodes_[id.value];
  auto types = infer(op, node.inputs);
  CHECK(types, "set_op: ", types ? std::string() : to_text(types.error()));
  CHECK(types->size() == node.outputs.size(), "set_op ", op.name(), ": expected ",
        node.outputs.size(), " outputs, got ", types->size());
  for (size_t k = 0; k < types->size(); ++k) {
    CHECK(is_compatible((*types)[k], type(node.outputs[k])), "set_op ", op.name(),
          ": expected type ", type(node.outputs[k]), ", got ", (*types)[k]);
  }
  nodes_[id.value].op = std::move(op);
}

void Graph::refine_type(ValueId id, Type refined) {
  CHECK(is_compatible(type(id), refined), "refine_type: expected ", type(id), ", got ", refined);
  values_[id.value].type = std::move(refined);
}

void Graph::restate_type(ValueId id, Type type) {
  const Type& inferred = values_[id.value].type;
  CHECK(type.kind == inferred.kind && type.tensor.dtype == inferred.tensor.dtype &&
            type.tensor.rank() == inferred.tensor.rank(),
        "restate_type: expected ", inferred, ", got ", type);
  values_[id.value].type = std::move(type);
}

void Graph::set_outputs(std::vector<GraphOutput> outputs) {
  for (const GraphOutput& output : outputs_) values_[output.value.value].output_count = 0;
  outputs_ = std::move(outputs);
  for (const GraphOutput& output : outputs_) ++values_[output.value.value].output_count;
}

std::vector<NodeId> Graph::remove_if_unused(NodeId first) {
  std::vector<NodeId> died;
  std::vector<NodeId> waiting = {first};
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    if (!id.valid() || nodes_[id.value].dead) continue;
    Node& node = nodes_[id.value];
    const bool used = std::ranges::any_of(node.outputs, [&](ValueId output) {
      return !values_[output.value].uses.empty() || is_graph_output(output);
    });
    if (used) continue;
    node.dead = true;
    died.push_back(id);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) continue;
      Value& input = values_[node.inputs[k].value];
      const auto use = std::ranges::find(input.uses, Use{id, static_cast<uint32_t>(k)});
      if (use != input.uses.end()) {
        *use = input.uses.back();
        input.uses.pop_back();
      }
      if (input.uses.empty()) waiting.push_back(input.producer);
    }
  }
  return died;
}

void Graph::add_provenance(NodeId id, std::span<const std::string> names) {
  std::vector<std::string>& known = nodes_[id.value].provenance;
  for (const std::string& text : names) {
    if (known.size() >= kMaxProvenance) return;
    if (std::ranges::find(known, text) == known.end()) known.push_back(text);
  }
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(nodes_.size());
  for (size_t k = 0; k < nodes_.size(); ++k) {
    if (!nodes_[k].dead) ids.emplace_back(k);
  }
  return ids;
}

const ConstantData* Graph::constant(ValueId id) const {
  const Constant* op = producer_as<Constant>(id);
  return op == nullptr ? nullptr : &op->data;
}

namespace {

template <class Fn>
void for_each_found_symbol(Expr root, const Fn& fn) {
  if (!root) return;
  for_each(root, [&](Expr e) {
    if (is_free_symbol(e)) fn(e.symbol());
  });
}

/// Data-dependent symbols in the attributes of an op, those of bodies included.
template <class Fn>
void for_each_attribute_symbol(const OpRef& op, const Fn& fn) {
  for (size_t k = 0; k < op.def().fields.size(); ++k) {
    const Attribute attribute = op.attribute(k);
    if (const auto* expr = std::get_if<Expr>(&attribute)) for_each_found_symbol(*expr, fn);
    if (const auto* exprs = std::get_if<Exprs>(&attribute)) {
      for (const Expr e : *exprs) for_each_found_symbol(e, fn);
    }
    if (const auto* body = std::get_if<GraphRef>(&attribute); body != nullptr && *body != nullptr) {
      for (const NodeId id : (*body)->nodes()) {
        for_each_attribute_symbol((*body)->node(id).op, fn);
      }
    }
  }
}

}  // namespace

std::vector<std::vector<NodeId>> Graph::symbol_sources() const {
  std::vector<std::vector<NodeId>> sources(nodes_.size());
  bool any = false;
  for (size_t k = 0; k < pool_->symbol_count() && !any; ++k) {
    any = std::as_const(*pool_).symbol_info(SymbolId(k)).data_dependent;
  }
  if (!any) return sources;
  std::unordered_map<uint32_t, NodeId> definer;
  std::vector<std::vector<SymbolId>> mentioned(nodes_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    std::unordered_set<uint32_t> known;
    for_each_attribute_symbol(node.op, [&](SymbolId symbol) {
      if (known.insert(symbol.value).second) mentioned[n].push_back(symbol);
    });
    for (const ValueId input : node.inputs) {
      if (!input.valid() || !type(input).is_tensor()) continue;
      for (const Expr dim : tensor(input).dims) {
        for_each_found_symbol(dim, [&](SymbolId symbol) { known.insert(symbol.value); });
      }
    }
    for (const ValueId output : node.outputs) {
      if (!type(output).is_tensor()) continue;
      for (const Expr dim : tensor(output).dims) {
        if (!is_free_symbol(dim) || known.contains(dim.symbol().value)) continue;
        // A node that was replaced may still stand beside the one in its place.
        const auto [at, is_new] = definer.try_emplace(dim.symbol().value, NodeId(n));
        if (!is_new && nodes_[at->second.value].dead) at->second = NodeId(n);
      }
    }
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (const SymbolId symbol : mentioned[n]) {
      const auto found = definer.find(symbol.value);
      if (found != definer.end() && found->second != NodeId(n)) {
        sources[n].push_back(found->second);
      }
    }
  }
  return sources;
}

void Graph::compact() {
  enum class Mark : uint8_t { unseen, needed, open, placed };
  std::vector<Mark> marks(nodes_.size(), Mark::unseen);
  std::vector<NodeId> stack;
  const auto sources = symbol_sources();
  const auto need = [&](NodeId producer) {
    if (!producer.valid() || marks[producer.value] != Mark::unseen) return;
    marks[producer.value] = Mark::needed;
    stack.push_back(producer);
  };
  const auto for_each_before = [&](NodeId id, const auto& fn) {
    for (const ValueId input : nodes_[id.value].inputs) {
      if (input.valid() && values_[input.value].producer.valid()) fn(values_[input.value].producer);
    }
    for (const NodeId source : sources[id.value]) fn(source);
  };
  for (const GraphOutput& output : outputs_) need(values_[output.value.value].producer);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    for_each_before(id, need);
  }

  // Depth first in the order there is, so that nodes already in order keep it.
  std::vector<NodeId> order;
  for (size_t root = 0; root < nodes_.size(); ++root) {
    if (marks[root] != Mark::needed) continue;
    stack.emplace_back(root);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      if (marks[id.value] == Mark::placed) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for_each_before(id, [&](NodeId before) {
        if (marks[before.value] == Mark::placed) return;
        CHECK(marks[before.value] != Mark::open, "compact: the graph has a cycle through ",
              nodes_[id.value].op.name());
        stack.push_back(before);
        ready = false;
      });
      marks[id.value] = ready ? Mark::placed : Mark::open;
      if (!ready) continue;
      order.push_back(id);
      stack.pop_back();
    }
  }

  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> renamed(values_.size());
  const auto keep = [&](ValueId old) {
    renamed[old.value] = ValueId(values.size());
    values.push_back(std::move(values_[old.value]));
    values.back().uses.clear();
  };
  for (GraphInput& input : inputs_) {
    keep(input.value);
    input.value = renamed[input.value.value];
  }
  nodes.reserve(order.size());
  for (const NodeId old : order) {
    const NodeId id(nodes.size());
    Node& node = nodes.emplace_back(std::move(nodes_[old.value]));
    node.dead = false;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) continue;
      node.inputs[k] = renamed[node.inputs[k].value];
      values[node.inputs[k].value].uses.push_back({id, static_cast<uint32_t>(k)});
    }
    for (ValueId& output : node.outputs) {
      keep(output);
      output = renamed[output.value];
      values[output.value].producer = id;
    }
  }
  for (GraphOutput& output : outputs_) output.value = renamed[output.value.value];
  nodes_ = std::move(nodes);
  values_ = std::move(values);
}

std::vector<ValueId> copy_node(const Graph& from, NodeId id, std::vector<ValueId> operands,
                               Graph& to) {
  const Node& node = from.node(id);
  const auto outputs = to.add(node.op, std::move(operands), node.provenance);
  CHECK(outputs, "a copied node fits: ", to_text(outputs.error()));
  for (size_t k = 0; k < outputs->size(); ++k) {
    to.refine_type((*outputs)[k], from.type(node.outputs[k]));
    to.set_value_name((*outputs)[k], from.value(node.outputs[k]).name);
  }
  return *outputs;
}

}  // namespace ingot
