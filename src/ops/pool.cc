// ops/pool.cc: maximum and average over sliding windows of channels-last activations.
#include "ops/pool.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {

Result<Types> Pool::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Pool>(ctx));
  const TensorType& x = ctx.tensor(0);
  if (kind != "max" && kind != "average") {  // C5
    return invalid_argument("pool: expected kind max or average, got '", kind, "'");
  }
  if (kind == "max") {  // C1
    TRY_STATUS(expect_number(kName, "x", x.dtype));
  } else {
    TRY_STATUS(expect_float(kName, "x", x.dtype));
  }
  TRY_STATUS(expect_rank_at_least(kName, "x", x, 2));  // C2
  const size_t spatial = x.dims.size() - 2;
  TRY_STATUS(window().check(kName, static_cast<int64_t>(spatial)));  // C3
  if (kernel.size() != spatial) {
    return invalid_argument("pool: expected ", spatial, " kernel sizes, got ", kernel);
  }
  Exprs dims = {x.dims[0]};
  for (size_t s = 0; s < spatial; ++s) {
    if (kernel[s] < 1 || kernel[s] > kMaxDim) {  // C3
      return invalid_argument("pool: expected kernel sizes between 1 and ", kMaxDim, ", got ",
                              kernel);
    }
    TRY(const Expr out,
        window().count(kName, s, x.dims[s + 1], ctx.pool.integer(kernel[s])));  // C4
    dims.push_back(out);
  }
  dims.push_back(x.dims.back());
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Pool::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const bool average = kind == "average";
  const ReduceKind step = average ? ReduceKind::sum : ReduceKind::max;
  Tensor y = ctx.make_output();
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    Scalar total = neutral(step, compute_dtype(x.dtype()));
    int64_t counted = 0;
    for_each_index(kernel, [&](int64_t, std::span<const int64_t> t) {
      bool inside = true;
      bool padded = true;
      int64_t pixel = index[0];
      for (size_t s = 0; s < kernel.size(); ++s) {
        const int64_t size = x.dims()[s + 1];
        const int64_t at = window().position(s, index[s + 1], t[s]);
        inside = inside && at >= 0 && at < size;
        padded = padded && at < size + pads_end[s];
        pixel = pixel * size + at;
      }
      if (count_include_pad ? padded : inside) ++counted;
      if (!inside) return;
      const int64_t from = pixel * x.dims().back() + index.back();
      total = gather(step, total, element_of(x, from));
    });
    if (average) total.real /= static_cast<double>(counted);
    set_element(y, to, total);
  });
  return {std::move(y)};
}

Expr Pool::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  const DType compute = compute_dtype(x.dtype);
  const Expr zero = k.integer(0);
  Exprs extents;
  for (const int64_t size : kernel) extents.push_back(k.integer(size));
  // Index and condition of one tap; `margin` widens the input by its padding at the end.
  const auto locate = [&](std::span<const Expr> tap, bool margin) {
    Expr inside = k.pool().boolean(true);
    Exprs at = {index[0]};
    for (size_t s = 0; s < kernel.size(); ++s) {
      at.push_back(window().position(s, index[s + 1], tap[s]));
      const Expr lo = margin ? k.integer(-pads_begin[s]) : zero;
      const Expr hi = margin ? x.dims[s + 1] + pads_end[s] : x.dims[s + 1];
      inside = logical_and(inside, within(at.back(), lo, hi));
    }
    at.push_back(index.back());
    return std::pair(at, inside);
  };
  const bool average = kind == "average";
  const Expr outside = average ? k.constant(compute, 0) : lowest(k.pool(), compute);
  const Expr total = reduce_box(k, average ? ReduceKind::sum : ReduceKind::max, extents,
                                [&](std::span<const Expr> tap) {
                                  const auto located = locate(tap, false);
                                  return k.load_if(located.second, 0, located.first, outside);
                                });
  if (!average) return total;
  const Expr counted = reduce_box(k, ReduceKind::sum, extents, [&](std::span<const Expr> tap) {
    return cast(locate(tap, count_include_pad).second, compute);
  });
  return total / counted;
}

Sample<Pool> Pool::sample(Random& rng, ExprPool& pool) {
  Pool op;
  op.kind = rng.chance(0.5) ? "max" : "average";
  op.ceil_mode = rng.chance(0.4);
  op.count_include_pad = rng.chance(0.5);
  const int64_t spatial = rng.range(0, 2);
  std::vector<int64_t> x = {rng.range(0, 2)};
  for (int64_t s = 0; s < spatial; ++s) {
    op.kernel.push_back(rng.range(1, 3));
    op.strides.push_back(rng.range(1, 3));
    op.dilations.push_back(rng.range(1, 2));
    op.pads_begin.push_back(rng.range(0, op.kernel.back() - 1));
    op.pads_end.push_back(rng.range(0, op.kernel.back() - 1));
    const int64_t reach = (op.kernel.back() - 1) * op.dilations.back() + 1;
    x.push_back(std::max<int64_t>(1, reach - op.pads_begin.back() - op.pads_end.back()) +
                rng.range(0, 5));
  }
  x.push_back(rng.range(0, 3));
  const DType dtype = op.kind == "max" ? sample_number(rng) : sample_float(rng);
  return {std::move(op), {TensorType{dtype, constant_dims(pool, x)}}};
}

const OpDef& define_pool() {
  return define<Pool>();
}

}  // namespace ingot::ops
