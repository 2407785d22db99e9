// ops/bitcast.cc: the bits of each element read as another element type.
#include "ops/bitcast.h"

#include <vector>

#include "base/dtype.h"
#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

bool has_plain_bits(DType dtype) {
  return is_float(dtype) || is_int(dtype) || dtype == DType::b8;
}

}  // namespace

Result<Types> Bitcast::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Bitcast>(ctx));
  const TensorType& x = ctx.tensor(0);
  if (!has_plain_bits(x.dtype) || !has_plain_bits(to)) {  // C1
    return invalid_argument(kName, ": expected numbers or truth values, got ", x.dtype, " and ",
                            to);
  }
  if (bits(x.dtype) != bits(to)) {  // C2
    return invalid_argument(kName, ": expected elements of ", bits(to), " bits as in ", to,
                            ", got ", x.dtype);
  }
  if (to == DType::b8 && x.dtype != DType::b8) {  // C3
    return invalid_argument(kName, ": expected x of b8 as is the result, got ", x.dtype);
  }
  return one_tensor(kName, to, x.dims);
}

std::vector<Tensor> Bitcast::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Result<Tensor> y = Tensor::from_bytes(to, x.dims(), x.to_bytes());
  CHECK(y, "as many bits, by C2");
  return {std::move(*y)};
}

Sample<Bitcast> Bitcast::sample(Random& rng, ExprPool& pool) {
  const DType from = sample_any(rng);
  std::vector<DType> choices;
  for (const DTypeInfo& row : kDTypes) {
    const bool is_truth = row.dtype == DType::b8;
    if (has_plain_bits(row.dtype) && row.bits == bits(from) && (!is_truth || from == DType::b8)) {
      choices.push_back(row.dtype);
    }
  }
  const int64_t rank = rng.range(0, 4);
  return {{.to = rng.pick(choices)},
          {TensorType{from, constant_dims(pool, sample_dims(rng, rank))}}};
}

const OpDef& define_bitcast() {
  return define<Bitcast>();
}

}  // namespace ingot::ops
