// frontend/onnx/control.cc: subgraphs become bodies, what those read of the graph around becomes
// their inputs; Loop and Scan.
#include "ops/control.h"

#include <algorithm>
#include <functional>

#include "frontend/builder.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/order.h"

namespace ingot::onnx {
namespace {

const AttributeProto* find_attribute(std::span<const AttributeProto* const> attributes,
                                     std::string_view name) {
  for (const AttributeProto* attribute : attributes) {
    if (attribute->name == name) return attribute;
  }
  return nullptr;
}

/// Why a body cannot be compiled; empty if every node in it has an operator.
std::string find_unknown_nodes(const Graph& body) {
  std::vector<std::string> reasons;
  for (const NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    const auto* op = node.op.as<Unimplemented>();
    if (op == nullptr || op->reason == kBlocked) continue;
    const std::string name = node.provenance.empty() ? "" : concat(" '", node.provenance[0], "'");
    reasons.push_back(concat(op->op_type, name, ": ", op->reason));
  }
  return join(reasons, "; ");
}

Status expect_known(const Graph& body, std::string_view what) {
  const std::string reasons = find_unknown_nodes(body);
  if (!reasons.empty()) return unsupported(what, ": ", reasons);
  return ok();
}

/// Whether a scalar is always true: a constant, or `same`, which is.
bool is_true(const Graph& graph, ValueId value, ValueId same) {
  if (value == same) return true;
  const ConstantData* data = graph.constant(value);
  return data != nullptr && !data->bytes.empty() && data->bytes[0] != std::byte{0};
}

}  // namespace

Result<GraphProto> read_body(std::span<const AttributeProto* const> attributes,
                             std::string_view name) {
  const AttributeProto* attribute = find_attribute(attributes, name);
  if (attribute == nullptr || attribute->type != AttributeType::graph) {
    return invalid_model("the attribute '", name, "' is missing or no graph");
  }
  return add_note(read_graph(attribute->s), name);
}

namespace {

/// An optional that holds a tensor or sequence, and what one holds.
Result<ValueId> as_optional(Builder& b, ValueId x) {
  const Type& type = b.graph().type(x);
  const Type& tensor = type.is_container() ? *type.container.element : type;
  return b.add("container_of",
               {{"count", int64_t{1}},
                {"nested", type.is_container()},
                {"optional", true},
                {"dtype", tensor.tensor.dtype}},
               {x});
}
Result<ValueId> from_optional(Builder& b, ValueId x, int64_t rank) {
  const bool is_tensor = b.graph().type(x).container.element->is_tensor();
  if (is_tensor && rank < 0) return unsupported("an optional tensor whose rank is not known");
  const int64_t first = 0;
  TRY(const ValueId position, as_scalar(b, b.ints({&first, 1})));
  return b.add("container_at", {{"rank", is_tensor ? rank : int64_t{0}}}, {x, position});
}

}  // namespace

Result<ValueId> as_scalar(Builder& b, ValueId x) {
  return b.reshape(x, {});
}

Result<std::vector<Importer::Capture>> Importer::find_captures(const NodeProto& node,
                                                               const Frame& frame) {
  constexpr int64_t kMostContents = 16;
  std::vector<Capture> captures;
  std::unordered_map<std::string_view, bool> seen;
  TRY_STATUS(for_each_capture(node, frame.depth, [&](std::string_view name) {
    const auto value = frame.find(name);
    if (name.empty() || !value || !value->valid() || !seen.emplace(name, true).second) return;
    Capture capture{name,
                    *value,
                    graph_.constant(*value),
                    std::nullopt,
                    graph_.type(*value),
                    element_rank(*value)};
    const bool small = capture.type.is_tensor() && is_int(capture.type.tensor.dtype) &&
                       capture.type.tensor.rank() <= 1;
    if (capture.constant == nullptr && small) {
      capture.contents = contents_->find(*value, kMostContents);
    }
    captures.push_back(std::move(capture));
  }));
  return captures;
}

/// Makes the captured value in graph_, which is the body's.
Result<ValueId> Importer::build_capture(const Capture& capture) {
  const std::string name(capture.name);
  if (capture.constant != nullptr) return graph_.add_constant(*capture.constant, name);
  if (!capture.contents) {
    const ValueId input = graph_.add_input(name, capture.type);
    if (capture.type.is_container()) element_ranks_[input] = capture.element_rank;
    return input;
  }
  Builder b(graph_, name);
  const TensorType& type = capture.type.tensor;
  ValueIds elements;
  for (const Expr element : *capture.contents) {
    TRY(const ValueId scalar, b.scalar_of(element, type.dtype));
    TRY(elements.emplace_back(),
        b.reshape(scalar, type.dims.empty() ? Exprs{} : b.integers(std::array<int64_t, 1>{1})));
  }
  if (type.dims.empty()) return elements[0];
  if (elements.empty()) return b.fill(type.dtype, 0, type.dims);
  return b.concat(std::move(elements), 0);
}

/// Imports a subgraph as a closed graph. `enter` adds its own inputs, in front of the captures, and
/// gives them their names; `leave` may change its outputs.
Result<GraphRef> Importer::import_body(const GraphProto& graph, std::string_view what,
                                       const NodeProto& node, const Frame& frame,
                                       std::span<const Capture> captures,
                                       const std::function<Status(Frame& body)>& enter,
                                       const std::function<Status(ValueIds& outputs)>& leave) {
  if (frame.depth >= kMaxDepth) {
    return invalid_model("subgraphs are nested more than ", kMaxDepth, " deep");
  }
  Graph outer = std::exchange(graph_, Graph(graph_.shared_pool()));
  auto outer_contents = std::exchange(contents_, std::make_unique<SymbolicContents>(graph_));
  ReadSizes outer_sizes = std::exchange(read_sizes_, {});
  const ValueId outer_turn = std::exchange(turn_, {});
  const int outer_loops = loops_;
  ElementRanks outer_ranks = std::exchange(element_ranks_, {});
  const auto build = [&]() -> Result<GraphRef> {
    Frame around, body;
    body.outer = &around;
    body.opsets = frame.opsets;
    body.bindings = frame.bindings;
    body.prefix = provenance(node, frame);
    body.depth = frame.depth + 1;
    TRY_STATUS(enter(body));
    for (const Capture& capture : captures) {
      TRY(const ValueId value, build_capture(capture));
      TRY_STATUS(around.define(capture.name, value));
    }
    TRY_STATUS(add_initializers(graph, body));
    TRY_STATUS(import_nodes(graph.nodes, body));
    ValueIds outputs;
    for (const ValueInfoProto& output : graph.outputs) {
      const auto value = body.find(output.name);
      if (!value || !value->valid()) {
        return invalid_model("nothing gives its output '", to_comment(output.name), "'");
      }
      outputs.push_back(*value);
    }
    TRY_STATUS(expect_known(graph_, "its nodes"));
    TRY_STATUS(leave(outputs));
    std::vector<GraphOutput> named;
    for (const ValueId output : outputs) {
      named.push_back({concat("y", named.size()), output});
    }
    graph_.set_outputs(std::move(named));
    graph_.name = body.prefix;
    graph_.compact();
    return GraphRef(std::make_shared<const Graph>(std::move(graph_)));
  };
  auto built = add_note(build(), what);
  graph_ = std::move(outer);
  contents_ = std::move(outer_contents);
  read_sizes_ = std::move(outer_sizes);
  turn_ = outer_turn;
  loops_ = outer_loops;
  element_ranks_ = std::move(outer_ranks);
  return built;
}

int64_t Importer::element_rank(ValueId value) const {
  const auto found = element_ranks_.find(value);
  return found == element_ranks_.end() ? kUnknownRank : found->second;
}

ValueIds Importer::captured_inputs(std::span<const Capture> captures) {
  ValueIds inputs;
  for (const Capture& capture : captures) {
    if (capture.is_input()) inputs.push_back(capture.outer);
  }
  return inputs;
}

/// A tensor that a Scan walks along an axis, or a sequence that a SequenceMap walks; or a tensor
/// that each turn of a SequenceMap takes as it is.
struct Importer::ScanInput {
  ValueId value;  // in the graph around
  int64_t axis = 0;
  bool backward = false;
  int64_t element_rank = kUnknownRank;  // of a sequence
};

/// A loop's subgraph. A Loop's takes the turn, the condition and the carried values and gives the
/// condition first; a Scan's takes the carried values and one slice of each scan input; a
/// SequenceMap's takes one item of each sequence and gives the items of the carried sequences.
struct Importer::LoopForm {
  enum class Kind : uint8_t { loop, scan, map };
  const GraphProto& graph;
  Kind kind = Kind::loop;
  std::vector<ScanInput> scans = {};
};

/// What a loop hands on from turn to turn.
struct Importer::Carried {
  Type type;
  int64_t element_rank = kUnknownRank;  // of a container
  std::vector<bool> varies = {};        // which dims of a tensor are symbols of this loop
};

/// The body of a loop, whether its condition, if true before the first turn, stays true, and what
/// the carried values are behind a turn.
struct Importer::LoopBody {
  GraphRef graph;
  bool endless = false;
  std::vector<Carried> given = {};
};

/// The slice of a scan input that belongs to this turn.
Result<ValueId> Importer::build_slice(const ScanInput& scan, ValueId whole, ValueId turn) {
  Builder b(graph_, "");
  ValueId at = turn;
  if (graph_.type(whole).is_container()) {
    return b.add("container_at", {{"rank", scan.element_rank}}, {whole, turn});
  }
  if (scan.backward) {
    const Expr last = b.dim(whole, scan.axis) - 1;
    TRY(at, b.map1(turn, [&](Expr t) { return last - t; }));
  }
  return b.gather(whole, at, scan.axis);
}

Result<Importer::LoopBody> Importer::import_loop_body(const LoopForm& form, const NodeProto& node,
                                                      const Frame& frame,
                                                      std::span<const Capture> captures,
                                                      std::span<const Carried> carried) {
  using Kind = LoopForm::Kind;
  Types scanned;
  for (const ScanInput& scan : form.scans) scanned.push_back(graph_.type(scan.value));
  LoopBody result;
  ValueId condition;
  ValueIds sequences;  // that a SequenceMap fills
  const auto enter = [&](Frame& body) -> Status {
    Builder b(graph_, "");
    ValueIds own = {graph_.add_input("turn", TensorType{DType::i64, {}}),
                    graph_.add_input("condition", TensorType{DType::b8, {}})};
    const ValueId turn = own[0];
    condition = own[1];
    turn_ = turn;
    ++loops_;
    for (size_t k = 0; k < carried.size(); ++k) {
      own.push_back(graph_.add_input(concat("v", k), carried[k].type));
      if (carried[k].type.is_container()) element_ranks_[own.back()] = carried[k].element_rank;
    }
    if (form.kind == Kind::map) {
      sequences.assign(own.begin() + ops::Loop::kHead, own.end());
      own.clear();
    }
    for (size_t k = 0; k < scanned.size(); ++k) {
      const ValueId whole = graph_.add_input(concat("scan", k), scanned[k]);
      own.push_back(whole);
      if (form.kind == Kind::map && scanned[k].is_tensor()) continue;
      TRY(own.back(), build_slice(form.scans[k], whole, turn));
    }
    if (form.kind == Kind::scan) own.erase(own.begin(), own.begin() + ops::Loop::kHead);
    for (size_t k = 0; k < own.size(); ++k) {
      const ValueInfoProto& declared = form.graph.inputs[k];
      const bool listed = declared.type.has_shape && declared.type.dims.size() == 1;
      if (form.kind == Kind::loop && k < ops::Loop::kHead && listed) {
        TRY(own[k], b.reshape(own[k], {b.integer(1)}));
      }
      TRY_STATUS(body.define(declared.name, own[k]));
    }
    return ok();
  };
  const auto leave = [&](ValueIds& outputs) -> Status {
    Builder b(graph_, "");
    for (size_t k = 0; k < sequences.size(); ++k) {
      const Type& item = graph_.type(outputs[k]);
      if (!item.is_tensor()) return unsupported("items of type ", shown_type(item));
      const int64_t rank = item.tensor.rank();
      TRY(outputs[k], b.add("sequence_insert", {}, {sequences[k], outputs[k]}));
      element_ranks_[outputs[k]] = rank;
    }
    if (form.kind == Kind::loop) {
      TRY(outputs[0], as_scalar(b, outputs[0]));
    } else {
      outputs.insert(outputs.begin(), condition);
    }
    result.endless = is_true(graph_, outputs[0], condition);
    for (size_t k = 0; k < carried.size(); ++k) {
      ValueId& y = outputs[1 + k];
      result.given.push_back({graph_.type(y), element_rank(y)});
      if (carried[k].type != optional_type(graph_.type(y))) continue;
      // What was optional before the first turn is there behind each.
      TRY(y, as_optional(b, y));
    }
    return ok();
  };
  TRY(result.graph, import_body(form.graph, "body", node, frame, captures, enter, leave));
  return result;
}

/// Dims of carried values that a turn changes become symbols, and ranks of items unknown; true if
/// there were new ones.
bool Importer::generalise(const LoopBody& body, std::span<Carried> carried) {
  bool changed = false;
  for (size_t k = 0; k < carried.size(); ++k) {
    const Type& next = body.graph->type(body.graph->outputs()[1 + k].value);
    if (carried[k].type.is_container()) {
      const Carried& given = body.given[k];
      const int64_t rank = given.type.is_tensor() ? given.type.tensor.rank() : given.element_rank;
      const int64_t joined = joined_rank(carried[k].element_rank, rank);
      changed = changed || joined != carried[k].element_rank;
      carried[k].element_rank = joined;
      continue;
    }
    if (!next.is_tensor() || next.tensor.rank() != carried[k].type.tensor.rank()) continue;
    for (size_t a = 0; a < next.tensor.dims.size(); ++a) {
      Expr& dim = carried[k].type.tensor.dims[a];
      carried[k].varies.resize(next.tensor.dims.size());
      if (carried[k].varies[a] || provably_equal(dim, next.tensor.dims[a])) continue;
      dim = graph_.pool().fresh_symbol("turn_dim", true);
      carried[k].varies[a] = true;
      changed = true;
    }
  }
  return changed;
}

/// The loop of trips, condition and carried values; `trips` are known from dims, or empty.
Result<ValueIds> Importer::add_loop(const LoopForm& form, const NodeProto& node, const Frame& frame,
                                    ValueIds operands, const Exprs& trips) {
  std::vector<Carried> carried;
  for (size_t k = ops::Loop::kHead; k < operands.size(); ++k) {
    if (!operands[k].valid()) return invalid_model("a carried value is missing");
    const Type& type = graph_.type(operands[k]);
    if (type.is_nothing()) return unsupported(kBlocked);
    carried.push_back({type, element_rank(operands[k])});
    // Of a sequence that is empty before the first turn the model tells more.
    if (form.kind == LoopForm::Kind::loop && carried.back().element_rank == kNoItems) {
      TRY(const int64_t declared, declared_element_rank(form.graph.inputs[k].type));
      if (declared >= 0) carried.back().element_rank = declared;
    }
  }
  TRY(const std::vector<Capture> captures, find_captures(node, frame));
  const ModelSummary summary = summary_;
  const auto counts = counts_;
  TRY(LoopBody body, import_loop_body(form, node, frame, captures, carried));
  while (generalise(body, carried)) {
    summary_ = summary;
    counts_ = counts;
    TRY(body, import_loop_body(form, node, frame, captures, carried));
  }
  const bool starts = is_true(graph_, operands[1], ValueId());
  for (const ScanInput& scan : form.scans) operands.push_back(scan.value);
  for (const ValueId input : captured_inputs(captures)) operands.push_back(input);
  ops::Loop loop;
  loop.body = body.graph;
  loop.carried = static_cast<int64_t>(carried.size());
  if (trips.size() == 1 && body.endless && starts) {
    loop.trip_count = {max(trips[0], graph_.pool().integer(0))};
  }
  TRY(ValueIds outputs,
      graph_.add(make_op(std::move(loop)), std::move(operands), {provenance(node, frame)}));
  Builder b(graph_, provenance(node, frame));
  for (size_t k = 0; k < carried.size(); ++k) {
    if (!carried[k].type.is_container()) continue;
    element_ranks_[outputs[k]] = carried[k].element_rank;
    if (carried[k].type != optional_type(body.given[k].type)) continue;
    TRY(outputs[k], from_optional(b, outputs[k], carried[k].element_rank));
    element_ranks_[outputs[k]] = carried[k].element_rank;
  }
  return outputs;
}

Result<ValueIds> Importer::build_loop(const NodeProto& node, const ValueIds& inputs,
                                      std::span<const AttributeProto* const> attributes,
                                      Frame& frame) {
  TRY(const GraphProto graph, read_body(attributes, "body"));
  const size_t carried = std::max(inputs.size(), ops::Loop::kHead) - ops::Loop::kHead;
  if (graph.inputs.size() != ops::Loop::kHead + carried || graph.outputs.size() < 1 + carried) {
    return invalid_model("body: expected ", ops::Loop::kHead + carried, " inputs and at least ",
                         1 + carried, " outputs, got ", graph.inputs.size(), " and ",
                         graph.outputs.size());
  }
  for (size_t k = 0; k < std::min(inputs.size(), ops::Loop::kHead); ++k) {
    if (inputs[k].valid() && !graph_.type(inputs[k]).is_tensor()) return unsupported(kBlocked);
  }
  Builder b(graph_, provenance(node, frame));
  ValueIds operands(ops::Loop::kHead);
  Exprs trips;
  if (!inputs.empty() && inputs[0].valid()) {
    if (const auto known = contents_->find(inputs[0]); known && known->size() == 1) trips = *known;
    TRY(operands[0], as_scalar(b, inputs[0]));
  } else {
    Tensor endless(DType::i64, {});
    endless.set_integer(0, std::numeric_limits<int64_t>::max());
    operands[0] = graph_.add_constant(to_constant(endless), "endless");
  }
  if (inputs.size() > 1 && inputs[1].valid()) {
    TRY(operands[1], as_scalar(b, inputs[1]));
  } else {
    TRY(operands[1], b.scalar(DType::b8, 1));
  }
  for (size_t k = ops::Loop::kHead; k < inputs.size(); ++k) operands.push_back(inputs[k]);
  return add_loop({graph}, node, frame, std::move(operands), trips);
}

namespace {

/// An attribute of one number per scan input or output; zeros if it is absent.
Result<std::vector<int64_t>> scan_numbers(std::span<const AttributeProto* const> attributes,
                                          std::string_view name, size_t count) {
  const AttributeProto* attribute = find_attribute(attributes, name);
  if (attribute == nullptr || attribute->ints.empty()) return std::vector<int64_t>(count, 0);
  if (attribute->ints.size() == count) return attribute->ints;
  return invalid_model("attribute '", name, "': expected ", count, " numbers, got ",
                       attribute->ints.size());
}

/// Likewise, of flags that say whether a scan begins at the end.
Result<std::vector<int64_t>> scan_directions(std::span<const AttributeProto* const> attributes,
                                             std::string_view name, size_t count) {
  TRY(const std::vector<int64_t> flags, scan_numbers(attributes, name, count));
  for (const int64_t flag : flags) {
    if (flag == 0 || flag == 1) continue;
    return invalid_model("attribute '", name, "': expected 0 or 1, got ", flag);
  }
  return flags;
}

}  // namespace

/// What a Scan walks along and gives: inputs and outputs, their axes, and whether from the end.
struct Importer::ScanOptions {
  size_t scans = 0;  // the last inputs
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

Result<ValueIds> Importer::add_scan(const GraphProto& graph, const NodeProto& node,
                                    const ValueIds& inputs, const ScanOptions& options,
                                    const Frame& frame) {
  const size_t carried = inputs.size() - options.scans;
  Builder b(graph_, provenance(node, frame));
  LoopForm form{graph, LoopForm::Kind::scan};
  Expr length;
  for (size_t k = 0; k < options.scans; ++k) {
    const ValueId value = inputs[carried + k];
    if (!value.valid() || !graph_.type(value).is_tensor()) return unsupported(kBlocked);
    TRY(const int64_t axis, normalize_axis(options.input_axes[k], b.rank(value)));
    form.scans.push_back({value, axis, options.input_directions[k] != 0});
    if (!length) length = b.dim(value, axis);
    if (length != b.dim(value, axis)) {
      graph_.assumptions().push_back(
          {length, b.dim(value, axis), concat(provenance(node, frame), ": scan inputs' lengths")});
    }
  }
  ValueIds operands(ops::Loop::kHead);
  TRY(operands[0], b.scalar_of(length, DType::i64));
  TRY(operands[1], b.scalar(DType::b8, 1));
  for (size_t k = 0; k < carried; ++k) operands.push_back(inputs[k]);
  TRY(ValueIds outputs, add_loop(form, node, frame, std::move(operands), {length}));
  for (size_t k = 0; k < options.output_axes.size(); ++k) {
    ValueId& y = outputs[carried + k];
    if (options.output_directions[k] != 0) {
      TRY(y, b.slice_axis(y, 0, length - 1, length, -1));
    }
    TRY(const int64_t axis, normalize_axis(options.output_axes[k], b.rank(y)));
    std::vector<int64_t> order = Builder::all_axes(b.rank(y));
    std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
    TRY(y, b.transpose(y, std::move(order)));
  }
  return outputs;
}

Result<ValueIds> Importer::build_scan(const NodeProto& node, const ValueIds& inputs,
                                      std::span<const AttributeProto* const> attributes,
                                      int64_t opset, const Frame& frame) {
  TRY(const GraphProto graph, read_body(attributes, "body"));
  // Before opset 9 the first input was the lengths of the sequences, and all had a batch dim.
  const bool batched = opset < 9;
  const ValueIds given(inputs.begin() + (batched && !inputs.empty() ? 1 : 0), inputs.end());
  const AttributeProto* count = find_attribute(attributes, "num_scan_inputs");
  const int64_t scan_count = count == nullptr ? 0 : count->i;
  if (scan_count < 1 || scan_count > static_cast<int64_t>(given.size())) {
    return invalid_model("attribute 'num_scan_inputs': expected 1..", given.size(), ", got ",
                         scan_count);
  }
  ScanOptions options;
  options.scans = static_cast<size_t>(scan_count);
  const size_t carried = given.size() - options.scans;
  if (graph.inputs.size() != given.size() || graph.outputs.size() < carried) {
    return invalid_model("body: expected ", given.size(), " inputs and at least ", carried,
                         " outputs, got ", graph.inputs.size(), " and ", graph.outputs.size());
  }
  const size_t stacked = graph.outputs.size() - carried;
  TRY(options.input_axes, scan_numbers(attributes, "scan_input_axes", options.scans));
  TRY(options.input_directions,
      scan_directions(attributes, batched ? "directions" : "scan_input_directions", options.scans));
  TRY(options.output_axes, scan_numbers(attributes, "scan_output_axes", stacked));
  TRY(options.output_directions, scan_directions(attributes, "scan_output_directions", stacked));
  if (!batched) return add_scan(graph, node, given, options, frame);
  if (inputs[0].valid()) return unsupported("scans of sequences that differ in length");
  return add_batched_scan(graph, node, given, options, frame);
}

/// One scan for each element of the batch, which must be a known few.
Result<ValueIds> Importer::add_batched_scan(const GraphProto& graph, const NodeProto& node,
                                            const ValueIds& inputs, const ScanOptions& options,
                                            const Frame& frame) {
  constexpr int64_t kMostElements = 64;
  Builder b(graph_, provenance(node, frame));
  std::optional<int64_t> batch;
  for (const ValueId input : inputs) {
    if (!input.valid() || !graph_.type(input).is_tensor()) return unsupported(kBlocked);
    if (b.rank(input) < 1) return invalid_model("expected inputs with a batch dim");
    const auto size = b.dim(input, 0).as_int();
    if (!size || *size < 1 || *size > kMostElements) {
      return unsupported("scans of a batch, as before opset 9, of unknown or large size");
    }
    if (batch.value_or(*size) != *size) return invalid_model("expected inputs of one batch size");
    batch = size;
  }
  std::vector<ValueIds> parts;  // of each output
  for (int64_t element = 0; element < *batch; ++element) {
    ValueIds own;
    for (const ValueId input : inputs) {
      TRY(const ValueId row, b.slice_axis(input, 0, b.integer(element), b.integer(1)));
      TRY(own.emplace_back(), b.reshape(row, Exprs(b.dims(row).begin() + 1, b.dims(row).end())));
    }
    TRY(const ValueIds outputs, add_scan(graph, node, own, options, frame));
    parts.resize(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      Exprs dims = b.dims(outputs[k]);
      dims.insert(dims.begin(), b.integer(1));
      TRY(parts[k].emplace_back(), b.reshape(outputs[k], std::move(dims)));
    }
  }
  ValueIds outputs;
  for (ValueIds& rows : parts) {
    TRY(outputs.emplace_back(), b.concat(std::move(rows), 0));
  }
  return outputs;
}

/// A SequenceMap is a loop over the items whose carried values are the sequences that it fills.
Result<ValueIds> Importer::build_map(const NodeProto& node, const ValueIds& inputs,
                                     std::span<const AttributeProto* const> attributes,
                                     const Frame& frame) {
  TRY(const GraphProto graph, read_body(attributes, "body"));
  if (graph.inputs.size() != inputs.size() || inputs.empty() ||
      graph.outputs.size() < node.outputs.size()) {
    return invalid_model("body: expected ", inputs.size(), " inputs and ", node.outputs.size(),
                         " outputs, got ", graph.inputs.size(), " and ", graph.outputs.size());
  }
  Builder b(graph_, provenance(node, frame));
  LoopForm form{graph, LoopForm::Kind::map};
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].valid()) return invalid_model("input ", k, " is missing");
    const Type& type = graph_.type(inputs[k]);
    if (type.is_nothing()) return unsupported(kBlocked);
    const bool is_sequence = type.is_container() &&
                             type.container.kind == ContainerType::Kind::sequence &&
                             type.container.element->is_tensor();
    if (!is_sequence && (k == 0 || !type.is_tensor())) {
      return invalid_model("input ", k, ": expected a sequence of tensors, got ", shown_type(type));
    }
    int64_t rank = element_rank(inputs[k]);
    const TypeProto& declared = graph.inputs[k].type;
    if (is_sequence && rank < 0 && declared.has_shape) {
      rank = static_cast<int64_t>(declared.dims.size());
    }
    if (is_sequence && rank < 0) {
      return unsupported("items of input ", k, ", whose rank is not known or differs");
    }
    form.scans.push_back({inputs[k], 0, false, rank});
  }
  ValueIds operands(ops::Loop::kHead);
  TRY(operands[0], b.add("container_length", {}, {inputs[0]}));
  TRY(operands[1], b.scalar(DType::b8, 1));
  for (const ValueInfoProto& output : graph.outputs) {
    const auto dtype = dtype_from_onnx(output.type.elem_type);
    if (!dtype) return unsupported("an output of the body without an element type");
    TRY(operands.emplace_back(), b.add("container_of", {{"dtype", *dtype}}, {}));
    element_ranks_[operands.back()] = kNoItems;
  }
  return add_loop(form, node, frame, std::move(operands), {});
}

}  // namespace ingot::onnx
