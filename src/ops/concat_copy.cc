// ops/concat_copy.cc: a concatenation of many parts, copied one by one.
#include "ops/concat_copy.h"

#include "ops/checks.h"
#include "ops/concat.h"
#include "ops/registry.h"

namespace ingot::ops {

Result<Types> ConcatCopy::infer(InferContext& ctx) const {
  if (parts != static_cast<int64_t>(ctx.count())) {  // C1
    return invalid_argument(kName, ": expected ", parts, " inputs, got ", ctx.count());
  }
  TRY(Types types, Concat{axis}.infer(ctx));
  if (types[0].tensor.dtype == DType::str || bits(types[0].tensor.dtype) < 8) {  // C1
    return invalid_argument(kName, ": expected elements of whole bytes, got ",
                            types[0].tensor.dtype);
  }
  return types;
}

std::vector<Tensor> ConcatCopy::reference(const ReferenceContext& ctx) const {
  return Concat{axis}.reference(ctx);
}

Sample<ConcatCopy> ConcatCopy::sample(Random& rng, ExprPool& pool) {
  const Sample<Concat> concat = Concat::sample(rng, pool);
  return {{concat.op.axis, static_cast<int64_t>(concat.inputs.size())}, concat.inputs};
}

const OpDef& define_concat_copy() {
  return define<ConcatCopy>();
}

}  // namespace ingot::ops
