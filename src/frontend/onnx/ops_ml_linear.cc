// frontend/onnx/ops_ml_linear.cc: ai.onnx.ml: linear models.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

Result<ValueIds> linear_regressor(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  TRY(const std::vector<double> coefficients, n.attr_reals("coefficients"));
  TRY(const std::vector<double> intercepts, n.attr_reals("intercepts"));
  TRY(const int64_t targets, n.attr_int("targets", 1));
  TRY(const PostTransform post, read_post_transform(n));
  TRY(const ValueId scores, linear_scores(n, x, coefficients, targets, intercepts));
  TRY(const ValueId y, post_transformed(n, scores, post));
  return only(n.cast(y, DType::f32));
}

/// Classes and their scores. Source: ONNX LinearClassifier-1, as onnxruntime has it.
Result<ValueIds> linear_classifier(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  TRY(const std::vector<double> coefficients, n.attr_reals("coefficients"));
  TRY(const std::vector<double> intercepts, n.attr_reals("intercepts"));
  TRY(const PostTransform post, read_post_transform(n));
  n.has_attr("multi_class");  // no part of the result
  TRY(const ClassLabels labels, read_class_labels(n, "classlabels_ints", "classlabels_strings"));
  const auto features = n.dim(x, 1).as_int();
  if (!features || *features < 1) return unsupported("an unknown number of features");
  const int64_t rows = static_cast<int64_t>(coefficients.size()) / *features;
  TRY(const ValueId scores,
      linear_scores(n, x, coefficients, std::max<int64_t>(rows, 1), intercepts));
  TRY(ValueId y, post_transformed(n, scores, post));
  ValueId classes;
  if (rows > 1) {
    TRY(classes, largest_of(n, scores));
    TRY(classes, labels_of(n, labels, classes));
  } else if (labels.size == 2) {
    TRY(y, two_scores(n, scores, Other::complement, post));
    TRY(const ValueId flat, n.reshape(scores, {n.dim(x, 0)}));
    TRY(classes, n.map(DType::i64, {flat}, [&](std::span<const Expr> p) {
      return select(less(n.number(p[0].dtype(), 0), p[0]), n.integer(1), n.integer(0));
    }));
    TRY(classes, labels_of(n, labels, classes));
  } else {
    if (labels.strings) return unsupported("one class with a name");
    const double threshold = post == PostTransform::none ? 0 : 0.5;
    TRY(const ValueId flat, n.reshape(y, {n.dim(x, 0)}));
    const ValueId label = labels.values.valid() ? labels.values : n.ints(std::vector<int64_t>{1});
    TRY(classes, n.map(DType::i64, {flat, label}, [&](std::span<const Expr> p) {
      return select(less_equal(n.number(p[0].dtype(), threshold), p[0]), p[1], n.integer(0));
    }));
  }
  TRY(const ValueId stored, n.cast(y, DType::f32));
  return ValueIds{classes, stored};
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.LinearClassifier", 1, 1, 1, linear_classifier},
    {"ai.onnx.ml.LinearRegressor", 1, 1, 1, linear_regressor},
};

}  // namespace

std::span<const OpRow> ml_linear_rows() {
  return kRows;
}

}  // namespace ingot::onnx
