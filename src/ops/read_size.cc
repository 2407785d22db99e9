// ops/read_size.cc: a computed number becomes a symbol, for dims and offsets that depend on data.
#include "ops/read_size.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ReadSize::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<ReadSize>(ctx));
  TRY_STATUS(expect_rank(kName, "x", ctx.tensor(0), 0));  // C1
  if (ctx.tensor(0).dtype != DType::i64) {                // C1
    return invalid_argument(kName, ": x: expected i64, got ", ctx.tensor(0).dtype);
  }
  const Expr size = ctx.pool.fresh_symbol("size", true);
  ctx.pool.symbol_info(size.symbol()).range = {0, kOffset + kMaxDim};
  return Types{TensorType{DType::b8, {size, ctx.pool.integer(0)}}};
}

std::vector<Tensor> ReadSize::reference(const ReferenceContext& ctx) const {
  const int64_t x = std::clamp(ctx.in[0].integer(0), -kMaxDim, kMaxDim);
  return {Tensor(DType::b8, {x + kOffset, 0})};
}

Sample<ReadSize> ReadSize::sample(Random&) {
  return {{}, {TensorType{DType::i64, {}}}, {{0, {-9, 9}}}};
}

const OpDef& define_read_size() {
  return define<ReadSize>();
}

}  // namespace ingot::ops
