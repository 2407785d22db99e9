// ops/reshape.cc: the same elements in row-major order under other dims.
#include "ops/reshape.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// The shortest runs of dims that hold equally many elements: in[i, i + in_count) and
/// out[o, o + out_count). Indices are converted run by run, which keeps divisions away from dims
/// that both shapes share. False if only the whole shapes are known to agree.
bool next_run(ExprPool& pool, std::span<const Expr> in, std::span<const Expr> out, size_t& in_count,
              size_t& out_count) {
  for (size_t length = 1; length <= in.size() + out.size(); ++length) {
    for (size_t i = length - std::min(length, out.size()); i <= std::min(length, in.size()); ++i) {
      const size_t o = length - i;
      if (!provably_equal(element_count(pool, in.first(i)), element_count(pool, out.first(o)))) {
        continue;
      }
      in_count = i;
      out_count = o;
      return true;
    }
  }
  return false;
}

/// Index into `in` of the element whose index into `out` is `index`; equally many elements.
void convert_index(ExprPool& pool, std::span<const Expr> in, std::span<const Expr> out,
                   std::span<const Expr> index, Exprs& result) {
  if (in.size() == 1 && out.size() == 1) {
    result.push_back(index[0]);
    return;
  }
  Expr flat = pool.integer(0);
  for (size_t a = 0; a < out.size(); ++a) flat = flat * out[a] + index[a];
  const Exprs strides = row_major_strides(pool, in);
  for (size_t a = 0; a < in.size(); ++a) {
    const Expr quotient = floordiv(flat, strides[a]);
    result.push_back(a == 0 ? quotient : floormod(quotient, in[a]));
  }
}

}  // namespace

Result<Types> Reshape::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Reshape>(ctx));
  TRY(Types types, one_tensor(kName, ctx.tensor(0).dtype, dims));  // C1
  TRY_STATUS(expect_equal(ctx, kName, "element counts of x and y",
                          element_count(ctx.pool, ctx.tensor(0).dims),
                          element_count(ctx.pool, dims)));  // C2
  return types;
}

std::vector<Tensor> Reshape::reference(const ReferenceContext& ctx) const {
  return {ctx.in[0].reshaped(ctx.out_dims[0])};
}

Expr Reshape::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  std::span<const Expr> in = k.tensor(0).dims;
  std::span<const Expr> out = dims;
  Exprs from;
  while (!in.empty() || !out.empty()) {
    size_t in_count = in.size();
    size_t out_count = out.size();
    if (!next_run(k.pool(), in, out, in_count, out_count)) {
      in_count = in.size();
      out_count = out.size();
    }
    convert_index(k.pool(), in.first(in_count), out.first(out_count), index.first(out_count), from);
    in = in.subspan(in_count);
    out = out.subspan(out_count);
    index = index.subspan(out_count);
  }
  return k.load(0, from);
}

Sample<Reshape> Reshape::sample(Random& rng, ExprPool& pool) {
  // Both shapes come from one list of factors; at least one of them keeps the factors apart, so
  // that symbols among them can be told from it.
  const auto sizes = sample_dims(rng, rng.range(0, 5), 4);
  const bool symbolic = rng.chance(0.5);
  const Exprs factors = symbolic ? some_symbolic(rng, pool, sizes) : constant_dims(pool, sizes);
  const auto group = [&] {
    Exprs result;
    bool open = false;
    for (const Expr factor : factors) {
      if (open && rng.chance(0.5)) {
        result.back() = result.back() * factor;
      } else {
        result.push_back(factor);
      }
      open = true;
      if (rng.chance(0.1)) {
        result.push_back(pool.integer(1));
        open = false;
      }
    }
    return result;
  };
  return {{.dims = group()}, {TensorType{sample_any(rng), symbolic ? factors : group()}}};
}

const OpDef& define_reshape() {
  return define<Reshape>();
}

}  // namespace ingot::ops
