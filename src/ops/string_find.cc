// ops/string_find.cc: which of some texts a string is.
#include <algorithm>

#include "base/text.h"
#include "base/text_table.h"
#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {

std::vector<std::string> StringFind::routine_texts() const {
  std::vector<std::string> all = {text_table(texts)};
  all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

Result<Types> StringFind::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringFind>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  for (size_t k = 1; k < texts.size(); ++k) {
    if (texts[k - 1] < texts[k]) continue;
    return invalid_argument(kName, ": expected texts that rise, got ", quote(texts[k]),  // C2
                            " behind ", quote(texts[k - 1]));
  }
  return one_tensor(kName, DType::i64, ctx.tensor(0).dims);
}

std::vector<Tensor> StringFind::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  for (int64_t k = 0; k < y.size(); ++k) {
    y.set_integer(k, std::ranges::find(texts, ctx.in[0].string(k)) - texts.begin());
  }
  return {std::move(y)};
}

Sample<StringFind> StringFind::sample(Random& rng, ExprPool& pool) {
  StringFind op;
  for (const std::string_view text : {"", "B b", "a", "ab", "\xC3\xA4"}) {
    if (rng.chance(0.6)) op.texts.emplace_back(text);
  }
  const std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  return {std::move(op), {TensorType{DType::str, constant_dims(pool, dims)}}};
}

const OpDef& define_string_find() {
  return define<StringFind>();
}

}  // namespace ingot::ops
