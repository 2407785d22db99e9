// frontend/onnx/import.cc: from ModelProto to Graph: scopes, functions, inlined Ifs, placeholders.
#include "frontend/onnx/import.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "frontend/onnx/dims.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/order.h"

namespace ingot::onnx {
namespace {

// Source: ONNX 1.23 (docs/Versioning.md); opset 28 and IR 14 are the newest known.
constexpr int64_t kNewestOpset = 28;
constexpr int64_t kNewestIr = 14;

/// Functions may expand to this many times the nodes in the file, and this many more.
constexpr size_t kMaxExpansion = 20;
constexpr size_t kMinExpansion = 10000;

constexpr std::string_view kBlocked = "it needs the result of a node that is not supported";

/// "ai.onnx" is another name of the default domain.
std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string_view shown_domain(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

/// A type for people: dims may have names of any length.
std::string shown_type(const Type& type) {
  constexpr size_t kMaxShown = 300;
  std::string text = to_text(type);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

/// Whether this is the type of what an unsupported node gives.
bool is_unknown(const Type& type) {
  return type.kind == Type::Kind::container && type.container.element == nullptr;
}

using Bindings = std::map<std::string_view, const AttributeProto*>;

/// One graph or function body being walked.
struct Frame {
  const Frame* outer = nullptr;  // whose names a subgraph may use; null for functions
  std::unordered_map<std::string_view, ValueId> values;
  std::span<const OperatorSetId> opsets;
  const Bindings* bindings = nullptr;  // of the function around
  std::string prefix;                  // of node names
  int depth = 0;

  std::optional<ValueId> find(std::string_view name) const {
    for (const Frame* frame = this; frame != nullptr; frame = frame->outer) {
      const auto found = frame->values.find(name);
      if (found != frame->values.end()) return found->second;
    }
    return std::nullopt;
  }
  Status define(std::string_view name, ValueId value) {
    if (!values.emplace(name, value).second) {
      return invalid_model("the name '", to_comment(name), "' is defined twice");
    }
    return ok();
  }
  std::optional<int64_t> opset(std::string_view domain) const {
    for (const OperatorSetId& import : opsets) {
      if (normal_domain(import.domain) == domain) return import.version;
    }
    return std::nullopt;
  }
};

using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

class Importer {
 public:
  Importer(const ModelProto& model, std::shared_ptr<const void> owner,
           const std::filesystem::path& folder, const ImportOptions& options)
      : model_(model),
        options_(options),
        external_(folder),
        source_{std::move(owner), &external_},
        contents_(graph_),
        dims_(graph_.pool(), options) {}

  Result<ImportedModel> run();

 private:
  // -- the model --
  Status check_versions();
  Status index_functions();
  Status add_initializers(const GraphProto& graph, Frame& frame);
  Status add_inputs(const GraphProto& graph, Frame& frame);
  Result<Type> type_of(const ValueInfoProto& info, int depth);
  Status set_outputs(const GraphProto& graph, const Frame& frame);
  Status check_declared(const ValueInfoProto& info, ValueId value) const;

  // -- nodes --
  Status import_nodes(std::span<const NodeProto> nodes, Frame& frame);
  Status import_node(const NodeProto& node, Frame& frame);
  Result<ValueIds> build_node(const NodeProto& node, const ValueIds& inputs, Frame& frame);
  Result<ValueIds> build_row(const NodeProto& node, const OpRow& row, int64_t opset,
                             const ValueIds& inputs,
                             std::span<const AttributeProto* const> attributes,
                             const Frame& frame);
  Result<ValueIds> call_function(const NodeProto& node, const FunctionProto& function,
                                 const ValueIds& inputs,
                                 std::span<const AttributeProto* const> attributes,
                                 const Frame& frame);
  Result<ValueIds> inline_if(const NodeProto& node, const ValueIds& inputs,
                             std::span<const AttributeProto* const> attributes, Frame& frame);
  Result<ValueIds> add_placeholder(const NodeProto& node, const ValueIds& inputs, int64_t opset,
                                   std::string_view reason, const Frame& frame);
  Result<ValueIds> resolve_inputs(const NodeProto& node, const Frame& frame) const;
  Result<std::vector<const AttributeProto*>> resolve_attributes(const NodeProto& node,
                                                                const Frame& frame);
  std::string provenance(const NodeProto& node, const Frame& frame) const;
  Status count_node();

  void summarize();

  const ModelProto& model_;
  const ImportOptions& options_;
  Graph graph_;
  ExternalFiles external_;
  ModelBytes source_;
  SymbolicContents contents_;
  DimTable dims_;
  ModelSummary summary_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  std::vector<const FunctionProto*> calls_;       // being expanded
  std::deque<AttributeProto> renamed_attributes_;  // references resolved
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> counts_;
  size_t nodes_built_ = 0;
  size_t max_nodes_ = 0;
};

// ---- the model -------------------------------------------------------------------------------

Status Importer::check_versions() {
  if (model_.ir_version == 0 && model_.opset_imports.empty() && !model_.graph) {
    return invalid_model("not an ONNX model: it has no IR version, opsets or graph");
  }
  if (!model_.graph) return invalid_model("the model has no graph");
  if (model_.ir_version < 1) {
    return invalid_model("expected an IR version from 1 to ", kNewestIr, ", got ",
                         model_.ir_version);
  }
  if (model_.ir_version > kNewestIr) {
    return unsupported("IR version ", model_.ir_version, " is newer than ", kNewestIr,
                       ", the newest that is known");
  }
  std::vector<std::string_view> seen;
  for (const OperatorSetId& import : model_.opset_imports) {
    const std::string_view domain = normal_domain(import.domain);
    if (std::ranges::find(seen, domain) != seen.end()) {
      return invalid_model("domain '", to_comment(shown_domain(domain)), "' is imported twice");
    }
    seen.push_back(domain);
    if (import.version < 1) {
      return invalid_model("expected an opset of 1 or more for domain '",
                           to_comment(shown_domain(domain)), "', got ", import.version);
    }
    if (domain.empty() && import.version > kNewestOpset) {
      return unsupported("opset ", import.version, " is newer than ", kNewestOpset,
                         ", the newest that is known");
    }
    summary_.opsets.emplace_back(shown_domain(domain), import.version);
  }
  if (model_.has_training_info) summary_.warnings.push_back("training information is ignored");
  return ok();
}

Status Importer::index_functions() {
  size_t nodes = model_.graph->nodes.size();
  for (const FunctionProto& function : model_.functions) {
    const FunctionKey key(normal_domain(function.domain), function.name, function.overload);
    if (!functions_.emplace(key, &function).second) {
      return invalid_model("function '", to_comment(function.name), "' is defined twice");
    }
    nodes += function.nodes.size();
  }
  max_nodes_ = kMaxExpansion * nodes + kMinExpansion;
  summary_.functions = static_cast<int64_t>(model_.functions.size());
  return ok();
}

Status Importer::add_initializers(const GraphProto& graph, Frame& frame) {
  if (!graph.sparse_initializers.empty()) {
    return unsupported("initializer '", to_comment(graph.sparse_initializers[0].values.name),
                       "' is sparse; sparse tensors are not read");
  }
  for (const TensorProto& tensor : graph.initializers) {
    TRY(ConstantData data, add_note(decode_tensor(tensor, source_), "initializer '",
                                    to_comment(tensor.name), "'"));
    summary_.parameters += count_of(data.dims);
    summary_.parameter_bytes += static_cast<int64_t>(data.bytes.size());
    TRY_STATUS(add_note(
        frame.define(tensor.name, graph_.add_constant(std::move(data), std::string(tensor.name))),
        "initializer '", to_comment(tensor.name), "'"));
  }
  return ok();
}

Result<Type> Importer::type_of(const ValueInfoProto& info, int depth) {
  using Kind = TypeProto::Kind;
  const TypeProto& type = info.type;
  if (type.kind == Kind::tensor) {
    const auto dtype = dtype_from_onnx(type.elem_type);
    if (!dtype) {
      return invalid_model("expected an element type from 1 to 26, got ", type.elem_type);
    }
    if (type.dims.size() > kMaxRank) {
      return unsupported("expected at most ", kMaxRank, " dims, got ", type.dims.size());
    }
    // Elements of containers may be of any shape.
    if (depth > 0) return Type(TensorType{*dtype, {}});
    TRY(Exprs dims, dims_.input_dims(info));
    return Type(TensorType{*dtype, std::move(dims)});
  }
  if (type.kind == Kind::none) return invalid_model("its type is missing");
  if (type.kind == Kind::sparse_tensor) return unsupported("sparse tensors are not read");
  if (type.kind == Kind::opaque) return unsupported("opaque types are not read");
  if (depth >= kMaxDepth) return invalid_model("its type is nested too deep");
  ContainerType container;
  container.kind = type.kind == Kind::sequence   ? ContainerType::Kind::sequence
                   : type.kind == Kind::optional ? ContainerType::Kind::optional
                                                 : ContainerType::Kind::map;
  if (type.kind == Kind::map) {
    const auto key = dtype_from_onnx(type.elem_type);
    if (!key) return invalid_model("expected a key type from 1 to 26, got ", type.elem_type);
    container.key = *key;
  }
  ValueInfoProto inner;
  inner.name = info.name;
  TRY(inner.type, read_type(type.element));
  TRY(Type element, type_of(inner, depth + 1));
  container.element = std::make_shared<const Type>(std::move(element));
  return Type(std::move(container));
}

Status Importer::add_inputs(const GraphProto& graph, Frame& frame) {
  for (const ValueInfoProto& input : graph.inputs) TRY_STATUS(dims_.pin_from_shape(input));
  std::unordered_set<std::string_view> seen;
  for (const ValueInfoProto& input : graph.inputs) {
    const std::string place = concat("input '", to_comment(input.name), "'");
    if (input.name.empty()) return invalid_model("an input of the graph has no name");
    if (!seen.insert(input.name).second) return invalid_model(place, " is defined twice");
    if (const auto initializer = frame.find(input.name)) {
      // A default that a caller could replace; here it is a constant.
      TRY_STATUS(add_note(check_declared(input, *initializer), place));
      continue;
    }
    if (const auto bound = options_.constants.find(std::string(input.name));
        bound != options_.constants.end()) {
      const ValueId value = graph_.add_constant(bound->second, std::string(input.name));
      TRY_STATUS(add_note(check_declared(input, value), place));
      TRY_STATUS(frame.define(input.name, value));
      continue;
    }
    TRY(Type type, add_note(type_of(input, 0), place));
    const ValueId value = graph_.add_input(std::string(input.name), std::move(type));
    TRY_STATUS(add_note(frame.define(input.name, value), place));
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (!frame.find(name)) return invalid_argument("the model has no input '", to_comment(name), "'");
  }
  for (const auto& [name, data] : options_.constants) {
    if (!frame.find(name)) return invalid_argument("the model has no input '", to_comment(name), "'");
  }
  return dims_.check_all_used();
}

/// What the model says about a value against what was inferred.
Status Importer::check_declared(const ValueInfoProto& info, ValueId value) const {
  const TypeProto& declared = info.type;
  const Type& actual = graph_.type(value);
  if (declared.kind != TypeProto::Kind::tensor || !actual.is_tensor()) return ok();
  const auto dtype = dtype_from_onnx(declared.elem_type);
  if (declared.elem_type != 0 && dtype != actual.tensor.dtype) {
    return invalid_model("the model declares ",
                         dtype ? to_text(*dtype) : std::string_view("an unknown type"),
                         ", but it is ", shown_type(actual));
  }
  if (!declared.has_shape) return ok();
  const auto contradiction = [&](std::string_view what) {
    std::vector<std::string> dims;
    for (const DimProto& dim : declared.dims) {
      dims.push_back(dim.value ? std::to_string(*dim.value)
                               : dim.param.empty() ? std::string("?") : to_comment(dim.param));
    }
    return invalid_model("the model declares dims [", join(dims, ", "), "], but it is ",
                         shown_type(actual), ": ", what, " differs");
  };
  if (declared.dims.size() != actual.tensor.dims.size()) return contradiction("the rank");
  for (size_t k = 0; k < declared.dims.size(); ++k) {
    const auto& wanted = declared.dims[k].value;
    if (!wanted || *wanted < 0) continue;
    const Range possible = range_of(actual.tensor.dims[k]);
    if (*wanted < possible.lo || *wanted > possible.hi) return contradiction(concat("dim ", k));
  }
  return ok();
}

Status Importer::set_outputs(const GraphProto& graph, const Frame& frame) {
  std::vector<GraphOutput> outputs;
  for (const ValueInfoProto& output : graph.outputs) {
    const std::string place = concat("output '", to_comment(output.name), "'");
    const auto value = frame.find(output.name);
    if (output.name.empty() || !value) {
      return invalid_model(place, ": no node, input or initializer gives it");
    }
    for (const GraphOutput& other : outputs) {
      if (other.name == output.name) return invalid_model(place, ": it is listed twice");
    }
    TRY_STATUS(add_note(check_declared(output, *value), place));
    outputs.push_back({std::string(output.name), *value});
  }
  if (outputs.empty()) return invalid_model("the graph has no outputs");
  for (const ValueInfoProto& info : graph.value_infos) {
    if (const auto value = frame.find(info.name)) {
      TRY_STATUS(add_note(check_declared(info, *value), "value '", to_comment(info.name), "'"));
    }
  }
  graph_.set_outputs(std::move(outputs));
  return ok();
}

Result<ImportedModel> Importer::run() {
  TRY_STATUS(check_versions());
  TRY_STATUS(index_functions());
  Frame frame;
  frame.opsets = model_.opset_imports;
  // Files of IR 1 and 2 import nothing and mean the first opset.
  static constexpr OperatorSetId kFirst{{}, 1};
  if (model_.opset_imports.empty()) frame.opsets = {&kFirst, 1};

  const GraphProto& graph = *model_.graph;
  TRY_STATUS(add_initializers(graph, frame));
  TRY_STATUS(add_inputs(graph, frame));
  TRY_STATUS(import_nodes(graph.nodes, frame));
  TRY_STATUS(set_outputs(graph, frame));

  graph_.name = std::string(graph.name);
  for (const StringPair& pair : model_.metadata) {
    graph_.metadata.emplace_back(std::string(pair.key), std::string(pair.value));
  }
  graph_.compact();
  summarize();
  return ImportedModel{std::move(graph_), std::move(summary_)};
}

// ---- nodes -----------------------------------------------------------------------------------

Status Importer::count_node() {
  if (++nodes_built_ > max_nodes_) {
    return Error{Code::kResourceExhausted,
                 concat("its functions expand to more than ", max_nodes_, " nodes"), {}};
  }
  return ok();
}

Status Importer::import_nodes(std::span<const NodeProto> nodes, Frame& frame) {
  for (const NodeProto& node : nodes) {
    if (node.op_type.empty()) {
      return invalid_model(describe(node), ": it does not say which operator it is");
    }
  }
  TRY(const std::vector<size_t> order, execution_order(nodes, frame.depth));
  for (const size_t k : order) {
    TRY_STATUS(add_note(import_node(nodes[k], frame), describe(nodes[k])));
  }
  return ok();
}

std::string Importer::provenance(const NodeProto& node, const Frame& frame) const {
  const std::string_view own = !node.name.empty()      ? node.name
                               : !node.outputs.empty() ? node.outputs[0]
                                                       : node.op_type;
  return frame.prefix.empty() ? std::string(own) : concat(frame.prefix, "/", own);
}

Result<ValueIds> Importer::resolve_inputs(const NodeProto& node, const Frame& frame) const {
  ValueIds inputs;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const auto value = frame.find(name);
    if (!value) {
      return invalid_model("input '", to_comment(name),
                           "': no node, input or initializer gives it");
    }
    inputs.push_back(*value);
  }
  return inputs;
}

/// The node's attributes; in a function those that name one of the caller's are replaced by it, or
/// left out where the caller has none.
Result<std::vector<const AttributeProto*>> Importer::resolve_attributes(const NodeProto& node,
                                                                        const Frame& frame) {
  std::vector<const AttributeProto*> attributes;
  for (const AttributeProto& attribute : node.attributes) {
    for (const AttributeProto* other : attributes) {
      if (other->name == attribute.name) {
        return invalid_model("attribute '", to_comment(attribute.name), "' occurs twice");
      }
    }
    if (attribute.ref_attr_name.empty()) {
      attributes.push_back(&attribute);
      continue;
    }
    if (frame.bindings == nullptr) {
      return invalid_model("attribute '", to_comment(attribute.name),
                           "' refers to one of a function, but there is none around it");
    }
    const auto bound = frame.bindings->find(attribute.ref_attr_name);
    if (bound == frame.bindings->end()) continue;
    AttributeProto& copy = renamed_attributes_.emplace_back(*bound->second);
    copy.name = attribute.name;
    attributes.push_back(&copy);
  }
  return attributes;
}

Status Importer::import_node(const NodeProto& node, Frame& frame) {
  TRY_STATUS(count_node());
  TRY(const ValueIds inputs, resolve_inputs(node, frame));
  const size_t assumptions = graph_.assumptions().size();
  auto built = build_node(node, inputs, frame);
  if (!built && built.error().code == Code::kUnsupported) {
    graph_.assumptions().resize(assumptions);
    const std::string_view domain = normal_domain(node.domain);
    const std::string reason = to_text(built.error());
    built = add_placeholder(node, inputs, frame.opset(domain).value_or(0), reason, frame);
  }
  if (!built) {
    // What infer refuses is the model's mistake, not the caller's.
    Error error = std::move(built.error());
    if (error.code == Code::kInvalidArgument) error.code = Code::kInvalidModel;
    return error;
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const std::string_view name = node.outputs[k];
    if (name.empty()) continue;
    const ValueId value = (*built)[k];
    TRY_STATUS(frame.define(name, value));
    if (graph_.value(value).name.empty()) graph_.set_value_name(value, std::string(name));
  }
  return ok();
}

Result<ValueIds> Importer::build_node(const NodeProto& node, const ValueIds& inputs, Frame& frame) {
  const std::string_view domain = normal_domain(node.domain);
  TRY(const auto attributes, resolve_attributes(node, frame));
  const auto function = functions_.find(FunctionKey(domain, node.op_type, node.overload));
  if (function != functions_.end()) {
    return call_function(node, *function->second, inputs, attributes, frame);
  }
  const auto opset = frame.opset(domain);
  if (!opset) {
    return invalid_model("the model uses domain '", to_comment(shown_domain(domain)),
                         "' without importing it");
  }
  counts_[{std::string(domain), std::string(node.op_type), *opset}] += 1;
  if (!domain.empty()) {
    return unsupported("operators of domain '", to_comment(domain), "' are not known");
  }
  if (node.op_type == "If") return inline_if(node, inputs, attributes, frame);
  if (node.op_type == "Loop" || node.op_type == "Scan") {
    return unsupported("loops over subgraphs cannot be compiled yet");
  }
  const OpRow* row = find_row(node.op_type, *opset);
  if (row == nullptr) {
    const auto first = first_opset(node.op_type);
    if (first) return unsupported("it exists from opset ", *first, " on, the model has ", *opset);
    return unsupported("there is no operator '", to_comment(node.op_type), "' at opset ", *opset,
                       ", or none that is known");
  }
  return build_row(node, *row, *opset, inputs, attributes, frame);
}

Result<ValueIds> Importer::build_row(const NodeProto& node, const OpRow& row, int64_t opset,
                                     const ValueIds& inputs,
                                     std::span<const AttributeProto* const> attributes,
                                     const Frame& frame) {
  for (const ValueId input : inputs) {
    if (!input.valid()) continue;
    if (is_unknown(graph_.type(input))) return unsupported(kBlocked);
    if (!graph_.type(input).is_tensor()) {
      return unsupported("inputs of type ", shown_type(graph_.type(input)));
    }
  }
  size_t given = 0;
  while (given < inputs.size() && inputs[given].valid()) ++given;
  if (given < row.min_inputs || inputs.size() > row.max_inputs) {
    return invalid_model("expected ", row.min_inputs,
                         row.max_inputs == row.min_inputs ? "" : " or more",
                         " inputs at opset ", opset, ", got ", inputs.size());
  }
  OpContext context(graph_, provenance(node, frame),
                    {&node, attributes, opset, row.since, inputs, source_, &contents_});
  TRY(ValueIds outputs, row.build(context));
  for (size_t k = outputs.size(); k < node.outputs.size(); ++k) {
    if (!node.outputs[k].empty()) return unsupported("its output number ", k);
  }
  for (const std::string_view name : context.unread_attributes()) {
    summary_.warnings.push_back(
        concat(describe(node), ": attribute '", to_comment(name), "' is not known and ignored"));
  }
  return outputs;
}

Result<ValueIds> Importer::add_placeholder(const NodeProto& node, const ValueIds& inputs,
                                           int64_t opset, std::string_view reason,
                                           const Frame& frame) {
  ValueIds present;
  for (const ValueId input : inputs) {
    if (input.valid()) present.push_back(input);
  }
  Unimplemented op;
  op.op_type = std::string(node.op_type);
  op.domain = std::string(normal_domain(node.domain));
  op.opset = opset;
  op.reason = std::string(reason);
  op.outputs = static_cast<int64_t>(node.outputs.size());
  return graph_.add(make_op(std::move(op)), std::move(present), {provenance(node, frame)});
}

Result<ValueIds> Importer::call_function(const NodeProto& node, const FunctionProto& function,
                                         const ValueIds& inputs,
                                         std::span<const AttributeProto* const> attributes,
                                         const Frame& frame) {
  if (std::ranges::find(calls_, &function) != calls_.end()) {
    return invalid_model("function '", to_comment(function.name), "' calls itself");
  }
  if (calls_.size() >= kMaxDepth) {
    return invalid_model("functions are nested more than ", kMaxDepth, " deep");
  }
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return invalid_model("function '", to_comment(function.name), "' has ", function.inputs.size(),
                         " inputs and ", function.outputs.size(), " outputs, got ", inputs.size(),
                         " and ", node.outputs.size());
  }
  Bindings bindings;
  for (const AttributeProto& attribute : function.attribute_defaults) {
    bindings[attribute.name] = &attribute;
  }
  for (const AttributeProto* attribute : attributes) bindings[attribute->name] = attribute;

  Frame body;
  body.opsets = function.opset_imports.empty() ? frame.opsets
                                               : std::span(function.opset_imports);
  body.bindings = &bindings;
  body.prefix = provenance(node, frame);
  body.depth = frame.depth + 1;
  for (size_t k = 0; k < function.inputs.size(); ++k) {
    // An input that the caller leaves out is left out inside, too: a name without a value.
    TRY_STATUS(body.define(function.inputs[k], k < inputs.size() ? inputs[k] : ValueId()));
  }
  calls_.push_back(&function);
  Status done = import_nodes(function.nodes, body);
  calls_.pop_back();
  TRY_STATUS(add_note(std::move(done), "function '", to_comment(function.name), "'"));
  ValueIds outputs;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const auto value = body.find(function.outputs[k]);
    if (!value || (!value->valid() && !node.outputs[k].empty())) {
      return invalid_model("function '", to_comment(function.name), "': nothing gives its output '",
                           to_comment(function.outputs[k]), "'");
    }
    outputs.push_back(*value);
  }
  return outputs;
}

/// An If whose condition is known becomes the branch that is taken.
Result<ValueIds> Importer::inline_if(const NodeProto& node, const ValueIds& inputs,
                                     std::span<const AttributeProto* const> attributes,
                                     Frame& frame) {
  if (inputs.size() != 1 || !inputs[0].valid()) {
    return invalid_model("expected one input, the condition");
  }
  if (is_unknown(graph_.type(inputs[0]))) return unsupported(kBlocked);
  const auto condition = contents_.find(inputs[0]);
  if (!condition || condition->size() != 1 || !(*condition)[0].as_int()) {
    return unsupported("a condition that is known only at run time");
  }
  const std::string_view wanted = *(*condition)[0].as_int() != 0 ? "then_branch" : "else_branch";
  const AttributeProto* branch = nullptr;
  for (const AttributeProto* attribute : attributes) {
    if (attribute->name == wanted) branch = attribute;
  }
  if (branch == nullptr || branch->type != AttributeType::graph) {
    return invalid_model("the attribute '", wanted, "' is missing or no graph");
  }
  if (frame.depth >= kMaxDepth) {
    return invalid_model("subgraphs are nested more than ", kMaxDepth, " deep");
  }
  TRY(const GraphProto graph, add_note(read_graph(branch->s), wanted));
  if (graph.outputs.size() != node.outputs.size()) {
    return invalid_model("expected ", node.outputs.size(), " outputs of '", wanted, "', got ",
                         graph.outputs.size());
  }
  Frame body;
  body.outer = &frame;
  body.opsets = frame.opsets;
  body.bindings = frame.bindings;
  body.prefix = provenance(node, frame);
  body.depth = frame.depth + 1;
  TRY_STATUS(add_note(add_initializers(graph, body), wanted));
  TRY_STATUS(add_note(import_nodes(graph.nodes, body), wanted));
  ValueIds outputs;
  for (const ValueInfoProto& output : graph.outputs) {
    const auto value = body.find(output.name);
    if (!value || !value->valid()) {
      return invalid_model(wanted, ": nothing gives its output '", to_comment(output.name), "'");
    }
    outputs.push_back(*value);
  }
  return outputs;
}

// ---- the summary -----------------------------------------------------------------------------

void Importer::summarize() {
  summary_.format = concat("ONNX, IR ", model_.ir_version);
  summary_.producer = concat(to_comment(model_.producer_name),
                             model_.producer_version.empty() ? "" : " ",
                             to_comment(model_.producer_version));
  for (const GraphInput& input : graph_.inputs()) {
    summary_.inputs.push_back(
        concat(to_comment(input.name), ": ", shown_type(graph_.type(input.value))));
  }
  for (const GraphOutput& output : graph_.outputs()) {
    summary_.outputs.push_back(
        concat(to_comment(output.name), ": ", shown_type(graph_.type(output.value))));
  }
  for (const auto& [key, count] : counts_) {
    const auto& [domain, op_type, opset] = key;
    summary_.operators.push_back({domain, op_type, opset, count});
  }
  for (const NodeId id : graph_.nodes()) {
    const Node& node = graph_.node(id);
    const auto* op = node.op.as<Unimplemented>();
    if (op == nullptr || op->reason == kBlocked) continue;
    summary_.unsupported.push_back({join(node.provenance, ", "), op->op_type, op->domain, op->opset,
                                    op->reason});
  }
}

}  // namespace

Result<ImportedModel> import_onnx(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::filesystem::path& folder,
                                  const ImportOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY(const ModelProto model, read_model(text));
  return Importer(model, std::move(owner), folder, options).run();
}

}  // namespace ingot::onnx
