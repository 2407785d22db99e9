// frontend/onnx/ops_ml.cc: ai.onnx.ml: features made ready for a model.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// The elements along the last axis that a list of indices names; a list becomes a row.
Result<ValueIds> array_feature_extractor(OpContext& n) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank == 0) return invalid_model("expected features of rank 1 or more");
  TRY(const ValueId wide, n.cast(n.in(1), DType::i64));
  const Expr count = n.count(n.dims(wide), 0, n.rank(wide));
  TRY(const ValueId list, n.reshape(wide, {count}));
  TRY(const ValueId y, n.gather(x, list, rank - 1));
  return only(rank == 1 ? n.reshape(y, {n.integer(1), count}) : Result<ValueId>(y));
}

Result<ValueIds> binarizer(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const double threshold, n.attr_real("threshold", 0.0));
  return only(n.map1(n.in(0), [&](Expr e) {
    const bool real = is_float(e.dtype());
    const Expr above = real
                           ? less(e.pool().real(threshold, e.dtype()), e)
                           : less(e.pool().real(threshold, DType::f64), ingot::cast(e, DType::f64));
    return select(above, n.number(e.dtype(), 1), n.number(e.dtype(), 0));
  }));
}

/// The inputs' columns side by side, each cut or filled with zeros to its number of columns.
Result<ValueIds> feature_vectorizer(OpContext& n) {
  TRY(const std::vector<int64_t> columns, n.attr_ints("inputdimensions"));
  const ValueIds xs = n.all_inputs();
  if (columns.size() != xs.size()) {
    return invalid_model("attribute 'inputdimensions': expected ", xs.size(), " numbers, got ",
                         columns.size());
  }
  TRY_STATUS(n.expect_numbers());
  ValueIds parts;
  for (size_t k = 0; k < xs.size(); ++k) {
    if (columns[k] < 0 || columns[k] > kMaxDim || n.rank(xs[k]) < 1 || n.rank(xs[k]) > 2) {
      return invalid_model("expected inputs [N] or [N, F] and numbers of columns");
    }
    TRY(ValueId x, n.cast(xs[k], DType::f32));
    const Expr given = n.rank(x) == 2 ? n.dim(x, 1) : n.integer(1);
    TRY(x, n.reshape(x, {n.dim(x, 0), given}));
    const Expr wanted = n.integer(columns[k]), zero = n.integer(0);
    TRY(const ValueId none, n.scalar(DType::f32, 0));
    TRY(x, n.pad(x, {zero, zero}, {zero, max(wanted - given, zero)}, "constant", none));
    TRY(parts.emplace_back(), n.slice_axis(x, 1, zero, wanted));
  }
  return only(n.concat(std::move(parts), 1));
}

/// One value, or one for each of the last axis' elements, as something to broadcast.
Result<ValueId> per_feature(OpContext& n, DType dtype, const std::vector<double>& values,
                            std::string_view name) {
  const auto size = static_cast<int64_t>(values.size());
  const int64_t rank = n.rank(n.in(0));
  const auto features = rank == 0 ? 1 : n.dims(n.in(0)).back().as_int();
  if (size != 1 && features && *features != size) {
    return invalid_model("attribute '", name, "': expected 1 or ", *features, " values, got ",
                         size);
  }
  return number_constant(n, dtype, values,
                         size == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{size});
}

Result<ValueIds> imputer(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const ValueId x = n.in(0);
  const DType held = n.dtype(x);
  TRY(std::vector<double> values, n.attr_reals("imputed_value_floats"));
  TRY(const std::vector<int64_t> whole, n.attr_ints("imputed_value_int64s"));
  TRY(double replaced, n.attr_real("replaced_value_float", 0.0));
  TRY(const int64_t replaced_whole, n.attr_int("replaced_value_int64", 0));
  if (is_int(held)) {
    values.assign(whole.begin(), whole.end());
    replaced = static_cast<double>(replaced_whole);
  }
  if (values.empty()) return invalid_model("expected values to impute in the type of the input");
  TRY(const ValueId imputed, per_feature(n, held, values, "imputed_value"));
  return only(n.map2(x, imputed, [&](Expr e, Expr value) {
    const bool missing_is_nan = is_float(held) && std::isnan(replaced);
    const Expr missing =
        missing_is_nan ? unary(ExprKind::is_nan, e) : equal(e, n.number(held, replaced));
    return select(missing, value, e);
  }));
}

/// Rows divided by a norm. onnxruntime's norm MAX is that of the numbers, not of their magnitudes,
/// and rows whose norm is 0 stay.
Result<ValueIds> normalizer(OpContext& n) {
  constexpr std::string_view kNorms[] = {"MAX", "L1", "L2"};
  TRY(const size_t norm, n.attr_choice("norm", kNorms, 0));
  TRY(const ValueId x, feature_rows(n));
  TRY(const ValueId terms, n.map1(x, [&](Expr e) {
    return norm == 0 ? e : norm == 1 ? unary(ExprKind::abs, e) : e * e;
  }));
  TRY(const ValueId total,
      n.reduce(norm == 0 ? ReduceKind::max : ReduceKind::sum, terms, {1}, true));
  TRY(const ValueId y, n.map(DType::f32, {x, total}, [&](std::span<const Expr> p) {
    const Expr by = norm == 2 ? sqrt(p[1]) : p[1];
    return select(equal(p[1], n.number(p[1].dtype(), 0)), p[0], p[0] / by);
  }));
  return only(n.reshape(y, n.dims(n.in(0))));
}

/// (x - offset) * scale.
Result<ValueIds> scaler(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const DType compute = n.dtype(n.in(0)) == DType::f64 ? DType::f64 : DType::f32;
  TRY(std::vector<double> offset, n.attr_reals("offset"));
  TRY(std::vector<double> scale, n.attr_reals("scale"));
  if (offset.empty()) offset = {0};
  if (scale.empty()) scale = {1};
  TRY(const ValueId offsets, per_feature(n, compute, offset, "offset"));
  TRY(const ValueId scales, per_feature(n, compute, scale, "scale"));
  return only(n.map(DType::f32, {n.in(0), offsets, scales}, [&](std::span<const Expr> p) {
    return (ingot::cast(p[0], compute) - p[1]) * p[2];
  }));
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, 2, 2, array_feature_extractor},
    {"ai.onnx.ml.Binarizer", 1, 1, 1, binarizer},
    {"ai.onnx.ml.FeatureVectorizer", 1, 1, kVariadic, feature_vectorizer},
    {"ai.onnx.ml.Imputer", 1, 1, 1, imputer},
    {"ai.onnx.ml.Normalizer", 1, 1, 1, normalizer},
    {"ai.onnx.ml.Scaler", 1, 1, 1, scaler},
};

}  // namespace

std::span<const OpRow> ml_rows() {
  return kRows;
}

}  // namespace ingot::onnx
