// ops/string_equal.cc: whether strings are the same.
#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {

Status expect_strings(std::string_view op, std::string_view port, DType dtype) {
  if (dtype == DType::str) return ok();
  return invalid_argument(op, ": expected ", port, " to be strings, got ", dtype);
}

Result<Types> StringEqual::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringEqual>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  TRY_STATUS(expect_strings(kName, "y", ctx.tensor(1).dtype));  // C1
  TRY(Exprs dims, broadcast_dims(ctx, kName,                    // C2
                                 std::array{ctx.tensor(0).dims, ctx.tensor(1).dims}));
  return one_tensor(kName, DType::b8, std::move(dims));
}

std::vector<Tensor> StringEqual::reference(const ReferenceContext& ctx) const {
  Tensor z = ctx.make_output();
  for_each_index(z.dims(), [&](int64_t k, std::span<const int64_t> index) {
    const auto& x = ctx.in[0].string(broadcast_position(ctx.in[0].dims(), index));
    const auto& y = ctx.in[1].string(broadcast_position(ctx.in[1].dims(), index));
    z.set_integer(k, x == y ? 1 : 0);
  });
  return {std::move(z)};
}

Sample<StringEqual> StringEqual::sample(Random& rng, ExprPool& pool) {
  std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  const TensorType x{DType::str, constant_dims(pool, dims)};
  if (!dims.empty() && rng.chance(0.5)) dims.erase(dims.begin());
  for (int64_t& dim : dims) {
    if (rng.chance(0.3)) dim = 1;
  }
  return {{}, {x, TensorType{DType::str, constant_dims(pool, dims)}}};
}

const OpDef& define_string_equal() {
  return define<StringEqual>();
}

}  // namespace ingot::ops
