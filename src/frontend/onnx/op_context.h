// frontend/onnx/op_context.h: what a row of the operator table sees of the ONNX node it builds.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/builder.h"
#include "frontend/onnx/tensor_data.h"
#include "frontend/onnx/wire.h"

namespace ingot::onnx {

/// Computed integers of a graph that were made symbols, by their value.
using ReadSizes = std::map<ValueId, Exprs>;

/// The rank of the tensors in a sequence or optional: a number, or one of these.
inline constexpr int64_t kUnknownRank = -1;  // or they differ
inline constexpr int64_t kNoItems = -2;
/// The rank where tensors of both may be.
int64_t joined_rank(int64_t a, int64_t b);
/// By the sequence or optional. Types say nothing of it.
using ElementRanks = std::map<ValueId, int64_t>;

/// Whether an element of OpContext::contents is computed, so that only a run knows its sign.
bool is_computed(Expr element);

/// One ONNX node: its inputs, attributes and opset, and a Builder for what replaces it.
///
/// The row's numbers of inputs have been checked: input k below the minimum is there, and every
/// input that is there is a tensor, unless the row takes containers. Attributes are checked as they
/// are asked for: errors name the attribute. A row answers `unsupported` for what Ingot cannot do,
/// which becomes a placeholder that keeps the reason, and any other error for a model that is
/// wrong, which ends the import.
class OpContext : public Builder {
 public:
  struct Node {
    const NodeProto* proto = nullptr;
    std::span<const AttributeProto* const> attributes;  // references resolved
    int64_t opset = 0;
    int64_t since = 0;  // of the row
    ValueIds inputs;    // invalid: absent
    ModelBytes source;
    SymbolicContents* contents = nullptr;
    ReadSizes* read_sizes = nullptr;        // of the same graph
    ValueId turn;                           // i64[] of the loop whose body the graph is, or none
    int loops = 0;                          // around the node
    ElementRanks* element_ranks = nullptr;  // of the same graph
  };

  OpContext(Graph& graph, std::string provenance, Node node);

  // -- the node --
  std::string_view op_type() const { return node_.proto->op_type; }
  int64_t opset() const { return node_.opset; }
  size_t input_count() const { return node_.inputs.size(); }
  bool has(size_t k) const { return k < node_.inputs.size() && node_.inputs[k].valid(); }
  /// Input k, or an invalid id if it is absent.
  ValueId in(size_t k) const { return has(k) ? node_.inputs[k] : ValueId(); }
  /// Those that are there.
  ValueIds all_inputs() const;
  const ValueIds& inputs() const { return node_.inputs; }
  /// What `build` makes of this node's attributes and other inputs, under another opset.
  Result<ValueIds> seeing(ValueIds inputs, int64_t opset, Result<ValueIds> (*build)(OpContext&));
  /// Inputs behind optional ones that must be there.
  Status expect_inputs(std::initializer_list<size_t> needed) const;
  /// The inputs from `first` to before `end` that are there are floats, or floats or integers.
  Status expect_floats(size_t first, size_t end) const;
  Status expect_numbers(size_t first = 0, size_t end = kMaxDim) const;
  size_t output_count() const { return node_.proto->outputs.size(); }
  /// Whether anybody may read output k.
  bool wants(size_t k) const { return k < output_count() && !node_.proto->outputs[k].empty(); }

  /// The number of the turn, if the node is in the body of a loop. Errors: unsupported where loops
  /// around that one, or around a branch, have turns of their own.
  Result<ValueId> turn() const;

  /// Rank of the tensors in a sequence or optional.
  int64_t element_rank(ValueId container) const;
  void set_element_rank(ValueId container, int64_t rank);

  // -- attributes --
  bool has_attr(std::string_view name);
  Result<int64_t> attr_int(std::string_view name, std::optional<int64_t> otherwise = {});
  Result<bool> attr_flag(std::string_view name, bool otherwise);
  Result<double> attr_real(std::string_view name, std::optional<double> otherwise = {});
  Result<std::string> attr_text(std::string_view name, std::optional<std::string> otherwise = {});
  /// Which of the choices a text attribute is, by number.
  Result<size_t> attr_choice(std::string_view name, std::span<const std::string_view> choices,
                             size_t otherwise);
  /// Empty if it is absent; ask has_attr to tell that from an empty list.
  Result<std::vector<int64_t>> attr_ints(std::string_view name);
  Result<std::vector<double>> attr_reals(std::string_view name);
  Result<std::vector<std::string>> attr_texts(std::string_view name);
  Result<ConstantData> attr_tensor(std::string_view name);
  Result<TypeProto> attr_type(std::string_view name);
  /// The ONNX number of an element type.
  Result<DType> attr_dtype(std::string_view name, std::optional<DType> otherwise = {});
  /// An axis of a tensor of that rank, counted from the front.
  Result<int64_t> attr_axis(std::string_view name, int64_t rank, std::optional<int64_t> otherwise);
  /// Attributes that no getter has asked for.
  std::vector<std::string_view> unread_attributes() const;

  // -- contents of inputs --
  /// The elements of an integer or boolean input as i64 expressions over symbols; those that are
  /// computed become new symbols. Errors: unsupported if nothing tells how many there are.
  Result<Exprs> contents(size_t k, std::string_view name);
  /// The same for sizes: a computed one that is negative counts as 0.
  Result<Exprs> sizes(size_t k, std::string_view name);
  /// The same as contents, of any value.
  Result<Exprs> contents_of(ValueId value, std::string_view name);
  /// The same as contents, all of them numbers.
  Result<std::vector<int64_t>> numbers(size_t k, std::string_view name);
  /// The only element.
  Result<Expr> content(size_t k, std::string_view name);
  Result<int64_t> number_at(size_t k, std::string_view name);
  /// The values of a floating-point or integer input that is a constant in the model.
  Result<std::vector<double>> constant_reals(size_t k, std::string_view name);
  /// Axes from an attribute or, from a later opset, an input; each counted from the front, sorted,
  /// no axis twice. Nothing if neither is there.
  Result<std::optional<std::vector<int64_t>>> axes(size_t input, int64_t rank);

 private:
  Result<Exprs> read_contents(ValueId value, std::string_view name);

  const AttributeProto* find(std::string_view name);
  Result<const AttributeProto*> expect(std::string_view name, AttributeType type);

  Node node_;
  std::vector<std::string_view> asked_;
};

/// Axes counted from the front. Errors: out of range, named twice.
Result<std::vector<int64_t>> front_axes(std::vector<int64_t> axes, int64_t rank);

}  // namespace ingot::onnx
