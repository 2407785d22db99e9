// frontend/onnx/ops_ml_maps.cc: ai.onnx.ml: maps made of scores, and taken apart.
#include <algorithm>
#include <map>

#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

ValueId string_constant(OpContext& n, std::vector<std::string> texts, std::vector<int64_t> dims) {
  ConstantData data;
  data.dtype = DType::str;
  data.dims = std::move(dims);
  data.strings = std::move(texts);
  return n.graph().add_constant(std::move(data));
}

ValueId key_constant(OpContext& n, const std::vector<int64_t>& keys) {
  return n.ints(keys);
}
ValueId key_constant(OpContext& n, const std::vector<std::string>& keys) {
  return string_constant(n, keys, {static_cast<int64_t>(keys.size())});
}

/// A map of each row of x from labels to the row's numbers. Labels rise in the maps, as they do in
/// those of onnxruntime, and of equal ones the last counts.
template <class Label>
Result<ValueIds> zip(OpContext& n, const std::vector<Label>& labels) {
  const auto count = static_cast<int64_t>(labels.size());
  std::map<Label, int64_t> column_of;
  for (int64_t k = 0; k < count; ++k) column_of[labels[static_cast<size_t>(k)]] = k;
  std::vector<Label> keys;
  std::vector<int64_t> columns;
  for (const auto& [label, column] : column_of) {
    keys.push_back(label);
    columns.push_back(column);
  }
  TRY_STATUS(n.expect_numbers());
  ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  if (rank != 1 && rank != 2) return invalid_model("expected scores [N, C] or [C]");
  const Expr given = n.dims(x).back();
  if (given.as_int().value_or(count) != count) {
    return invalid_model("expected ", *given.as_int(), " labels, one for each column, got ", count);
  }
  TRY(x, n.cast(x, DType::f32));
  TRY(x, n.reshape(x, {rank == 2 ? n.dim(x, 0) : n.integer(1), given}));
  if (static_cast<int64_t>(columns.size()) != count || !std::ranges::is_sorted(columns)) {
    TRY(x, n.gather(x, n.ints(columns), 1));
  }
  return only(n.add("map_rows", {}, {key_constant(n, keys), x}));
}

Result<ValueIds> zip_map(OpContext& n) {
  TRY(const std::vector<int64_t> numbers, n.attr_ints("classlabels_int64s"));
  TRY(const std::vector<std::string> texts, n.attr_texts("classlabels_strings"));
  if (numbers.empty() == texts.empty()) {
    return invalid_model("expected either classlabels_int64s or classlabels_strings");
  }
  return texts.empty() ? zip(n, numbers) : zip(n, texts);
}

/// The input, if it is a map from such keys.
Result<ContainerType> map_input(const OpContext& n, DType key) {
  const Type& type = n.graph().type(n.in(0));
  if (type.is_container() && type.container.kind == ContainerType::Kind::map &&
      type.container.key == key && type.container.element->is_tensor()) {
    return type.container;
  }
  return invalid_model("expected a map from ", key, ", got ", type);
}

/// What a map's values are where it has no key: 0, or the text given.
Result<ValueId> otherwise(OpContext& n, DType dtype, std::string_view text) {
  if (dtype == DType::str) return string_constant(n, {std::string(text)}, {});
  return n.scalar(dtype, 0);
}

/// A list as a row.
Result<ValueIds> as_row(OpContext& n, ValueId list) {
  return only(n.reshape(list, {n.integer(1), n.dim(list, 0)}));
}

Result<ValueIds> dict_vectorizer(OpContext& n) {
  TRY(const std::vector<int64_t> numbers, n.attr_ints("int64_vocabulary"));
  TRY(const std::vector<std::string> texts, n.attr_texts("string_vocabulary"));
  if (!numbers.empty() && !texts.empty()) {
    return invalid_model("expected either int64_vocabulary or string_vocabulary");
  }
  TRY(const ContainerType map, map_input(n, texts.empty() ? DType::i64 : DType::str));
  TRY(const ValueId none, otherwise(n, map.element->tensor.dtype, ""));
  const ValueId keys = texts.empty() ? key_constant(n, numbers) : key_constant(n, texts);
  TRY(const ValueId found, n.add("map_get", {}, {n.in(0), keys, none}));
  return as_row(n, found);
}

/// The values in the order of their keys; or, with SPARSE, those of the keys 0 to max_map - 1. Keys
/// below 0 are left out, where the standard would have the run fail.
Result<ValueIds> cast_map(OpContext& n) {
  constexpr std::string_view kTypes[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
  constexpr DType kDTypes[] = {DType::f32, DType::str, DType::i64};
  constexpr std::string_view kForms[] = {"DENSE", "SPARSE"};
  TRY(const size_t to, n.attr_choice("cast_to", kTypes, 0));
  TRY(const size_t form, n.attr_choice("map_form", kForms, 0));
  TRY(const int64_t size, n.attr_int("max_map", 1));
  TRY(const ContainerType map, map_input(n, DType::i64));
  const DType from = map.element->tensor.dtype, wanted = kDTypes[to];
  if (wanted == DType::str && from != DType::str) {
    return unsupported("numbers of a map as text");
  }
  ValueId list;
  if (form == 0) {
    TRY(list, n.add("map_values", {}, {n.in(0)}));
  } else {
    if (size < 0 || size > kMaxDim) {
      return invalid_model("attribute 'max_map': expected a size, got ", size);
    }
    // onnxruntime writes this text where there is no value.
    TRY(const ValueId none, otherwise(n, from, wanted == DType::str ? "0.f" : "0"));
    TRY(const ValueId keys, n.iota({n.integer(size)}, 0));
    TRY(list, n.add("map_get", {}, {n.in(0), keys, none}));
  }
  if (from != wanted) {
    TRY(list, n.cast(list, wanted));
  }
  return as_row(n, list);
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.CastMap", 1, 1, 1, cast_map, true},
    {"ai.onnx.ml.DictVectorizer", 1, 1, 1, dict_vectorizer, true},
    {"ai.onnx.ml.ZipMap", 1, 1, 1, zip_map},
};

}  // namespace

std::span<const OpRow> ml_map_rows() {
  return kRows;
}

}  // namespace ingot::onnx
