// ops/conv_winograd.cc: 3x3 convolution by Winograd's F(4x4, 3x3), with transformed weights.
#include "ops/conv_winograd.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

constexpr int64_t kTile = 4;    // rows and columns of a tile of y
constexpr int64_t kPoints = 6;  // of interpolation: rows and columns of the piece of x behind it

/// table[row][column] for a row that is only known when the kernel runs.
template <size_t kRows, size_t kColumns>
Expr entry(ExprPool& pool, DType dtype, const double (&table)[kRows][kColumns], Expr row,
           size_t column) {
  Expr value = pool.real(table[0][column], dtype);
  for (size_t i = 1; i < kRows; ++i) {
    const Expr here = equal(row, pool.integer(static_cast<int64_t>(i)));
    value = select(here, pool.real(table[i][column], dtype), value);
  }
  return value;
}

/// Sum over k of row[k] * terms[k], without those whose factor is 0.
Expr weigh(std::span<const double> row, std::span<const Expr> terms) {
  Expr sum;
  for (size_t k = 0; k < row.size(); ++k) {
    if (row[k] == 0) continue;
    const Expr term = terms[k] * terms[k].pool().real(row[k], terms[k].dtype());
    sum = sum ? sum + term : term;
  }
  return sum;
}

}  // namespace

Result<Types> ConvWinograd::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<ConvWinograd>(ctx));
  const TensorType& x = ctx.tensor(0);
  const TensorType& u = ctx.tensor(1);
  TRY_STATUS(expect_float(kName, "x", x.dtype));                     // C1
  TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "u", u.dtype));  // C1
  TRY_STATUS(expect_rank(kName, "x", x, 4));                         // C2
  TRY_STATUS(expect_rank(kName, "u", u, 4));                         // C2
  const auto width = u.dims[3].as_int();
  if (!u.dims[0].is_int(kPoints * kPoints) || !width || *width < 1) {  // C2
    return invalid_argument("conv_winograd: expected u of 36 matrices in panels of a constant ",
                            "width above 0, got ", to_text(u));
  }
  TRY_STATUS(expect_equal(ctx, kName, "channels of x and of u", x.dims[3], u.dims[2]));  // C2
  TRY_STATUS(window().check(kName, 2));                                                  // C3
  if (columns < 0 || columns > kMaxDim) {                                                // C4
    return invalid_argument("conv_winograd: expected columns of 0 or more, got ", columns);
  }
  TRY_STATUS(expect_equal(ctx, kName, "panels of columns and panels of u",  // C4
                          ctx.pool.integer((columns + *width - 1) / *width), u.dims[1]));
  Exprs dims = {x.dims[0]};
  for (size_t s = 0; s < 2; ++s) {
    TRY(const Expr out, window().count(kName, s, x.dims[s + 1], ctx.pool.integer(3)));  // C3
    dims.push_back(out);
  }
  dims.push_back(ctx.pool.integer(columns));
  if (ctx.has(2)) {  // C4
    TRY_STATUS(expect_same_dtype(kName, "x", x.dtype, "bias", ctx.tensor(2).dtype));
    TRY_STATUS(expect_rank(kName, "bias", ctx.tensor(2), 1));
    TRY_STATUS(
        expect_equal(ctx, kName, "columns and size of bias", dims.back(), ctx.tensor(2).dims[0]));
  }
  return one_tensor(kName, x.dtype, std::move(dims));
}

std::vector<Tensor> ConvWinograd::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  const Tensor& u = ctx.in[1];
  Tensor y = ctx.make_output();
  const auto& size = x.dims();
  const int64_t channels = size[3], width = u.dims()[3];
  // B d B^T of channel c of the piece of x that begins at (top, left).
  const auto transformed = [&](int64_t n, int64_t top, int64_t left, int64_t c, int64_t p,
                               int64_t q) {
    double v = 0;
    for (int64_t a = 0; a < kPoints; ++a) {
      for (int64_t b = 0; b < kPoints; ++b) {
        const double factor = kB[p][a] * kB[q][b];
        const int64_t row = top + a, column = left + b;
        const bool inside = row >= 0 && row < size[1] && column >= 0 && column < size[2];
        // Not 0 * x, which may be NaN: the algorithm does not look there.
        if (factor == 0 || !inside) continue;
        v += factor * x.real(((n * size[1] + row) * size[2] + column) * channels + c);
      }
    }
    return v;
  };
  for_each_index(y.dims(), [&](int64_t to, std::span<const int64_t> index) {
    const int64_t top = index[1] / kTile * kTile - pads_begin[0];
    const int64_t left = index[2] / kTile * kTile - pads_begin[1];
    const int64_t f = index[3];
    double sum = ctx.has(2) ? ctx.in[2].real(f) : 0;
    for (int64_t p = 0; p < kPoints; ++p) {
      for (int64_t q = 0; q < kPoints; ++q) {
        const double factor = kA[index[1] % kTile][p] * kA[index[2] % kTile][q];
        if (factor == 0) continue;
        const int64_t matrix = (kPoints * p + q) * u.dims()[1] + f / width;
        for (int64_t c = 0; c < channels; ++c) {
          sum += factor * u.real((matrix * channels + c) * width + f % width) *
                 transformed(index[0], top, left, c, p, q);
        }
      }
    }
    y.set_real(to, sum);
  });
  return {std::move(y)};
}

