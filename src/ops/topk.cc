// ops/topk.cc: the largest or smallest elements along an axis, in order.
#include "ops/topk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Whether element i of x is above element j: NaN is above numbers.
bool above(const Tensor& x, int64_t i, int64_t j) {
  const Scalar a = element_of(x, i);
  const Scalar b = element_of(x, j);
  if (x.holds_reals()) {
    if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && !std::isnan(b.real);
    return a.real > b.real;
  }
  return apply(ExprKind::lt, DType::b8, std::array{b, a}).integer != 0;
}

}  // namespace

Result<Types> TopK::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<TopK>(ctx));
  const TensorType& x = ctx.tensor(0);
  TRY_STATUS(expect_number(kName, "x", x.dtype));  // C1
  if (bits(x.dtype) < (is_float(x.dtype) ? 16 : 8)) {
    return invalid_argument("topk: expected x of whole bytes, floats of 16 bits or more, got ",
                            x.dtype);
  }
  TRY(const int64_t along, expect_axis(kName, axis, x.rank()));  // C2
  Exprs dims = x.dims;
  Expr& length = dims[static_cast<size_t>(along)];
  TRY_STATUS(expect_dims(kName, std::span(&count, 1)));  // C3
  if (const auto held = length.as_int(); held && count.as_int() && *count.as_int() > *held) {
    return invalid_argument("topk: expected count not above ", *held, ", got ", *count.as_int());
  }
  length = count;
  TRY(Types types, one_tensor(kName, x.dtype, dims));
  TRY(const Types indices, one_tensor(kName, DType::i64, std::move(dims)));
  types.push_back(indices[0]);
  return types;
}

std::vector<Tensor> TopK::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const AxisSplit s = split_at(x.dims(), axis);
  const int64_t k = std::clamp<int64_t>(ctx.dim(count), 0, s.length);
  std::vector<int64_t> dims = x.dims();
  dims[front_axis(axis, dims.size())] = k;
  Tensor values(x.dtype(), dims);
  Tensor indices(DType::i64, dims);
  std::vector<int64_t> order(static_cast<size_t>(s.length));
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      std::iota(order.begin(), order.end(), int64_t{0});
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        return largest ? above(x, s.at(o, a, i), s.at(o, b, i))
                       : above(x, s.at(o, b, i), s.at(o, a, i));
      });
      for (int64_t j = 0; j < k; ++j) {
        const int64_t to = (o * k + j) * s.inner + i;
        const int64_t at = order[static_cast<size_t>(j)];
        values.copy_element(to, x, s.at(o, at, i));
        indices.set_integer(to, at);
      }
    }
  }
  return {std::move(values), std::move(indices)};
}

Sample<TopK> TopK::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(1, 3);
  const auto dims = sample_dims(rng, rank);
  TopK op{.axis = rng.range(-rank, rank - 1), .largest = rng.chance(0.5), .count = {}};
  const int64_t length = dims[front_axis(op.axis, dims.size())];
  DType dtype = sample_number(rng);
  if (bits(dtype) < 16) dtype = DType::i32;
  const TensorType x{dtype, constant_dims(pool, dims)};
  op.count = pool.integer(rng.range(0, length));
  return {std::move(op), {x}};
}

const OpDef& define_topk() {
  return define<TopK>();
}

}  // namespace ingot::ops
