// frontend/onnx/import.cc: the model as a whole: versions, initializers, inputs, outputs, summary.
#include "frontend/onnx/import.h"

#include <algorithm>
#include <unordered_set>

#include "base/nearest.h"
#include "frontend/onnx/importer.h"

namespace ingot::onnx {
namespace {

// Source: ONNX 1.23 (docs/Versioning.md); opset 28 and IR 14 are the newest known.
constexpr int64_t kNewestOpset = 28;
constexpr int64_t kNewestIr = 14;

/// Functions may expand to this many times the nodes in the file, and this many more.
constexpr size_t kMaxExpansion = 20;
constexpr size_t kMinExpansion = 10000;

Error no_such_value(std::string_view name, const Frame& frame) {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : frame.values) names.push_back(known);
  std::vector<std::string> shown;
  for (const std::string_view near : nearest(name, names)) {
    shown.push_back(concat("'", to_comment(near), "'"));
  }
  return invalid_argument("the model has no value '", to_comment(name), "'",
                          shown.empty() ? "" : concat("; near it are ", join(shown, ", ")));
}

}  // namespace

Result<int64_t> declared_element_rank(const TypeProto& type) {
  TypeProto inner = type;
  while (!inner.element.empty()) {  // read_type bounds the nesting
    TRY(inner, read_type(inner.element));
  }
  return inner.has_shape ? static_cast<int64_t>(inner.dims.size()) : kUnknownRank;
}

std::string shown_type(const Type& type) {
  constexpr size_t kMaxShown = 300;
  std::string text = to_text(type);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

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
    TRY(ConstantData data,
        add_note(decode_tensor(tensor, source_), "initializer '", to_comment(tensor.name), "'"));
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
    const bool is_container = type.is_container();
    const ValueId value = graph_.add_input(std::string(input.name), std::move(type));
    if (is_container) {
      TRY(element_ranks_[value], declared_element_rank(input.type));
    }
    TRY_STATUS(add_note(frame.define(input.name, value), place));
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (!frame.find(name))
      return invalid_argument("the model has no input '", to_comment(name), "'");
  }
  for (const auto& [name, data] : options_.constants) {
    if (!frame.find(name))
      return invalid_argument("the model has no input '", to_comment(name), "'");
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
      dims.push_back(dim.value           ? std::to_string(*dim.value)
                     : dim.param.empty() ? std::string("?")
                                         : to_comment(dim.param));
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
  for (const std::string& name : options_.outputs) {
    if (std::ranges::find(outputs, name, &GraphOutput::name) != outputs.end()) continue;
    const auto value = frame.find(name);
    if (!value || !value->valid()) return no_such_value(name, frame);
    outputs.push_back({name, *value});
  }
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
  ImportedModel imported{std::move(graph_), std::move(summary_), {}};
  for (const auto& [path, slice] : external_.mapped()) {
    imported.files.push_back({path, slice.bytes, slice.owner});
  }
  return imported;
}

// ---- the summary -----------------------------------------------------------------------------

void Importer::summarize() {
  summary_.format = concat("ONNX, IR ", model_.ir_version);
  summary_.producer =
      concat(to_comment(model_.producer_name), model_.producer_version.empty() ? "" : " ",
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
    summary_.unsupported.push_back(
        {join(node.provenance, ", "), op->op_type, op->domain, op->opset, op->reason});
  }
}

Result<ImportedModel> import_onnx(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::filesystem::path& folder,
                                  const ImportOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TRY(const ModelProto model, read_model(text));
  return Importer(model, std::move(owner), folder, options).run();
}

}  // namespace ingot::onnx
