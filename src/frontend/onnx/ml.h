// frontend/onnx/ml.h: constants from numbers, and what the operators of ai.onnx.ml share.
#pragma once

#include <span>
#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// Numbers as a constant of that type and those dims.
ValueId number_constant(OpContext& n, DType dtype, std::span<const double> values,
                        std::vector<int64_t> dims);
ValueId integer_constant(OpContext& n, DType dtype, std::span<const int64_t> values,
                         std::vector<int64_t> dims);

/// Input 0 as rows of features [N, F], a list being one row, as floats: f64 stays, others are f32.
Result<ValueId> feature_rows(OpContext& n);

/// x [N, F] times coefficients [rows, F] transposed, plus one number a row, if there are any.
/// Errors: invalid_model for numbers that are no such rows.
Result<ValueId> linear_scores(OpContext& n, ValueId x, const std::vector<double>& coefficients,
                              int64_t rows, const std::vector<double>& intercepts);
/// What becomes of scores.
enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

/// The attribute 'post_transform', by name.
Result<PostTransform> read_post_transform(OpContext& n);
/// Scores [N, C] after it.
Result<ValueId> post_transformed(OpContext& n, ValueId scores, PostTransform how);

/// What a score s of the second of two classes says of the first: 1 - s, or -s.
enum class Other : uint8_t { complement, opposite };

/// One score s [N, 1] of two classes as [other, s]. Of the transforms onnxruntime applies LOGISTIC,
/// to -s and s whatever `other`, and PROBIT, which leaves one column; no other one.
/// Source: onnxruntime, write_scores in ml_common.h.
Result<ValueId> two_scores(OpContext& n, ValueId scores, Other other, PostTransform how);

/// The names of classes: numbers or strings.
struct ClassLabels {
  ValueId values;  // [size]; none if the model lists none
  int64_t size = 0;
  bool strings = false;
};
/// From the first of these attributes that is there and not empty: of integers, of strings.
Result<ClassLabels> read_class_labels(OpContext& n, std::string_view integers,
                                      std::string_view strings);
/// The labels of classes by their numbers [N]; the numbers themselves if there are no labels.
Result<ValueId> labels_of(OpContext& n, const ClassLabels& labels, ValueId classes);
/// Where each row of scores [N, C] is largest: i64 [N].
Result<ValueId> largest_of(OpContext& n, ValueId scores);

}  // namespace ingot::onnx
