// codegen/api/custom_ops.cc: builds the nodes of custom operators and gathers their code.
#include "codegen/api/custom_ops.h"

#include <algorithm>

#include "base/text.h"
#include "kernel/stmt.h"
#include "ops/custom.h"
#include "ops/pointwise.h"

namespace ingot {
namespace {

using compiler::CustomOperator;
using compiler::ElementBody;
using compiler::FunctionBody;
using compiler::TensorInfo;

Result<TensorInfo> info_of(const Type& type) {
  if (!type.is_tensor()) return unsupported("expected tensors, got ", type);
  TensorInfo result{info(type.tensor.dtype).onnx, {}};
  for (const Expr& dim : type.tensor.dims) result.dims.push_back(to_text(dim));
  return result;
}

/// "f32[batch, 3]"; dims may name what the model has, nothing new.
Result<Type> type_of(const TensorInfo& tensor, ExprPool& pool) {
  const auto dtype = dtype_from_onnx(tensor.dtype);
  if (!dtype) {
    return invalid_argument("infer: expected an element type from 1 to 26, got ", tensor.dtype);
  }
  const size_t known = pool.symbol_count();
  const std::string text = concat(*dtype, "[", join(tensor.dims, ", "), "]");
  TRY(Type type, add_note(parse_type(text, pool), "infer: '", text, "'"));
  if (pool.symbol_count() != known) {
    return invalid_argument("infer: '", text,
                            "': expected dims made of the inputs', got a new one");
  }
  return type;
}

struct ToPublic {
  Result<compiler::AttributeValue> operator()(const int64_t& v) const { return Value(v); }
  Result<compiler::AttributeValue> operator()(const double& v) const { return Value(v); }
  Result<compiler::AttributeValue> operator()(const std::string& v) const { return Value(v); }
  Result<compiler::AttributeValue> operator()(const std::vector<int64_t>& v) const {
    return Value(v);
  }
  Result<compiler::AttributeValue> operator()(const std::vector<double>& v) const {
    return Value(v);
  }
  Result<compiler::AttributeValue> operator()(const std::vector<std::string>& v) const {
    return Value(v);
  }
  template <class T>
  Result<compiler::AttributeValue> operator()(const T&) const {
    return unsupported("expected numbers or text");
  }
  using Value = compiler::AttributeValue;
};

Result<compiler::CustomNode> describe(const Graph& graph, const CustomNode& node) {
  compiler::CustomNode result{node.name, {}, node.outputs.size(), {}};
  for (const ValueId input : node.inputs) {
    TRY(result.inputs.emplace_back(), info_of(graph.type(input)));
  }
  for (const auto& [name, value] : node.attributes) {
    TRY(result.attributes[name], std::visit(ToPublic(), value));
  }
  return result;
}

/// The outputs' types; none if the operator leaves that to its body.
Result<Types> infer(const CustomOperator& op, const compiler::CustomNode& node, ExprPool& pool) {
  Types types;
  if (!op.infer) return types;
  const compiler::Inferred inferred = op.infer(node);
  if (!inferred.error.empty()) return invalid_model("infer: ", inferred.error);
  if (inferred.outputs.empty()) return invalid_argument("infer: expected a type of an output");
  for (const TensorInfo& tensor : inferred.outputs) {
    TRY(types.emplace_back(), type_of(tensor, pool));
  }
  return types;
}

Result<std::vector<ValueId>> build_element(Graph& graph, const ElementBody& body,
                                           const CustomNode& node, const compiler::CustomNode& view,
                                           const Types& types) {
  if (node.inputs.empty()) return unsupported("expected at least one input");
  const auto* text = std::get_if<std::string>(&body.expression);
  const std::string expression =
      text != nullptr ? *text
                      : std::get<std::function<std::string(const compiler::CustomNode&)>>(
                            body.expression)(view);
  std::vector<DType> params;
  for (const ValueId input : node.inputs) {
    params.push_back(compute_dtype(graph.tensor(input).dtype));
  }
  TRY(const Expr value, add_note(parse_expr(expression, graph.pool(), params), "expression"));
  const DType dtype = types.empty() ? graph.tensor(node.inputs[0]).dtype : types[0].tensor.dtype;
  TRY(auto outputs, graph.add(make_op(ops::Pointwise{value, dtype}), node.inputs, {node.name}));
  if (!types.empty() && !is_compatible(graph.type(outputs[0]), types[0])) {
    return invalid_argument("infer: expected the broadcast type ", graph.type(outputs[0]),
                            " of an element body, got ", types[0]);
  }
  return outputs;
}

Result<std::vector<ValueId>> build(Graph& graph, const CustomOperator& op, const CustomNode& node) {
  TRY(const compiler::CustomNode view, describe(graph, node));
  TRY(Types types, infer(op, view, graph.pool()));
  if (const auto* body = std::get_if<ElementBody>(&op.body)) {
    return build_element(graph, *body, node, view, types);
  }
  if (types.empty() && !node.inputs.empty()) types.push_back(graph.type(node.inputs[0]));
  ops::Custom custom{op.name, op.domain, std::get<FunctionBody>(op.body).function, {}};
  for (const Type& type : types) custom.outputs.push_back(to_text(type));
  return graph.add(make_op(std::move(custom)), node.inputs, {node.name});
}

Status check(const CustomOperator& op) {
  if (op.name.empty()) return invalid_argument("expected a name");
  if (const auto* body = std::get_if<ElementBody>(&op.body)) {
    const auto* text = std::get_if<std::string>(&body->expression);
    const auto* writer =
        std::get_if<std::function<std::string(const compiler::CustomNode&)>>(&body->expression);
    if ((text != nullptr && text->empty()) || (writer != nullptr && !*writer)) {
      return invalid_argument("expected an expression");
    }
    return ok();
  }
  const auto& body = std::get<FunctionBody>(op.body);
  if (!ops::is_c_identifier(body.function)) {
    return invalid_argument("expected the name of a C function, got '", body.function, "'");
  }
  if (body.function.starts_with("ingot_")) {
    return invalid_argument("expected a function name that does not begin with ingot_, got '",
                            body.function, "'");
  }
  return ok();
}

}  // namespace

Status add_custom_operators(std::span<const CustomOperator> operators, ImportOptions& import,
                            CompileOptions& options) {
  for (const CustomOperator& op : operators) {
    const std::string domain = op.domain == "ai.onnx" ? "" : op.domain;
    const std::string label = concat("operator '", domain, "::", op.name, "'");
    TRY_STATUS(add_note(check(op), label));
    const BuildCustom builder = [op, label](Graph& graph, const CustomNode& node) {
      return add_note(build(graph, op, node), label);
    };
    if (!import.custom.emplace(std::pair(domain, op.name), builder).second) {
      return invalid_argument(label, ": is there twice");
    }
    const auto* body = std::get_if<FunctionBody>(&op.body);
    if (body == nullptr) continue;
    if (!body->source.empty()) {
      options.custom_sources.push_back(
          {concat("custom_", options.custom_sources.size(), ".c"), body->source});
    }
    const std::filesystem::path object = body->object;
    const bool fresh =
        std::ranges::find(options.custom_objects, object) == options.custom_objects.end();
    if (!object.empty() && fresh) options.custom_objects.push_back(object);
  }
  return ok();
}

}  // namespace ingot
