// ops/strings.h: operators on tensors of strings. A string is any bytes; where letters matter it is
// UTF-8, and bytes that are none stand for themselves.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// z = whether x and y are the same bytes.
struct StringEqual {
  static constexpr std::string_view kName = "string_equal";
  static constexpr std::string_view kDoc =
      "z = whether the strings x and y are the same bytes, x and y broadcast as NumPy does.\n"
      "C1: x and y are strings.\n"
      "C2: their dims broadcast.\n"
      "Sources: ONNX Equal-19.";
  static constexpr std::array kInputs = {Port{"x", "str"}, Port{"y", "str"}};
  static constexpr std::array kOutputs = {Port{"z", "b8, the broadcast dims"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_equal"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringEqual> sample(Random& rng, ExprPool& pool);
};

/// z = x followed by y.
struct StringConcat {
  static constexpr std::string_view kName = "string_concat";
  static constexpr std::string_view kDoc =
      "z = the bytes of x followed by those of y, x and y broadcast as NumPy does.\n"
      "C1: x and y are strings.\n"
      "C2: their dims broadcast.\n"
      "Sources: ONNX StringConcat-20.";
  static constexpr std::array kInputs = {Port{"x", "str"}, Port{"y", "str"}};
  static constexpr std::array kOutputs = {Port{"z", "str, the broadcast dims"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_concat"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringConcat> sample(Random& rng, ExprPool& pool);
};

/// y, n = the pieces of x between delimiters, and how many there are.
struct StringSplit {
  std::string delimiter = {};
  int64_t most_splits = -1;

  static constexpr std::string_view kName = "string_split";
  static constexpr std::string_view kDoc =
      "y[.., k] = piece k of x between delimiters, n = how many pieces there are; strings of fewer "
      "pieces than the most have empty ones behind. Without a delimiter pieces are what ASCII "
      "white "
      "space separates, none of them empty. At most most_splits cuts are made from the left, if it "
      "is not negative: the last piece is all that is left, white space at its end included. The "
      "last dim of y is a new symbol.\n"
      "C1: x is strings.\n"
      "Sources: ONNX StringSplit-20, Python str.split.";
  static constexpr std::array kInputs = {Port{"x", "str"}};
  static constexpr std::array kOutputs = {Port{"y", "str, dims of x and one more"},
                                          Port{"n", "i64, dims of x"}};
  static constexpr auto kFields = std::tuple{field("delimiter", &StringSplit::delimiter),
                                             field("most_splits", &StringSplit::most_splits)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_split"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringSplit> sample(Random& rng, ExprPool& pool);
};

/// y = the elements of x that are no stop words, in one case.
struct StringNormalize {
  int64_t letters = 0;  // 0: as they are, 1: lower case, 2: upper case
  bool case_sensitive = true;
  std::vector<std::string> stopwords = {};

  static constexpr std::string_view kName = "string_normalize";
  static constexpr std::string_view kDoc =
      "y = the elements of x that are not in stopwords, letters as they are (0), in lower (1) or "
      "upper case (2). Unless case_sensitive, an element is a stop word if both are the same in "
      "lower case. Where nothing is left y is one empty string. Cases are Unicode's simple "
      "mappings, "
      "one code point for one. The last dim of y is a new symbol.\n"
      "C1: x is str[n] or str[1, n].\n"
      "C2: letters is 0, 1 or 2.\n"
      "Sources: ONNX StringNormalizer-10.";
  static constexpr std::array kInputs = {Port{"x", "str[n] or str[1, n]"}};
  static constexpr std::array kOutputs = {Port{"y", "rank of x"}};
  static constexpr auto kFields =
      std::tuple{field("letters", &StringNormalize::letters),
                 field("case_sensitive", &StringNormalize::case_sensitive),
                 field("stopwords", &StringNormalize::stopwords)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_normalize"};
  /// The tables of lower and upper case, empty where they are not needed, then the stop words,
  /// sorted, in lower case unless case_sensitive.
  std::vector<std::string> routine_texts() const;
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringNormalize> sample(Random& rng, ExprPool& pool);
};

/// y = whether all of x matches a regular expression.
struct RegexMatch {
  std::string pattern = {};

  static constexpr std::string_view kName = "regex_match";
  static constexpr std::string_view kDoc =
      "y = whether pattern, a regular expression in RE2's syntax, matches the whole of x "
      "(ops/regex.h). It becomes a table that is walked byte by byte.\n"
      "C1: x is strings.\n"
      "C2: pattern is an expression whose table is small enough.\n"
      "Sources: ONNX RegexFullMatch-20.";
  static constexpr std::array kInputs = {Port{"x", "str"}};
  static constexpr std::array kOutputs = {Port{"y", "b8, dims of x"}};
  static constexpr auto kFields = std::tuple{field("pattern", &RegexMatch::pattern)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_regex_match"};
  /// The table.
  std::vector<std::string> routine_texts() const;
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<RegexMatch> sample(Random& rng, ExprPool& pool);
};

/// y = which of some texts x is.
struct StringFind {
  std::vector<std::string> texts = {};

  static constexpr std::string_view kName = "string_find";
  static constexpr std::string_view kDoc =
      "y = k where x is texts[k], and how many texts there are where x is none of them.\n"
      "C1: x is strings.\n"
      "C2: texts rise, compared by their bytes, none equal to another.\n"
      "Sources: ONNX LabelEncoder-4 (ai.onnx.ml).";
  static constexpr std::array kInputs = {Port{"x", "str"}};
  static constexpr std::array kOutputs = {Port{"y", "i64, dims of x"}};
  static constexpr auto kFields = std::tuple{field("texts", &StringFind::texts)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_find"};
  /// Their table, then the texts.
  std::vector<std::string> routine_texts() const;
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringFind> sample(Random& rng, ExprPool& pool);
};

/// y = the place of x in the order of all different x.
struct StringRank {
  static constexpr std::string_view kName = "string_rank";
  static constexpr std::string_view kDoc =
      "y = how many different strings among x are below this one, compared by their bytes; so that "
      "numbers are sorted, and told apart, where strings are to be.\n"
      "C1: x is strings.\n"
      "Sources: ONNX Unique-11.";
  static constexpr std::array kInputs = {Port{"x", "str"}};
  static constexpr std::array kOutputs = {Port{"y", "i64, dims of x"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_rank"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringRank> sample(Random& rng, ExprPool& pool);
};

/// y = x as text.
struct NumberToString {
  static constexpr std::string_view kName = "number_to_string";
  static constexpr std::string_view kDoc =
      "y = the decimal text of x: of reals 8 digits, with an exponent where it is below -4 or "
      "above "
      "7, as C's %.8g writes them, or NaN, INF and -INF; of integers all digits.\n"
      "C1: x is f32, f64, i64 or u64.\n"
      "Sources: ONNX Cast-25, onnxruntime.";
  static constexpr std::array kInputs = {Port{"x", "f32, f64, i64 or u64"}};
  static constexpr std::array kOutputs = {Port{"y", "str, dims of x"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_number_to_string"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<NumberToString> sample(Random& rng, ExprPool& pool);
};

/// y = the number that x is the text of.
struct StringToNumber {
  DType dtype = DType::f32;

  static constexpr std::string_view kName = "string_to_number";
  static constexpr std::string_view kDoc =
      "y = the number that x is the decimal text of, white space around it left out: reals as C's "
      "strtod reads them, infinities and NaN included, rounded once; integers likewise, what is "
      "behind the point cut off. Any other text, and a number that dtype does not hold, end the "
      "run.\n"
      "C1: x is strings.\n"
      "C2: dtype is f32, f64, i64 or u64.\n"
      "Sources: ONNX Cast-25.";
  static constexpr std::array kInputs = {Port{"x", "str"}};
  static constexpr std::array kOutputs = {Port{"y", "dtype, dims of x"}};
  static constexpr auto kFields = std::tuple{field("dtype", &StringToNumber::dtype)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_string_to_number"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<StringToNumber> sample(Random& rng, ExprPool& pool);
};

/// Errors: a tensor of something else than strings.
Status expect_strings(std::string_view op, std::string_view port, DType dtype);
/// Errors: a type that numbers as text are not read as or written from.
Status expect_text_number(std::string_view op, DType dtype);

}  // namespace ingot::ops
