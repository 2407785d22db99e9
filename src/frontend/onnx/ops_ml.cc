// frontend/onnx/ops_ml.cc: ai.onnx.ml: features made ready for a model, and values looked up.
#include <algorithm>
#include <cmath>
#include <map>

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

// ---- tables of labels ----

/// Keys or values of a label encoder.
struct LabelList {
  DType dtype = DType::f32;
  std::vector<double> reals;         // floats
  std::vector<int64_t> whole;        // integers
  std::vector<std::string> strings;  // strings

  size_t size() const { return reals.size() + whole.size() + strings.size(); }
  /// Appends element k of another list of the type.
  void take(const LabelList& from, size_t k) {
    if (is_int(dtype)) {
      whole.push_back(from.whole[k]);
    } else if (dtype == DType::str) {
      strings.push_back(from.strings[k]);
    } else {
      reals.push_back(from.reals[k]);
    }
  }
};

Result<LabelList> labels_in(const ConstantData& data) {
  LabelList list;
  list.dtype = data.dtype;
  list.strings = data.strings;
  if (data.dtype == DType::str) return list;
  TRY(const Tensor values, to_tensor(data));
  for (int64_t k = 0; k < values.size(); ++k) {
    if (values.holds_reals()) {
      list.reals.push_back(values.real(k));
    } else {
      list.whole.push_back(values.integer(k));
    }
  }
  return list;
}

/// The list in the attribute keys_* or values_* that is there.
Result<LabelList> read_label_list(OpContext& n, std::string_view kind) {
  const std::string floats = concat(kind, "_floats"), ints = concat(kind, "_int64s"),
                    strings = concat(kind, "_strings");
  LabelList list;
  if (n.has_attr(floats)) {
    TRY(list.reals, n.attr_reals(floats));
  } else if (n.has_attr(ints)) {
    list.dtype = DType::i64;
    TRY(list.whole, n.attr_ints(ints));
  } else if (n.has_attr(strings)) {
    list.dtype = DType::str;
    TRY(list.strings, n.attr_texts(strings));
  } else {
    TRY(const ConstantData data, n.attr_tensor(concat(kind, "_tensor")));
    return labels_in(data);
  }
  return list;
}

/// The value for keys that are not listed.
Result<LabelList> read_default_label(OpContext& n, DType dtype) {
  TRY(const double real, n.attr_real("default_float", -0.0));
  TRY(const int64_t whole, n.attr_int("default_int64", -1));
  TRY(std::string text, n.attr_text("default_string", "_Unused"));
  if (n.has_attr("default_tensor")) {
    TRY(const ConstantData data, n.attr_tensor("default_tensor"));
    TRY(LabelList one, labels_in(data));
    if (one.dtype == dtype && one.size() == 1) return one;
    return invalid_model("attribute 'default_tensor': expected one ", dtype, ", got ", one.size(),
                         " ", one.dtype);
  }
  if (is_int(dtype)) return LabelList{dtype, {}, {whole}, {}};
  if (dtype == DType::str) return LabelList{dtype, {}, {}, {std::move(text)}};
  return LabelList{dtype, {real}, {}, {}};
}

ValueId label_constant(OpContext& n, const LabelList& list) {
  const auto count = static_cast<int64_t>(list.size());
  if (is_int(list.dtype)) return integer_constant(n, list.dtype, list.whole, {count});
  if (is_float(list.dtype)) return number_constant(n, list.dtype, list.reals, {count});
  ConstantData data;
  data.dtype = list.dtype;
  data.dims = {count};
  data.strings = list.strings;
  return n.graph().add_constant(std::move(data));
}

/// Numbers of the keys in rising order, NaN at the end; of equal ones the last alone.
std::vector<size_t> sorted_order(const LabelList& keys) {
  const auto below = [&](size_t a, size_t b) {
    if (keys.dtype == DType::str) return keys.strings[a] < keys.strings[b];
    if (is_int(keys.dtype)) return keys.whole[a] < keys.whole[b];
    if (std::isnan(keys.reals[a])) return false;
    return std::isnan(keys.reals[b]) || keys.reals[a] < keys.reals[b];
  };
  std::vector<size_t> all(keys.size()), order;
  for (size_t k = 0; k < all.size(); ++k) all[k] = k;
  std::ranges::stable_sort(all, below);
  for (size_t k = 0; k < all.size(); ++k) {
    if (k + 1 == all.size() || below(all[k], all[k + 1])) order.push_back(all[k]);
  }
  return order;
}

/// The place of the last key that is not above x, found by halves; NaN is above all numbers.
Result<ValueId> search_key(OpContext& n, ValueId x, ValueId keys, int64_t count) {
  TRY(ValueId at, n.map(DType::i64, {x}, [&](std::span<const Expr>) { return n.integer(0); }));
  int64_t step = 1;
  while (step * 2 < count) step *= 2;
  for (; step > 0 && count > 1; step /= 2) {
    TRY(const ValueId tried,
        n.map1(at, [&](Expr p) { return min(p + step, n.integer(count - 1)); }));
    TRY(const ValueId key, n.gather(keys, tried, 0));
    TRY(at, n.map(DType::i64, {x, key, at, tried}, [](std::span<const Expr> p) {
      Expr reached = less_equal(p[1], p[0]);
      if (is_float(p[0].dtype())) reached = logical_or(reached, unary(ExprKind::is_nan, p[0]));
      return select(reached, p[3], p[2]);
    }));
  }
  return at;
}

