// frontend/onnx/ml.cc: rows of features, transforms of scores, labels of classes.
#include "frontend/onnx/ml.h"

#include <algorithm>
#include <numbers>

namespace ingot::onnx {

ValueId number_constant(OpContext& n, DType dtype, std::span<const double> values,
                        std::vector<int64_t> dims) {
  Tensor tensor(dtype, std::move(dims));
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return n.graph().add_constant(to_constant(tensor));
}

ValueId integer_constant(OpContext& n, DType dtype, std::span<const int64_t> values,
                         std::vector<int64_t> dims) {
  Tensor tensor(dtype, std::move(dims));
  for (size_t k = 0; k < values.size(); ++k) tensor.set_integer(static_cast<int64_t>(k), values[k]);
  return n.graph().add_constant(to_constant(tensor));
}

Result<ValueId> feature_rows(OpContext& n) {
  TRY_STATUS(n.expect_numbers(0, 1));
  const ValueId x = n.in(0);
  if (n.rank(x) != 1 && n.rank(x) != 2) {
    return invalid_model("expected features [F] or [N, F], got rank ", n.rank(x));
  }
  TRY(const ValueId wide, n.cast(x, n.dtype(x) == DType::f64 ? DType::f64 : DType::f32));
  if (n.rank(x) == 2) return wide;
  return n.reshape(wide, {n.integer(1), n.dim(x, 0)});
}

Result<ValueId> linear_scores(OpContext& n, ValueId x, const std::vector<double>& coefficients,
                              int64_t rows, const std::vector<double>& intercepts) {
  const auto size = static_cast<int64_t>(coefficients.size());
  if (rows < 1 || rows > std::max<int64_t>(size, 1) || size % rows != 0) {
    return invalid_model("attribute 'coefficients': ", size, " numbers are no ", rows, " rows");
  }
  const DType compute = n.dtype(x);
  const ValueId matrix = number_constant(n, compute, coefficients, {rows, size / rows});
  TRY(const ValueId turned, n.transpose(matrix, {1, 0}));
  TRY(const ValueId product, n.matmul(x, turned));
  if (intercepts.empty()) return product;
  const auto count = static_cast<int64_t>(intercepts.size());
  if (count != rows) return invalid_model("expected ", rows, " intercepts, got ", count);
  const ValueId added = number_constant(n, compute, intercepts, {count});
  return n.map2(product, added, [](Expr a, Expr b) { return a + b; });
}

Result<PostTransform> read_post_transform(OpContext& n) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  TRY(const size_t which, n.attr_choice("post_transform", kNames, 0));
  return static_cast<PostTransform>(which);
}

namespace {

/// The quantile of the normal distribution, by Winitzki's approximation of the inverse of erf.
/// Source: onnxruntime, ml_common.h.
Expr probit(Expr v) {
  const auto real = [&](double value) { return v.pool().real(value, v.dtype()); };
  constexpr double kA = 0.147;
  const Expr x = real(2) * v - real(1);
  const Expr rest = (real(1) - x) * (real(1) + x);
  const Expr logarithm = log(rest);
  const Expr b = real(2 / (std::numbers::pi * kA)) + real(0.5) * logarithm;
  const Expr root = sqrt(sqrt(b * b - real(1 / kA) * logarithm) - b);
  const Expr inverse = select(less(x, real(0)), -root, root);
  return real(1.41421356) * select(equal(rest, real(0)), real(0), inverse);
}

/// Softmax in which what is 0 stays next to 0.
Result<ValueId> softmax_zero(OpContext& n, ValueId scores) {
  constexpr double kZero = 1e-7;
  TRY(const ValueId largest, n.reduce(ReduceKind::max, scores, {1}, true));
  TRY(const ValueId powers, n.map2(scores, largest, [&](Expr v, Expr m) {
    const auto real = [&](double value) { return v.pool().real(value, v.dtype()); };
    const Expr small = logical_and(less_equal(v, real(kZero)), less_equal(real(-kZero), v));
    return select(small, v * exp(-m), exp(v - m));
  }));
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, powers, {1}, true));
  return n.map2(powers, sum, [](Expr v, Expr s) {
    const auto real = [&](double value) { return v.pool().real(value, v.dtype()); };
    return select(equal(s, real(0)), real(0.5), v / s);
  });
}

}  // namespace

Result<ValueId> post_transformed(OpContext& n, ValueId scores, PostTransform how) {
  switch (how) {
    case PostTransform::none:
      return scores;
    case PostTransform::softmax:
      return n.softmax(scores, 1, false);
    case PostTransform::logistic:
      return n.map1(scores, [](Expr e) { return unary(ExprKind::sigmoid, e); });
    case PostTransform::softmax_zero:
      return softmax_zero(n, scores);
    case PostTransform::probit:
      return n.map1(scores, probit);
  }
  return scores;
}

Result<ValueId> two_scores(OpContext& n, ValueId scores, Other other, PostTransform how) {
  if (how == PostTransform::probit) return post_transformed(n, scores, how);
  const bool logistic = how == PostTransform::logistic;
  TRY(const ValueId first, n.map1(scores, [&](Expr e) {
    return logistic || other == Other::opposite ? -e : n.number(e.dtype(), 1) - e;
  }));
  TRY(const ValueId both, n.concat({first, scores}, 1));
  return logistic ? post_transformed(n, both, how) : Result<ValueId>(both);
}

Result<ClassLabels> read_class_labels(OpContext& n, std::string_view integers,
                                      std::string_view strings) {
  ClassLabels labels;
  TRY(const std::vector<int64_t> numbers, n.attr_ints(integers));
  TRY(std::vector<std::string> names, n.attr_texts(strings));
  if (!numbers.empty()) {
    labels.size = static_cast<int64_t>(numbers.size());
    labels.values = n.ints(numbers);
  } else if (!names.empty()) {
    labels.size = static_cast<int64_t>(names.size());
    labels.strings = true;
    ConstantData data;
    data.dtype = DType::str;
    data.dims = {labels.size};
    data.strings = std::move(names);
    labels.values = n.graph().add_constant(std::move(data));
  }
  return labels;
}

Result<ValueId> labels_of(OpContext& n, const ClassLabels& labels, ValueId classes) {
  if (!labels.values.valid()) return classes;
  return n.gather(labels.values, classes, 0);
}

Result<ValueId> largest_of(OpContext& n, ValueId scores) {
  return n.add("arg_reduce", {{"max", true}, {"axis", int64_t{1}}, {"keepdims", false}}, {scores});
}

}  // namespace ingot::onnx
