// ops/maps.h: maps from numbers or strings to numbers or strings.
//
// A map is a container of two tensors [n]: the keys, in any order, and their values. Of equal keys
// the last one counts.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = a map of each row of x.
struct MapRows {
  static constexpr std::string_view kName = "map_rows";
  static constexpr std::string_view kDoc =
      "y[i] = the map from keys[j] to x[i, j], a sequence of as many maps as x has rows.\n"
      "C1: keys is i64[c] or str[c].\n"
      "C2: x is [n, c].\n"
      "Sources: ONNX ZipMap-1 (ai.onnx.ml).";
  static constexpr std::array kInputs = {Port{"keys", "i64[c] or str[c]"}, Port{"x", "[n, c]"}};
  static constexpr std::array kOutputs = {Port{"y", "a sequence of maps"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_map_rows"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<MapRows> sample(Random& rng, ExprPool& pool);
};

/// y = what a map has for some keys.
struct MapGet {
  static constexpr std::string_view kName = "map_get";
  static constexpr std::string_view kDoc =
      "y[i..] = the value that m has for keys[i..], or otherwise where m has no such key.\n"
      "C1: m is a map.\n"
      "C2: keys have the type of m's keys.\n"
      "C3: otherwise is one value of the type of m's values.\n"
      "Sources: ONNX DictVectorizer-1, CastMap-1 (ai.onnx.ml).";
  static constexpr std::array kInputs = {Port{"m", "a map"}, Port{"keys", "i64 or str"},
                                         Port{"otherwise", "a scalar"}};
  static constexpr std::array kOutputs = {Port{"y", "dims of keys"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_map_get"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<MapGet> sample(Random& rng, ExprPool& pool);
};

/// y = all values of a map.
struct MapValues {
  static constexpr std::string_view kName = "map_values";
  static constexpr std::string_view kDoc =
      "y = the values of m, those of lower keys first; strings are compared by their bytes. The "
      "dim of y is a new symbol.\n"
      "C1: m is a map.\n"
      "Sources: ONNX CastMap-1 (ai.onnx.ml).";
  static constexpr std::array kInputs = {Port{"m", "a map"}};
  static constexpr std::array kOutputs = {Port{"y", "a tensor [n]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_map_values"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<MapValues> sample(Random& rng, ExprPool& pool);
};

// ---- what they have in common ----------------------------------------------------------------

Type map_type(DType key, DType value);
/// Errors: `type` is no map whose keys are i64 or strings and whose values are tensors.
Status expect_map(std::string_view op, std::string_view port, const Type& type);
/// The places of the keys in the list that rise, of equal ones the last alone.
std::vector<int64_t> places_in_order(const Tensor& keys);
/// A map from i64 or strings to f32, i64 or strings, for samples.
Type sample_map(Random& rng);

}  // namespace ingot::ops