/// Where x is in the list, which rises, and how long the list is where x is not in it.
Result<ValueId> find_key(OpContext& n, ValueId x, const LabelList& sorted) {
  const auto count = static_cast<int64_t>(sorted.size());
  if (sorted.dtype == DType::str) return n.add("string_find", {{"texts", sorted.strings}}, {x});
  if (count == 0) return n.fill(DType::i64, 0, n.dims(x));
  const ValueId listed = label_constant(n, sorted);
  TRY(const ValueId at, search_key(n, x, listed, count));
  TRY(const ValueId key, n.gather(listed, at, 0));
  return n.map(DType::i64, {x, key, at}, [&](std::span<const Expr> p) {
    Expr found = equal(p[0], p[1]);
    if (is_float(p[0].dtype())) {
      found = logical_or(found,
                         logical_and(unary(ExprKind::is_nan, p[0]), unary(ExprKind::is_nan, p[1])));
    }
    return select(found, p[2], n.integer(count));
  });
}

/// The values at the places of the keys, another one where there is no key.
Result<ValueIds> look_up(OpContext& n, const LabelList& keys, const LabelList& values) {
  const ValueId x = n.in(0);
  TRY(const LabelList otherwise, read_default_label(n, values.dtype));
  if (keys.size() != values.size()) {
    return invalid_model("expected as many values as keys, got ", values.size(), " and ",
                         keys.size());
  }
  if (keys.dtype != n.dtype(x)) {
    return invalid_model("expected keys of ", n.dtype(x), ", got ", keys.dtype);
  }
  const std::vector<size_t> order = sorted_order(keys);
  LabelList sorted{keys.dtype, {}, {}, {}}, table{values.dtype, {}, {}, {}};
  for (const size_t k : order) {
    sorted.take(keys, k);
    table.take(values, k);
  }
  table.take(otherwise, 0);
  TRY(const ValueId row, find_key(n, x, sorted));
  return only(n.gather(label_constant(n, table), row, 0));
}

Result<ValueIds> label_encoder(OpContext& n) {
  TRY(const LabelList keys, read_label_list(n, "keys"));
  TRY(const LabelList values, read_label_list(n, "values"));
  return look_up(n, keys, values);
}

/// Numbers to strings where numbers come in, strings to numbers where strings do.
Result<ValueIds> translate(OpContext& n, const LabelList& numbers, const LabelList& strings) {
  const bool from_strings = n.dtype(n.in(0)) == DType::str;
  return from_strings ? look_up(n, strings, numbers) : look_up(n, numbers, strings);
}

Result<ValueIds> category_mapper(OpContext& n) {
  LabelList numbers{DType::i64, {}, {}, {}}, strings{DType::str, {}, {}, {}};
  TRY(numbers.whole, n.attr_ints("cats_int64s"));
  TRY(strings.strings, n.attr_texts("cats_strings"));
  return translate(n, numbers, strings);
}

/// The strings' numbers are their places.
Result<ValueIds> old_label_encoder(OpContext& n) {
  LabelList numbers{DType::i64, {}, {}, {}}, strings{DType::str, {}, {}, {}};
  TRY(strings.strings, n.attr_texts("classes_strings"));
  for (size_t k = 0; k < strings.size(); ++k) numbers.whole.push_back(static_cast<int64_t>(k));
  return translate(n, numbers, strings);
}

/// 1 where the category is the one of the place along a new last axis. A category that is not
/// listed gives zeros, with zeros = 0, too, where the standard would have the run fail.
Result<ValueIds> one_hot_encoder(OpContext& n) {
  n.has_attr("zeros");
  TRY(const std::vector<std::string> names, n.attr_texts("cats_strings"));
  TRY(const std::vector<int64_t> numbers, n.attr_ints("cats_int64s"));
  const bool are_strings = n.dtype(n.in(0)) == DType::str;
  if (!(are_strings ? numbers.empty() : names.empty())) {
    return invalid_model("expected categories of ", n.dtype(n.in(0)));
  }
  ValueId x = n.in(0);
  if (!are_strings) {
    TRY_STATUS(n.expect_numbers());
    TRY(x, n.cast(x, DType::i64));
  }
  Exprs dims = n.dims(x);
  dims.push_back(n.integer(1));
  TRY(const ValueId column, n.reshape(x, std::move(dims)));
  if (are_strings) {
    const ValueId categories = label_constant(n, {DType::str, {}, {}, names});
    TRY(const ValueId hot, n.add("string_equal", {}, {column, categories}));
    return only(n.cast(hot, DType::f32));
  }
  const ValueId categories = n.ints(numbers);
  return only(n.map(DType::f32, {column, categories}, [&](std::span<const Expr> p) {
    return select(equal(p[0], p[1]), n.number(DType::f32, 1), n.number(DType::f32, 0));
  }));
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, 2, 2, array_feature_extractor},
    {"ai.onnx.ml.Binarizer", 1, 1, 1, binarizer},
    {"ai.onnx.ml.CategoryMapper", 1, 1, 1, category_mapper},
    {"ai.onnx.ml.FeatureVectorizer", 1, 1, kVariadic, feature_vectorizer},
    {"ai.onnx.ml.Imputer", 1, 1, 1, imputer},
    {"ai.onnx.ml.LabelEncoder", 1, 1, 1, old_label_encoder},
    {"ai.onnx.ml.LabelEncoder", 2, 1, 1, label_encoder},
    {"ai.onnx.ml.Normalizer", 1, 1, 1, normalizer},
    {"ai.onnx.ml.OneHotEncoder", 1, 1, 1, one_hot_encoder},
    {"ai.onnx.ml.Scaler", 1, 1, 1, scaler},
};

}  // namespace

std::span<const OpRow> ml_rows() {
  return kRows;
}

}  // namespace ingot::onnx
