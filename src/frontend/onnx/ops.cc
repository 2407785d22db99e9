// frontend/onnx/ops.cc: finds rows in the families' tables.
#include "frontend/onnx/ops.h"

#include <algorithm>

#include "base/check.h"

namespace ingot::onnx {
namespace {

using Rows = std::span<const OpRow> (*)();
constexpr Rows kFamilies[] = {elementwise_rows,
                              logic_rows,
                              reduction_rows,
                              movement_rows,
                              indexing_rows,
                              generator_rows,
                              linear_rows,
                              window_rows,
                              norm_rows,
                              quantize_rows,
                              resize_rows,
                              select_rows,
                              recurrent_rows,
                              attention_rows,
                              einsum_rows,
                              sample_rows,
                              signal_rows,
                              loss_rows,
                              microsoft_attention_rows,
                              microsoft_block_rows,
                              microsoft_elementwise_rows,
                              microsoft_linear_rows,
                              microsoft_norm_rows,
                              microsoft_other_rows,
                              microsoft_quantize_rows,
                              microsoft_refused_rows,
                              random_rows,
                              state_rows,
                              deform_rows,
                              ngram_rows,
                              training_rows,
                              ml_rows,
                              ml_label_rows,
                              ml_linear_rows,
                              ml_map_rows,
                              ml_svm_rows,
                              ml_tree_rows,
                              sequence_rows,
                              text_rows};

/// The rows of one operator; empty if no family has it.
std::span<const OpRow> rows_of(std::string_view op_type) {
  for (const Rows family : kFamilies) {
    const std::span<const OpRow> rows = family();
    const auto first = std::ranges::lower_bound(rows, op_type, {}, &OpRow::op_type);
    const auto last = std::ranges::upper_bound(first, rows.end(), op_type, {}, &OpRow::op_type);
    if (first != last) return {first, last};
  }
  return {};
}

}  // namespace

const OpRow* find_row(std::string_view op_type, int64_t opset) {
  const OpRow* best = nullptr;
  for (const OpRow& row : rows_of(op_type)) {
    if (row.since <= opset) best = &row;
  }
  return best;
}

std::optional<int64_t> first_opset(std::string_view op_type) {
  const auto rows = rows_of(op_type);
  if (rows.empty()) return std::nullopt;
  return rows.front().since;
}

Result<ValueIds> build_as(OpContext& n, std::string_view op_type, int64_t opset, ValueIds inputs) {
  const OpRow* row = find_row(op_type, opset);
  CHECK(row != nullptr, op_type);
  return n.seeing(std::move(inputs), opset, row->build);
}

Result<ValueId> align_legacy_operand(OpContext& n, ValueId x, ValueId y) {
  TRY(const bool broadcast, n.attr_flag("broadcast", false));
  const int64_t rank = n.rank(x);
  const int64_t inner = n.rank(y);
  if (!n.has_attr("axis") || !broadcast || inner == 0) return y;
  TRY(const int64_t axis, n.attr_axis("axis", rank, rank - inner));
  if (axis + inner > rank) {
    return invalid_model("axis ", axis, " leaves no room for ", inner, " dims in ", rank);
  }
  Exprs dims = n.dims(y);
  dims.resize(static_cast<size_t>(rank - axis), n.integer(1));
  return n.reshape(y, std::move(dims));
}

}  // namespace ingot::onnx
