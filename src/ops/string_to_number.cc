// ops/string_to_number.cc: the numbers that texts stand for.
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {
namespace {

/// Sets element k of y. False: the text is no such number.
bool set_number(Tensor& y, int64_t k, const std::string& given) {
  const std::string text(trim(given));
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  if (y.dtype() == DType::f32) {
    y.set_real(k, std::strtof(text.c_str(), &end));
  } else if (y.dtype() == DType::f64) {
    y.set_real(k, std::strtod(text.c_str(), &end));
  } else if (y.dtype() == DType::i64) {
    y.set_integer(k, std::strtoll(text.c_str(), &end, 10));
  } else {
    y.set_integer(k, static_cast<int64_t>(std::strtoull(text.c_str(), &end, 10)));
    if (text[0] == '-') return false;
  }
  return end == text.c_str() + text.size() && (y.holds_reals() || errno == 0);
}

}  // namespace

Result<Types> StringToNumber::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringToNumber>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  TRY_STATUS(expect_text_number(kName, dtype));                 // C2
  return one_tensor(kName, dtype, ctx.tensor(0).dims);
}

std::vector<Tensor> StringToNumber::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  for (int64_t k = 0; k < y.size(); ++k) {
    if (set_number(y, k, ctx.in[0].string(k))) continue;
    return ctx.fail(
        invalid_argument("expected the text of a number, got ", quote(ctx.in[0].string(k))));
  }
  return {std::move(y)};
}

Sample<StringToNumber> StringToNumber::sample(Random& rng, ExprPool& pool) {
  constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i64, DType::u64};
  const DType dtype = kDTypes[rng.range(0, 3)];
  const std::vector<int64_t> dims = sample_dims(rng, rng.range(0, 3));
  return {{dtype},
          {TensorType{DType::str, constant_dims(pool, dims)}},
          {{0, {dtype == DType::u64 ? 0.0 : -1e6, 1e6}}}};
}

const OpDef& define_string_to_number() {
  return define<StringToNumber>();
}

}  // namespace ingot::ops
