// frontend/onnx/ops.h: the table (ONNX operator, since-version) -> the core operators that build
// it.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

inline constexpr size_t kVariadic = std::numeric_limits<size_t>::max();

/// One meaning of an operator: valid from opset `since` until the next row of the same name.
/// Versions that only widened the allowed types have no row of their own. Operators of other
/// domains have the domain in front: "com.microsoft.Gelu".
struct OpRow {
  std::string_view op_type;
  int64_t since;
  size_t min_inputs;  // the first ones, which must be there
  size_t max_inputs;
  Result<ValueIds> (*build)(OpContext&);  // may give fewer outputs than the operator has
  bool takes_containers = false;          // its inputs may be containers
};

/// The row for an operator of the default domain at an opset; null if there is none.
const OpRow* find_row(std::string_view op_type, int64_t opset);
/// The first opset that has the operator, if any row names it.
std::optional<int64_t> first_opset(std::string_view op_type);

/// The tables by family, each sorted by (op_type, since).
std::span<const OpRow> elementwise_rows();
std::span<const OpRow> logic_rows();
std::span<const OpRow> reduction_rows();
std::span<const OpRow> movement_rows();
std::span<const OpRow> indexing_rows();
std::span<const OpRow> generator_rows();
std::span<const OpRow> linear_rows();
std::span<const OpRow> window_rows();
std::span<const OpRow> norm_rows();
std::span<const OpRow> quantize_rows();
std::span<const OpRow> resize_rows();
std::span<const OpRow> select_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> attention_rows();
std::span<const OpRow> einsum_rows();
std::span<const OpRow> sample_rows();
std::span<const OpRow> signal_rows();
std::span<const OpRow> loss_rows();
/// onnxruntime's own domains.
std::span<const OpRow> microsoft_attention_rows();
std::span<const OpRow> microsoft_block_rows();
std::span<const OpRow> microsoft_elementwise_rows();
std::span<const OpRow> microsoft_linear_rows();
std::span<const OpRow> microsoft_norm_rows();
std::span<const OpRow> microsoft_other_rows();
std::span<const OpRow> microsoft_quantize_rows();
std::span<const OpRow> microsoft_refused_rows();
std::span<const OpRow> random_rows();
std::span<const OpRow> state_rows();
std::span<const OpRow> deform_rows();
std::span<const OpRow> ngram_rows();
std::span<const OpRow> training_rows();
std::span<const OpRow> ml_rows();
std::span<const OpRow> ml_label_rows();
std::span<const OpRow> ml_linear_rows();
std::span<const OpRow> ml_map_rows();
std::span<const OpRow> ml_svm_rows();
std::span<const OpRow> ml_tree_rows();
std::span<const OpRow> sequence_rows();
std::span<const OpRow> text_rows();

/// One output.
inline Result<ValueIds> only(Result<ValueId> y) {
  if (!y) return std::move(y.error());
  return ValueIds{*y};
}

/// What the default domain's operator is at that opset, of this node's attributes and `inputs`.
Result<ValueIds> build_as(OpContext& n, std::string_view op_type, int64_t opset, ValueIds inputs);
/// The same of the node's own inputs.
inline Result<ValueIds> build_as(OpContext& n, std::string_view op_type, int64_t opset) {
  return build_as(n, op_type, opset, n.inputs());
}

/// The second of two operands under the one-sided broadcast of opsets below 7: attribute `axis`
/// says where its dims lie in the first one's.
Result<ValueId> align_legacy_operand(OpContext& n, ValueId x, ValueId y);

}  // namespace ingot::onnx
