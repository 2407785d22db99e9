// ops/string_to_number.cc: the numbers that texts stand for.
#include <cerrno>
#include <cmath>
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
  const char* const last = text.c_str() + text.size();
  char* end = nullptr;
  if (y.dtype() == DType::f32) {
    y.set_real(k, std::strtof(text.c_str(), &end));
    return end == last;
  }
  const double real = std::strtod(text.c_str(), &end);
  if (end != last) return false;
  if (y.dtype() == DType::f64) {
    y.set_real(k, real);
    return true;
  }
  if (y.dtype() == DType::u64 && text[0] == '-') return false;
  errno = 0;
  const int64_t whole = y.dtype() == DType::i64
                            ? std::strtoll(text.c_str(), &end, 10)
                            : static_cast<int64_t>(std::strtoull(text.c_str(), &end, 10));
  if (end == last) {
    y.set_integer(k, whole);
    return errno == 0;
  }
  // With a point or an exponent: what is behind the point is cut off.
  const double cut = std::trunc(real);
  const double limit = y.dtype() == DType::i64 ? 0x1p63 : 0x1p64;
  if (!(cut < limit) || cut < -0x1p63) return false;
  y.set_integer(k, y.dtype() == DType::i64 ? static_cast<int64_t>(cut)
                                           : static_cast<int64_t>(static_cast<uint64_t>(cut)));
  return true;
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
