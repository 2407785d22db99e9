// ops/sampling.cc: what random instances of operators are drawn from.
#include "ops/sampling.h"

namespace ingot::ops {

Exprs constant_dims(ExprPool& pool, std::span<const int64_t> dims) {
  Exprs result;
  for (const int64_t dim : dims) result.push_back(pool.integer(dim));
  return result;
}

Exprs constant_dims(ExprPool& pool, std::initializer_list<int64_t> dims) {
  return constant_dims(pool, std::span(dims.begin(), dims.size()));
}

Exprs some_symbolic(Random& rng, ExprPool& pool, std::span<const int64_t> dims) {
  Exprs result = constant_dims(pool, dims);
  for (Expr& dim : result) {
    if (*dim.as_int() < 2 || rng.chance(0.5)) continue;
    const int64_t size = *dim.as_int();
    dim = pool.fresh_symbol("d", false);
    pool.symbol_info(dim.symbol()).range = {1, size};
  }
  return result;
}

std::vector<int64_t> sample_dims(Random& rng, int64_t rank, int64_t hi) {
  std::vector<int64_t> dims = rng.dims(static_cast<int>(rank), 1, hi);
  for (int64_t& dim : dims) {
    if (rng.chance(1.0 / 12)) dim = 0;
  }
  return dims;
}

DType sample_float(Random& rng) {
  constexpr std::array kChoices = {DType::f32, DType::f32, DType::f32,
                                   DType::f64, DType::f16, DType::bf16};
  return rng.pick(kChoices);
}

DType sample_number(Random& rng) {
  constexpr std::array kIntegers = {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8};
  return rng.chance(0.7) ? sample_float(rng) : rng.pick(kIntegers);
}

DType sample_any(Random& rng) {
  return rng.chance(0.1) ? DType::b8 : sample_number(rng);
}

}  // namespace ingot::ops
