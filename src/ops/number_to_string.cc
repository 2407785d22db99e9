// ops/number_to_string.cc: numbers as text.
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {
namespace {

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char text[32];
  std::snprintf(text, sizeof text, "%.8g", value);
  return text;
}

}  // namespace

Status expect_text_number(std::string_view op, DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i64 || dtype == DType::u64) {
    return ok();
  }
  return invalid_argument(op, ": expected f32, f64, i64 or u64, got ", dtype);
}

Result<Types> NumberToString::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<NumberToString>(ctx));
  TRY_STATUS(expect_text_number(kName, ctx.tensor(0).dtype));  // C1
  return one_tensor(kName, DType::str, ctx.tensor(0).dims);
}

std::vector<Tensor> NumberToString::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  const Tensor& x = ctx.in[0];
  for (int64_t k = 0; k < y.size(); ++k) {
    y.set_string(k, x.holds_reals()           ? text_of(x.real(k))
                    : x.dtype() == DType::u64 ? concat(static_cast<uint64_t>(x.integer(k)))
                                              : concat(x.integer(k)));
  }
  return {std::move(y)};
}

Sample<NumberToString> NumberToString::sample(Random& rng, ExprPool& pool) {
  constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i64, DType::u64};
  const std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  return {{}, {TensorType{kDTypes[rng.range(0, 3)], constant_dims(pool, dims)}}};
}

const OpDef& define_number_to_string() {
  return define<NumberToString>();
}

}  // namespace ingot::ops
