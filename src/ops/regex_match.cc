// ops/regex_match.cc: whether strings match a regular expression.
#include "ops/checks.h"
#include "ops/regex.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {

std::vector<std::string> RegexMatch::routine_texts() const {
  const auto table = compile_regex(pattern);
  CHECK(table, "infer let a pattern through: ", pattern);
  return {table->to_bytes()};
}

Result<Types> RegexMatch::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<RegexMatch>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));           // C1
  TRY(const RegexTable table, add_note(compile_regex(pattern), kName));  // C2
  (void)table;
  return one_tensor(kName, DType::b8, ctx.tensor(0).dims);
}

std::vector<Tensor> RegexMatch::reference(const ReferenceContext& ctx) const {
  const auto table = compile_regex(pattern);
  CHECK(table, "infer let a pattern through: ", pattern);
  Tensor y = ctx.make_output();
  for (int64_t k = 0; k < y.size(); ++k) {
    y.set_integer(k, table->matches(ctx.in[0].string(k)) ? 1 : 0);
  }
  return {std::move(y)};
}

Sample<RegexMatch> RegexMatch::sample(Random& rng, ExprPool& pool) {
  constexpr std::string_view kPatterns[] = {"", ".*", "[a-c ]+", "(a|B b)*", "\\w{2,3}", "[^a]+"};
  return {{std::string(kPatterns[rng.range(0, 5)])},
          {TensorType{DType::str, constant_dims(pool, sample_dims(rng, rng.range(0, 2)))}}};
}

const OpDef& define_regex_match() {
  return define<RegexMatch>();
}

}  // namespace ingot::ops
