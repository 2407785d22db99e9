// frontend/onnx/ops_text.cc: operators on strings.
#include "base/text.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

Status expect_strings(const OpContext& n, size_t k) {
  if (n.dtype(n.in(k)) == DType::str) return ok();
  return invalid_model("input ", k, ": expected strings, got ", n.dtype(n.in(k)));
}

Result<ValueIds> string_concat(OpContext& n) {
  TRY_STATUS(expect_strings(n, 0));
  TRY_STATUS(expect_strings(n, 1));
  return only(n.add("string_concat", {}, {n.in(0), n.in(1)}));
}

Result<ValueIds> string_split(OpContext& n) {
  TRY_STATUS(expect_strings(n, 0));
  TRY(const std::string delimiter, n.attr_text("delimiter", ""));
  TRY(const int64_t most, n.attr_int("maxsplit", -1));
  return n.add_all("string_split", {{"delimiter", delimiter}, {"most_splits", most}}, {n.in(0)});
}

Result<ValueIds> string_normalizer(OpContext& n) {
  TRY_STATUS(expect_strings(n, 0));
  static constexpr std::string_view kActions[] = {"NONE", "LOWER", "UPPER"};
  TRY(const size_t letters, n.attr_choice("case_change_action", kActions, 0));
  TRY(const bool case_sensitive, n.attr_flag("is_case_sensitive", false));
  TRY(const std::vector<std::string> stopwords, n.attr_texts("stopwords"));
  // Cases are Unicode's, whatever the language.
  TRY(const std::string locale, n.attr_text("locale", ""));
  if (locale.starts_with("tr") || locale.starts_with("az") || locale.starts_with("lt")) {
    return unsupported("the upper and lower case of the language '", to_comment(locale), "'");
  }
  return only(n.add("string_normalize",
                    {{"letters", static_cast<int64_t>(letters)},
                     {"case_sensitive", case_sensitive},
                     {"stopwords", stopwords}},
                    {n.in(0)}));
}

Result<ValueIds> regex_full_match(OpContext& n) {
  TRY_STATUS(expect_strings(n, 0));
  TRY(const std::string pattern, n.attr_text("pattern"));
  return only(n.add("regex_match", {{"pattern", pattern}}, {n.in(0)}));
}

constexpr OpRow kRows[] = {
    {"RegexFullMatch", 20, 1, 1, regex_full_match},
    {"StringConcat", 20, 2, 2, string_concat},
    {"StringNormalizer", 10, 1, 1, string_normalizer},
    {"StringSplit", 20, 1, 1, string_split},
};

}  // namespace

std::span<const OpRow> text_rows() {
  return kRows;
}

}  // namespace ingot::onnx
