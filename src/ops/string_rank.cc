// ops/string_rank.cc: strings by their place in order.
#include <set>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {

Result<Types> StringRank::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringRank>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  return one_tensor(kName, DType::i64, ctx.tensor(0).dims);
}

std::vector<Tensor> StringRank::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  std::set<std::string> different;
  for (int64_t k = 0; k < y.size(); ++k) different.insert(ctx.in[0].string(k));
  for (int64_t k = 0; k < y.size(); ++k) {
    const auto place = different.find(ctx.in[0].string(k));
    y.set_integer(k, std::distance(different.begin(), place));
  }
  return {std::move(y)};
}

Sample<StringRank> StringRank::sample(Random& rng, ExprPool& pool) {
  const std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  return {{}, {TensorType{DType::str, constant_dims(pool, dims)}}};
}

const OpDef& define_string_rank() {
  return define<StringRank>();
}

}  // namespace ingot::ops
