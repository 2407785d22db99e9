// ops/pad.cc: more elements around a tensor.
#include "ops/pad.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

int64_t modulo(int64_t a, int64_t b) {
  return b == 0 ? 0 : (a % b + b) % b;
}

/// Where an index outside [0, size) reads; `size` is above 0.
int64_t inside(const std::string& mode, int64_t at, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return modulo(at, size);
  const int64_t mirrored = modulo(at, 2 * (size - 1));
  return mirrored < size ? mirrored : 2 * (size - 1) - mirrored;
}

Expr inside(const std::string& mode, Expr at, Expr size) {
  const Expr last = size - 1;
  if (mode == "edge") return max(min(at, last), at.pool().integer(0));
  if (mode == "wrap") return floormod(at, size);
  const Expr mirrored = floormod(at, last * 2);
  return min(mirrored, last * 2 - mirrored);
}

}  // namespace

Result<Types> Pad::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Pad>(ctx));
  const TensorType& x = ctx.tensor(0);
  constexpr std::array kModes = {"constant", "reflect", "edge", "wrap"};
  if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end()) {  // C2
    return invalid_argument("pad: expected mode constant, reflect, edge or wrap, got '", mode, "'");
  }
  TRY_STATUS(expect_dim_exprs(kName, "begin", begin));
  TRY_STATUS(expect_dim_exprs(kName, "end", end));
  if (begin.size() != x.dims.size() || end.size() != x.dims.size()) {  // C1
    return invalid_argument("pad: expected ", x.rank(), " begins and ends, got ", begin, " and ",
                            end);
  }
  Exprs dims;
  for (size_t a = 0; a < x.dims.size(); ++a) {
    for (const Expr amount : {begin[a], end[a]}) {  // C1
      TRY_STATUS(add_note(expect_dims(kName, std::array{amount}), "pad: begin and end"));
    }
    dims.push_back(x.dims[a] + begin[a] + end[a]);
    if (mode != "constant" && x.dims[a].is_int(0) && !dims[a].is_int(0)) {  // C4
      return invalid_argument("pad: expected elements to repeat along axis ", a, ", got ",
                              to_text(x));
    }
  }
  if (ctx.has(1)) {  // C3
    TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "value", ctx.tensor(1).dtype));
    TRY_STATUS(expect_rank(kName, "value", ctx.tensor(1), 0));
    if (mode != "constant") {
      return invalid_argument("pad: expected a value for mode constant only, got mode ", mode);
    }
  }
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> Pad::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  Tensor y = ctx.make_output();
  std::vector<int64_t> from(x.dims().size());
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    bool outside = false;
    for (size_t a = 0; a < from.size(); ++a) {
      from[a] = index[a] - ctx.dim(begin[a]);
      if (from[a] >= 0 && from[a] < x.dims()[a]) continue;
      outside = mode == "constant" || x.dims()[a] == 0;
      if (outside) break;
      from[a] = inside(mode, from[a], x.dims()[a]);
    }
    if (!outside) {
      y.copy_element(to, x, position_of(x.dims(), from));
    } else if (ctx.has(1)) {
      y.copy_element(to, ctx.in[1], 0);
    }
  });
  return {std::move(y)};
}

Expr Pad::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const TensorType& x = k.tensor(0);
  Expr condition = k.pool().boolean(true);
  Exprs at;
  for (size_t a = 0; a < index.size(); ++a) {
    at.push_back(index[a] - begin[a]);
    if (mode == "constant") {
      condition = logical_and(condition, within(at[a], k.integer(0), x.dims[a]));
    } else if (!begin[a].is_int(0) || !end[a].is_int(0)) {
      if (range_of(x.dims[a]).lo < 1) {
        condition = logical_and(condition, less(k.integer(0), x.dims[a]));
      }
      at[a] = inside(mode, at[a], x.dims[a]);
    }
  }
  const Expr otherwise = k.has(1) ? k.load(1, {}) : k.constant(compute_dtype(x.dtype), 0);
  return k.load_if(condition, 0, at, otherwise);
}

Sample<Pad> Pad::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(0, 3);
  constexpr std::array kModes = {"constant", "constant", "reflect", "edge", "wrap"};
  Pad op{.begin = {}, .end = {}, .mode = rng.pick(kModes)};
  const bool constant = op.mode == "constant";
  const auto dims = constant ? sample_dims(rng, rank) : rng.dims(static_cast<int>(rank), 1, 5);
  const Exprs from = some_symbolic(rng, pool, dims);
  for (size_t a = 0; a < from.size(); ++a) {
    op.begin.push_back(from[a] - (dims[a] - rng.range(0, 4)));
    op.end.push_back(pool.integer(rng.range(0, 4)));
  }
  Sample<Pad> sample{std::move(op), {TensorType{sample_any(rng), from}}};
  if (constant && rng.chance(0.6)) {
    sample.inputs.push_back(TensorType{sample.inputs[0].tensor.dtype, {}});
  }
  return sample;
}

const OpDef& define_pad() {
  return define<Pad>();
}

}  // namespace ingot::ops
