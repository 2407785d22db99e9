// frontend/lint.cc: one function for each kind of remark.
#include "frontend/lint.h"

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "frontend/onnx/wire.h"

namespace ingot {
namespace {

using onnx::AttributeProto;
using onnx::AttributeType;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using Names = std::set<std::string_view>;

/// Some names of a longer list.
std::string some_of(const std::vector<std::string_view>& names) {
  constexpr size_t kMost = 3;
  std::vector<std::string> shown;
  for (const std::string_view name : names) {
    if (shown.size() == kMost) {
      return concat(join(shown, ", "), " and ", names.size() - kMost, " more");
    }
    shown.push_back(concat("'", to_comment(name), "'"));
  }
  return join(shown, ", ");
}

void remark(std::vector<std::string>& remarks, std::string_view what,
            const std::vector<std::string_view>& names) {
  if (!names.empty()) remarks.push_back(concat(what, ": ", some_of(names)));
}

/// Every name that the nodes read, in graphs inside them too, and that a graph inside gives.
Status add_read(const std::vector<NodeProto>& nodes, Names& read, int depth) {
  if (depth > onnx::kMaxDepth) return ok();  // the importer refuses it
  for (const NodeProto& node : nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeProto& attribute : node.attributes) {
      std::vector<std::string_view> inner;
      if (attribute.type == AttributeType::graph) inner = {attribute.s};
      if (attribute.type == AttributeType::graphs) inner = attribute.strings;
      for (const std::string_view bytes : inner) {
        TRY(const GraphProto graph, onnx::read_graph(bytes));
        for (const auto& output : graph.outputs) read.insert(output.name);
        TRY_STATUS(add_read(graph.nodes, read, depth + 1));
      }
    }
  }
  return ok();
}

Status find_unread(const GraphProto& graph, std::vector<std::string>& remarks) {
  Names read;
  for (const auto& output : graph.outputs) read.insert(output.name);
  TRY_STATUS(add_read(graph.nodes, read, 0));
  Names given;
  std::vector<std::string_view> nodes, inputs, initializers;
  for (const NodeProto& node : graph.nodes) {
    bool any = node.outputs.empty();
    for (const std::string_view output : node.outputs) any |= read.contains(output);
    if (!any) nodes.push_back(node.name.empty() ? node.outputs[0] : node.name);
  }
  for (const auto& tensor : graph.initializers) {
    given.insert(tensor.name);
    if (!read.contains(tensor.name)) initializers.push_back(tensor.name);
  }
  for (const auto& input : graph.inputs) {
    if (!read.contains(input.name) && !given.contains(input.name)) inputs.push_back(input.name);
  }
  remark(remarks, "nobody reads the outputs of nodes", nodes);
  remark(remarks, "nobody reads the inputs", inputs);
  remark(remarks, "nobody reads the initializers", initializers);
  return ok();
}

/// f64 where no input has it: often the type of a Python number.
void find_doubles(const GraphProto& model, const Graph& graph, std::vector<std::string>& remarks) {
  const auto is_double = [](const Type& type) {
    return type.is_tensor() && type.tensor.dtype == DType::f64;
  };
  for (const GraphInput& input : graph.inputs()) {
    if (is_double(graph.type(input.value))) return;
  }
  // Ingot's own steps in f64 have no names of the model.
  Names named;
  for (const NodeProto& node : model.nodes) named.insert(node.outputs.begin(), node.outputs.end());
  for (const auto& tensor : model.initializers) named.insert(tensor.name);
  std::vector<std::string_view> values;
  for (uint32_t id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(ValueId(id));
    if (is_double(value.type) && named.contains(value.name)) values.push_back(value.name);
  }
  remark(remarks, "values are f64, though no input is", values);
}

void find_versions(const ModelProto& model, std::vector<std::string>& remarks) {
  const auto domain_of = [](std::string_view domain) {
    return domain.empty() ? std::string_view("ai.onnx") : domain;
  };
  const auto version = [&](std::string_view domain) {
    for (const auto& import : model.opset_imports) {
      if (domain_of(import.domain) == domain) return import.version;
    }
    return int64_t{0};
  };
  for (const FunctionProto& function : model.functions) {
    for (const auto& import : function.opset_imports) {
      const std::string_view domain = domain_of(import.domain);
      if (version(domain) == 0 || version(domain) == import.version) continue;
      remarks.push_back(concat("function '", to_comment(function.name), "' has opset ",
                               import.version, " of ", to_comment(domain), ", the model ",
                               version(domain)));
    }
  }
}

void find_equal_dims(const Graph& graph, std::vector<std::string>& remarks) {
  for (const Assumption& assumption : graph.assumptions()) {
    const Expr a = assumption.a, b = assumption.b;
    if (a.kind() != ExprKind::symbol || b.kind() != ExprKind::symbol) continue;
    remarks.push_back(concat("dims of different names must be equal: ", to_text(a), " and ",
                             to_text(b), " (", assumption.text, ")"));
  }
}

}  // namespace

Result<std::vector<std::string>> lint_model(const std::filesystem::path& path, const Graph& graph) {
  TRY(const MappedFile file, MappedFile::open(path));
  TRY(const ModelProto model, onnx::read_model(file.text()));
  std::vector<std::string> remarks;
  if (!model.graph) return remarks;
  TRY_STATUS(find_unread(*model.graph, remarks));
  find_doubles(*model.graph, graph, remarks);
  find_versions(model, remarks);
  find_equal_dims(graph, remarks);
  return remarks;
}

}  // namespace ingot
