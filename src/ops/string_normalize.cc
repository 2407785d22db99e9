// ops/string_normalize.cc: stop words leave, letters change their case.
#include <algorithm>

#include "base/letter_case.h"
#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {

std::vector<std::string> StringNormalize::routine_texts() const {
  const bool folds = !case_sensitive && !stopwords.empty();
  std::vector<std::string> texts = {letters == 1 || folds ? lower_case_table() : "",
                                    letters == 2 ? upper_case_table() : ""};
  for (const std::string& word : stopwords) {
    texts.push_back(case_sensitive ? word : to_lower(word));
  }
  std::sort(texts.begin() + 2, texts.end());
  return texts;
}

Result<Types> StringNormalize::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringNormalize>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY_STATUS(expect_strings(kName, "x", x.dtype));  // C1
  if (x.rank() != 1 && x.rank() != 2) {             // C1
    return invalid_argument(kName, ": expected x of str[n] or str[1, n], got ", to_text(x));
  }
  if (x.rank() == 2) {
    TRY_STATUS(expect_equal(ctx, kName, "dim 0 of x and 1", x.dims[0], ctx.pool.integer(1)));
  }
  if (letters < 0 || letters > 2) {  // C2
    return invalid_argument(kName, ": expected letters in 0..2, got ", letters);
  }
  Exprs dims(x.dims.size(), ctx.pool.integer(1));
  dims.back() = ctx.pool.fresh_symbol("words", true);
  ctx.pool.symbol_info(dims.back().symbol()).range = {1, kMaxDim};
  return one_tensor(kName, DType::str, std::move(dims));
}

std::vector<Tensor> StringNormalize::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  std::vector<std::string> kept;
  for (int64_t k = 0; k < x.size(); ++k) {
    const std::string& text = x.string(k);
    const bool is_stopword = std::ranges::any_of(stopwords, [&](const std::string& word) {
      return case_sensitive ? word == text : to_lower(word) == to_lower(text);
    });
    if (is_stopword) continue;
    kept.push_back(letters == 0 ? text : letters == 1 ? to_lower(text) : to_upper(text));
  }
  if (kept.empty()) kept.emplace_back();
  std::vector<int64_t> dims(x.dims().size(), 1);
  dims.back() = static_cast<int64_t>(kept.size());
  return {Tensor::of_strings(std::move(dims), kept)};
}

Sample<StringNormalize> StringNormalize::sample(Random& rng, ExprPool& pool) {
  StringNormalize op{rng.range(0, 2), rng.chance(0.5), {}};
  for (const std::string_view word : {"a", "B b", "\xC3\xA4", ""}) {
    if (rng.chance(0.4)) op.stopwords.emplace_back(word);
  }
  std::vector<int64_t> dims = sample_dims(rng, 1);
  if (rng.chance(0.4)) dims.insert(dims.begin(), 1);
  return {std::move(op), {TensorType{DType::str, constant_dims(pool, dims)}}};
}

const OpDef& define_string_normalize() {
  return define<StringNormalize>();
}

}  // namespace ingot::ops
