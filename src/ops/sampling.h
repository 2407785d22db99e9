// ops/sampling.h: what random instances of operators are drawn from.
#pragma once

#include <initializer_list>

#include "ir/op_def.h"

namespace ingot::ops {

/// Constant dims from numbers.
Exprs constant_dims(ExprPool& pool, std::span<const int64_t> dims);
Exprs constant_dims(ExprPool& pool, std::initializer_list<int64_t> dims);

/// `rank` dims between 1 and `hi`; one in twelve is 0.
std::vector<int64_t> sample_dims(Random& rng, int64_t rank, int64_t hi = 5);

/// Constants, with fresh symbols in the place of some sizes of 2 and more. The range of such a
/// symbol ends at the size: who makes a case of a sample gives symbols the largest values they may
/// have.
Exprs some_symbolic(Random& rng, ExprPool& pool, std::span<const int64_t> dims);

/// Mostly f32; also f64, f16, bf16.
DType sample_float(Random& rng);
/// A float or an integer dtype.
DType sample_number(Random& rng);
/// Anything whose elements a kernel can move: floats, integers, bool.
DType sample_any(Random& rng);

}  // namespace ingot::ops