Expr ConvWinograd::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const Exprs& x = k.tensor(0).dims;
  const Exprs& u = k.tensor(1).dims;
  const DType dtype = compute_dtype(k.tensor(0).dtype);
  const Expr zero = k.pool().real(0, dtype), f = index[3];
  // The piece of x behind the tile, one channel of it.
  const auto read = [&](int64_t a, int64_t b, Expr c) {
    const Expr row = floordiv(index[1], kTile) * kTile + (a - pads_begin[0]);
    const Expr column = floordiv(index[2], kTile) * kTile + (b - pads_begin[1]);
    const Expr inside =
        logical_and(within(row, k.integer(0), x[1]), within(column, k.integer(0), x[2]));
    return k.load_if(inside, 0, std::array{index[0], row, column, c}, zero);
  };
  Exprs down, across;  // the row of A for this row and for this column of y
  for (size_t p = 0; p < kPoints; ++p) {
    down.push_back(entry(k.pool(), dtype, kA, floormod(index[1], kTile), p));
    across.push_back(entry(k.pool(), dtype, kA, floormod(index[2], kTile), p));
  }
  const Expr sum = k.reduce(ReduceKind::sum, x[3], [&](Expr c) {
    Exprs rows;  // [p, b]: sum over a of B[p, a] x[a, b]
    for (size_t p = 0; p < kPoints; ++p) {
      for (int64_t b = 0; b < kPoints; ++b) {
        Exprs column;
        for (int64_t a = 0; a < kPoints; ++a) column.push_back(read(a, b, c));
        rows.push_back(weigh(kB[p], column));
      }
    }
    Expr products = zero;
    for (size_t p = 0; p < kPoints; ++p) {
      for (size_t q = 0; q < kPoints; ++q) {
        const Expr v = weigh(kB[q], std::span(rows).subspan(p * kPoints, kPoints));
        const std::array at = {k.integer(static_cast<int64_t>(p * kPoints + q)), floordiv(f, u[3]),
                               c, floormod(f, u[3])};
        const Expr factor = down[p] * across[q];
        products = products + select(equal(factor, zero), zero, factor * (k.load(1, at) * v));
      }
    }
    return products;
  });
  return k.has(2) ? sum + k.load(2, std::array{f}) : sum;
}

Sample<ConvWinograd> ConvWinograd::sample(Random& rng, ExprPool& pool) {
  ConvWinograd op;
  const int64_t channels = rng.chance(0.1) ? 0 : rng.range(1, 3);
  op.columns = rng.range(1, 5);
  std::vector<int64_t> x = {rng.range(0, 2)};
  for (size_t s = 0; s < 2; ++s) {
    op.pads_begin[s] = rng.range(0, 1);
    op.pads_end[s] = rng.range(0, 2);
    x.push_back(std::max<int64_t>(0, 3 - op.pads_begin[s] - op.pads_end[s]) + rng.range(0, 3));
  }
  x.push_back(channels);
  const int64_t width = rng.chance(0.3) ? 4 : 16;  // that of panels
  const DType dtype = rng.chance(0.5) ? DType::f32 : sample_float(rng);
  Sample<ConvWinograd> sample{
      op,
      {TensorType{dtype, constant_dims(pool, x)},
       TensorType{dtype,
                  constant_dims(pool, {36, (op.columns + width - 1) / width, channels, width})}}};
  if (rng.chance(0.6)) {
    sample.inputs.push_back(TensorType{dtype, constant_dims(pool, {op.columns})});
  }
  return sample;
}

const OpDef& define_conv_winograd() {
  return define<ConvWinograd>();
}

}  // namespace ingot::ops
