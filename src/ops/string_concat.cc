// ops/string_concat.cc: strings one behind the other.
#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/strings.h"

namespace ingot::ops {

Result<Types> StringConcat::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringConcat>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  TRY_STATUS(expect_strings(kName, "y", ctx.tensor(1).dtype));  // C1
  TRY(Exprs dims, broadcast_dims(ctx, kName,                    // C2
                                 std::array{ctx.tensor(0).dims, ctx.tensor(1).dims}));
  return one_tensor(kName, DType::str, std::move(dims));
}

std::vector<Tensor> StringConcat::reference(const ReferenceContext& ctx) const {
  Tensor z = ctx.make_output();
  for_each_index(z.dims(), [&](int64_t k, std::span<const int64_t> index) {
    z.set_string(k, ctx.in[0].string(broadcast_position(ctx.in[0].dims(), index)) +
                        ctx.in[1].string(broadcast_position(ctx.in[1].dims(), index)));
  });
  return {std::move(z)};
}

Sample<StringConcat> StringConcat::sample(Random& rng, ExprPool& pool) {
  return {{}, StringEqual::sample(rng, pool).inputs};
}

const OpDef& define_string_concat() {
  return define<StringConcat>();
}

}  // namespace ingot::ops
