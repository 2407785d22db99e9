// frontend/onnx/importer.h: the walk over one model: what it has found, and its steps.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "frontend/builder.h"
#include "frontend/import.h"
#include "frontend/onnx/dims.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {

/// The reason of nodes whose own operator is known, but not what they read.
inline constexpr std::string_view kBlocked = "it needs the result of a node that is not supported";

/// "ai.onnx" is another name of the default domain.
inline std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}
inline std::string_view shown_domain(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

/// The rank of tensors in a container as a model declares it.
Result<int64_t> declared_element_rank(const TypeProto& type);

/// A type for people: dims may have names of any length.
std::string shown_type(const Type& type);

/// Attributes of a function by name, as its caller or its defaults set them.
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

/// Domain, name, overload.
using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

/// The subgraph that an attribute holds. Errors: invalid_model if there is none.
Result<GraphProto> read_body(std::span<const AttributeProto* const> attributes,
                             std::string_view name);
/// A tensor of one element without dims, whatever its rank.
Result<ValueId> as_scalar(Builder& b, ValueId x);

/// Turns one ModelProto into a graph; run() once. import.cc has what concerns the model, nodes.cc
/// what concerns its nodes, control.cc, branch.cc and
/// flex_attention.cc what concerns their subgraphs.
class Importer {
 public:
  Importer(const ModelProto& model, std::shared_ptr<const void> owner,
           const std::filesystem::path& folder, const ImportOptions& options)
      : model_(model),
        options_(options),
        external_(folder),
        source_{std::move(owner), &external_},
        contents_(std::make_unique<SymbolicContents>(graph_)),
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
  struct Call;
  Status import_nodes(std::span<const NodeProto> nodes, Frame& frame);
  static Status put_in_order(Call& call);
  Status build_calls(std::deque<Call>& calls);
  Status enter_function(const NodeProto& node, const FunctionProto& function, Frame& frame,
                        std::deque<Call>& calls);
  Status leave_function(const Call& call, Frame& frame);
  Status import_node(const NodeProto& node, Frame& frame);
  Result<ValueIds> build_node(const NodeProto& node, const ValueIds& inputs, Frame& frame);
  Result<ValueIds> build_row(const NodeProto& node, const OpRow& row, int64_t opset,
                             const ValueIds& inputs,
                             std::span<const AttributeProto* const> attributes, const Frame& frame);
  Result<ValueIds> build_custom(const NodeProto& node, const BuildCustom& build,
                                const ValueIds& inputs,
                                std::span<const AttributeProto* const> attributes,
                                const Frame& frame);
  Status define_outputs(const NodeProto& node, const ValueIds& values, Frame& frame);
  Result<ValueIds> add_placeholder(const NodeProto& node, const ValueIds& inputs, int64_t opset,
                                   std::string_view reason, const Frame& frame);
  Result<ValueIds> resolve_inputs(const NodeProto& node, const Frame& frame) const;
  Result<std::vector<const AttributeProto*>> resolve_attributes(const NodeProto& node,
                                                                const Frame& frame);
  std::string provenance(const NodeProto& node, const Frame& frame) const;
  Status count_node();

  // -- control flow --
  /// A value of the graph around that a body reads.
  struct Capture {
    std::string_view name;
    ValueId outer;                  // in the graph around
    const ConstantData* constant;   // or null
    std::optional<Exprs> contents;  // of shape arithmetic
    Type type;
    int64_t element_rank = kUnknownRank;  // of a container

    /// Known values are built anew inside; everything else is an input of the body.
    bool is_input() const { return constant == nullptr && !contents; }
  };
  struct ScanInput;
  struct Carried;
  struct LoopForm;
  struct LoopBody;
  Result<std::vector<Capture>> find_captures(const NodeProto& node, const Frame& frame);
  Result<ValueId> build_capture(const Capture& capture);
  static ValueIds captured_inputs(std::span<const Capture> captures);
  Result<GraphRef> import_body(const GraphProto& graph, std::string_view what,
                               const NodeProto& node, const Frame& frame,
                               std::span<const Capture> captures,
                               const std::function<Status(Frame& body)>& enter,
                               const std::function<Status(ValueIds& outputs)>& leave);
  Result<ValueId> build_slice(const ScanInput& scan, ValueId whole, ValueId turn);
  Result<LoopBody> import_loop_body(const LoopForm& form, const NodeProto& node, const Frame& frame,
                                    std::span<const Capture> captures,
                                    std::span<const Carried> carried);
  bool generalise(const LoopBody& body, std::span<Carried> carried);
  int64_t element_rank(ValueId value) const;
  Result<ValueIds> build_if(const NodeProto& node, const ValueIds& inputs,
                            std::span<const AttributeProto* const> attributes, Frame& frame);
  Result<ValueIds> inline_if(const NodeProto& node, bool condition,
                             std::span<const AttributeProto* const> attributes, Frame& frame);
  Result<ValueIds> inline_graph(const GraphProto& graph, std::string_view what,
                                const NodeProto& node, const ValueIds& inputs, const Frame& frame);
  Result<ValueIds> build_flex_attention(const NodeProto& node, const ValueIds& inputs,
                                        std::span<const AttributeProto* const> attributes,
                                        const Frame& frame);
  Result<GraphRef> failing_branch(const NodeProto& node, const Frame& frame,
                                  std::span<const Capture> captures, const Graph& other,
                                  const Error& error);
  std::optional<bool> settle_branch(const NodeProto& node, const Frame& frame,
                                    std::optional<Exprs> condition);
  Result<ValueIds> add_loop(const LoopForm& form, const NodeProto& node, const Frame& frame,
                            ValueIds operands, const Exprs& trips);
  struct ScanOptions;
  Result<ValueIds> add_scan(const GraphProto& graph, const NodeProto& node, const ValueIds& inputs,
                            const ScanOptions& options, const Frame& frame);
  Result<ValueIds> add_batched_scan(const GraphProto& graph, const NodeProto& node,
                                    const ValueIds& inputs, const ScanOptions& options,
                                    const Frame& frame);
  Result<ValueIds> build_scan(const NodeProto& node, const ValueIds& inputs,
                              std::span<const AttributeProto* const> attributes, int64_t opset,
                              const Frame& frame);
  Result<ValueIds> build_map(const NodeProto& node, const ValueIds& inputs,
                             std::span<const AttributeProto* const> attributes, const Frame& frame);
  Result<ValueIds> build_loop(const NodeProto& node, const ValueIds& inputs,
                              std::span<const AttributeProto* const> attributes, Frame& frame);

  void summarize();

  const ModelProto& model_;
  const ImportOptions& options_;
  Graph graph_;
  ExternalFiles external_;
  ModelBytes source_;
  std::unique_ptr<SymbolicContents> contents_;  // of graph_
  ReadSizes read_sizes_;                        // of graph_
  ValueId turn_;                                // of the loop whose body graph_ is, or none
  int loops_ = 0;                               // around graph_
  ElementRanks element_ranks_;                  // of graph_
  DimTable dims_;
  ModelSummary summary_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_set<const FunctionProto*> calls_;  // being expanded
  std::deque<AttributeProto> renamed_attributes_;   // references resolved
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> counts_;
  size_t nodes_built_ = 0;
  size_t max_nodes_ = 0;
};

}  // namespace ingot::onnx
