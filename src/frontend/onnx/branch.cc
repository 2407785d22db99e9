// frontend/onnx/branch.cc: If: the branch that is taken, or both where only a run can tell.
#include <array>

#include "frontend/builder.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/order.h"
#include "ops/control.h"

namespace ingot::onnx {
namespace {

constexpr std::array<std::string_view, 2> kBranches = {"then_branch", "else_branch"};

bool same_ranks(const Graph& a, const Graph& b, size_t outputs) {
  for (size_t k = 0; k < outputs; ++k) {
    const Type& x = a.type(a.outputs()[k].value);
    const Type& y = b.type(b.outputs()[k].value);
    if (x.is_tensor() && y.is_tensor() && x.tensor.rank() != y.tensor.rank()) return false;
  }
  return true;
}

/// Whether nothing that only a run finds out decides the dim.
bool is_told_by_inputs(Expr dim) {
  bool told = true;
  for_each(dim, [&](Expr e) {
    const bool is_symbol = e.kind() == ExprKind::symbol;
    told &= !is_symbol || !std::as_const(e.pool()).symbol_info(e.symbol()).data_dependent;
  });
  return told;
}

}  // namespace

/// A branch that cannot work with the sizes that it gets, of which `error` says why: a run that
/// takes it fails. Its outputs have the types of the other branch's.
Result<GraphRef> Importer::failing_branch(const NodeProto& node, const Frame& frame,
                                          std::span<const Capture> captures, const Graph& other,
                                          const Error& error) {
  const std::string why = concat(describe(node), ": ", to_text(error));
  Graph body(graph_.shared_pool());
  for (const Capture& capture : captures) {
    if (capture.is_input()) body.add_input(std::string(capture.name), capture.type);
  }
  Builder b(body, provenance(node, frame));
  std::vector<GraphOutput> outputs;
  for (const GraphOutput& output : other.outputs()) {
    const Type& type = other.type(output.value);
    if (!type.is_tensor()) return error;
    Exprs dims = type.tensor.dims;
    for (Expr& dim : dims) {
      if (!is_told_by_inputs(dim)) dim = b.integer(0);
    }
    TRY(const ValueId value, b.fill(type.tensor.dtype, 0, std::move(dims)));
    outputs.push_back({output.name, value});
  }
  body.set_outputs(std::move(outputs));
  body.name = b.provenance();
  body.assumptions().push_back({b.integer(0), b.integer(1), why});
  summary_.warnings.push_back(concat(why, "; runs that take this branch fail"));
  return GraphRef(std::make_shared<const Graph>(std::move(body)));
}

/// Exporters write a squeeze of a dim that may be 1 as an If, which gives one rank or another. With
/// a condition that compares dims, the branch of equal dims is the one meant: it is taken, and runs
/// must agree.
std::optional<bool> Importer::settle_branch(const NodeProto& node, const Frame& frame,
                                            std::optional<Exprs> condition) {
  if (!condition || condition->size() != 1) return std::nullopt;
  Expr test = (*condition)[0];
  bool taken = true;
  while (test.kind() == ExprKind::logical_not || test.kind() == ExprKind::cast) {
    if (test.kind() == ExprKind::logical_not) taken = !taken;
    test = test.operand(0);
  }
  if (test.kind() == ExprKind::ne) taken = !taken;
  if (test.kind() != ExprKind::eq && test.kind() != ExprKind::ne) return std::nullopt;
  const Expr a = test.operand(0), b = test.operand(1);
  if (!is_int(a.dtype()) || !is_told_by_inputs(test)) return std::nullopt;
  const std::string where = provenance(node, frame);
  graph_.assumptions().push_back({a, b, concat(where, ": the condition")});
  summary_.warnings.push_back(concat(describe(node), ": its branches give different ranks; ",
                                     kBranches[taken ? 0 : 1], " is taken, runs need ", a, " = ",
                                     b));
  return taken;
}

Result<ValueIds> Importer::build_if(const NodeProto& node, const ValueIds& inputs,
                                    std::span<const AttributeProto* const> attributes,
                                    Frame& frame) {
  if (inputs.size() != 1 || !inputs[0].valid()) {
    return invalid_model("expected one input, the condition");
  }
  if (!graph_.type(inputs[0]).is_tensor()) return unsupported(kBlocked);
  const auto condition = contents_->find(inputs[0]);
  if (condition && condition->size() == 1 && (*condition)[0].as_int()) {
    return inline_if(node, *(*condition)[0].as_int() != 0, attributes, frame);
  }
  Builder b(graph_, provenance(node, frame));
  TRY(const std::vector<Capture> captures, find_captures(node, frame));
  ValueIds operands;
  TRY(operands.emplace_back(), as_scalar(b, inputs[0]));
  for (const ValueId input : captured_inputs(captures)) operands.push_back(input);
  const ModelSummary summary = summary_;
  const auto counts = counts_;
  std::vector<GraphRef> bodies(kBranches.size());
  std::vector<int64_t> ranks(node.outputs.size(), kNoItems);  // of items, where there are any
  std::array<std::optional<Error>, kBranches.size()> errors;
  for (size_t k = 0; k < kBranches.size(); ++k) {
    TRY(const GraphProto graph, read_body(attributes, kBranches[k]));
    if (graph.outputs.size() < node.outputs.size()) {
      return invalid_model("expected ", node.outputs.size(), " outputs of '", kBranches[k],
                           "', got ", graph.outputs.size());
    }
    auto body = import_body(
        graph, kBranches[k], node, frame, captures, [](Frame&) { return ok(); },
        [&](ValueIds& values) {
          for (size_t j = 0; j < ranks.size(); ++j) {
            ranks[j] = joined_rank(ranks[j], element_rank(values[j]));
          }
          return ok();
        });
    if (body) {
      bodies[k] = *std::move(body);
    } else if (body.error().code == Code::kInvalidArgument) {
      errors[k] = std::move(body.error());
    } else {
      return std::move(body.error());
    }
  }
  if (errors[0] && errors[1]) return *errors[0];
  for (const size_t k : {0, 1}) {
    if (!errors[k]) continue;
    TRY(bodies[k], failing_branch(node, frame, captures, *bodies[1 - k], *errors[k]));
  }
  if (!same_ranks(*bodies[0], *bodies[1], node.outputs.size())) {
    const ModelSummary both = std::exchange(summary_, summary);
    if (const auto taken = settle_branch(node, frame, condition)) {
      counts_ = counts;
      return inline_if(node, *taken, attributes, frame);
    }
    summary_ = both;
  }
  TRY(ValueIds outputs, graph_.add(make_op(ops::If{bodies[0], bodies[1]}), std::move(operands),
                                   {provenance(node, frame)}));
  for (size_t k = 0; k < ranks.size(); ++k) {
    if (graph_.type(outputs[k]).is_container()) element_ranks_[outputs[k]] = ranks[k];
  }
  return outputs;
}

/// An If whose condition is known becomes the branch that is taken.
Result<ValueIds> Importer::inline_if(const NodeProto& node, bool condition,
                                     std::span<const AttributeProto* const> attributes,
                                     Frame& frame) {
  const std::string_view wanted = kBranches[condition ? 0 : 1];
  TRY(const GraphProto graph, read_body(attributes, wanted));
  if (graph.outputs.size() != node.outputs.size()) {
    return invalid_model("expected ", node.outputs.size(), " outputs of '", wanted, "', got ",
                         graph.outputs.size());
  }
  return inline_graph(graph, wanted, node, {}, frame);
}

/// The nodes of a subgraph become nodes of the graph around it; `inputs` are its inputs' values.
Result<ValueIds> Importer::inline_graph(const GraphProto& graph, std::string_view what,
                                        const NodeProto& node, const ValueIds& inputs,
                                        const Frame& frame) {
  if (frame.depth >= kMaxDepth) {
    return invalid_model("subgraphs are nested more than ", kMaxDepth, " deep");
  }
  Frame body;
  body.outer = &frame;
  body.opsets = frame.opsets;
  body.bindings = frame.bindings;
  body.prefix = provenance(node, frame);
  body.depth = frame.depth + 1;
  for (size_t k = 0; k < inputs.size(); ++k) {
    TRY_STATUS(body.define(graph.inputs[k].name, inputs[k]));
  }
  TRY_STATUS(add_note(add_initializers(graph, body), what));
  TRY_STATUS(add_note(import_nodes(graph.nodes, body), what));
  ValueIds outputs;
  for (const ValueInfoProto& output : graph.outputs) {
    const auto value = body.find(output.name);
    if (!value || !value->valid()) {
      return invalid_model(what, ": nothing gives its output '", to_comment(output.name), "'");
    }
    outputs.push_back(*value);
  }
  return outputs;
}

}  // namespace ingot::onnx
