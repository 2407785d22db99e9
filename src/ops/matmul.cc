// ops/matmul.cc: the matrix product, batched, optionally with the right operand in packed panels.
#include "ops/matmul.h"

#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

template <class T>
std::vector<T> without_last(const std::vector<T>& all, size_t count) {
  return {all.begin(), all.end() - static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

Result<Types> MatMul::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<MatMul>(ctx));
  const TensorType& a = ctx.tensor(0);
  const TensorType& b = ctx.tensor(1);
  TRY_STATUS(expect_number(kName, "a", a.dtype));                    // C1
  TRY_STATUS(expect_same_dtype(kName, "a", a.dtype, "b", b.dtype));  // C1
  TRY_STATUS(expect_rank_at_least(kName, "a", a, 2));                // C2
  TRY_STATUS(expect_rank_at_least(kName, "b", b, packed ? 3 : 2));   // C2
  const size_t rank = b.dims.size();
  TRY_STATUS(expect_equal(ctx, kName, "K of a and K of b", a.dims.back(), b.dims[rank - 2]));  // C3
  Expr n = b.dims.back();
  if (packed) {  // C5
    const auto width = n.as_int();
    if (!width || *width < 1) {
      return invalid_argument("matmul: expected panels of a constant width above 0, got ",
                              to_text(b));
    }
    if (!columns) return invalid_argument("matmul: expected columns beside packed b, got none");
    TRY_STATUS(expect_dims(kName, std::array{columns}));
    TRY_STATUS(expect_equal(ctx, kName, "panels of columns and panels of b",
                            ceildiv(columns, *width), b.dims[rank - 3]));
    n = columns;
  }
  TRY(Exprs dims,
      broadcast_dims(ctx, kName,  // C4
                     std::array{without_last(a.dims, 2), without_last(b.dims, packed ? 3 : 2)}));
  dims.push_back(a.dims[a.dims.size() - 2]);
  dims.push_back(n);
  return one_tensor(kName, a.dtype, std::move(dims));
}

std::vector<Tensor> MatMul::reference(const ReferenceContext& ctx) const {
  const Tensor& a = ctx.in[0];
  const Tensor& b = ctx.in[1];
  Tensor y = ctx.make_output();
  const size_t matrix = packed ? 3 : 2;
  const int64_t depth = a.dims().back();
  const int64_t width = b.dims().back();
  const auto a_batch = without_last(a.dims(), 2);
  const auto b_batch = without_last(b.dims(), matrix);
  const int64_t b_size = count_of(std::span(b.dims()).last(matrix));
  for_each_index(y.dims(), [&](int64_t position, std::span<const int64_t> index) {
    const auto batch = index.first(index.size() - 2);
    const int64_t m = index[index.size() - 2];
    const int64_t n = index.back();
    const int64_t a_row =
        broadcast_position(a_batch, batch) * a.dim(a.rank() - 2) * depth + m * depth;
    const int64_t b_column = broadcast_position(b_batch, batch) * b_size +
                             (packed ? n / width * depth * width + n % width : n);
    DotProduct dot(y.dtype());
    for (int64_t k = 0; k < depth; ++k) dot.add(a, a_row + k, b, b_column + k * width);
    dot.store(y, position);
  });
  return {std::move(y)};
}

Expr MatMul::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const Exprs& a = k.tensor(0).dims;
  const Exprs& b = k.tensor(1).dims;
  const auto batch = index.first(index.size() - 2);
  const Expr m = index[index.size() - 2];
  const Expr n = index.back();
  Exprs a_index = broadcast_index(k.pool(), without_last(a, 2), batch);
  Exprs b_index = broadcast_index(k.pool(), without_last(b, packed ? 3 : 2), batch);
  return k.reduce(ReduceKind::sum, a.back(), [&](Expr j) {
    Exprs at_a = a_index;
    at_a.insert(at_a.end(), {m, j});
    Exprs at_b = b_index;
    if (packed) {
      at_b.insert(at_b.end(), {floordiv(n, b.back()), j, floormod(n, b.back())});
    } else {
      at_b.insert(at_b.end(), {j, n});
    }
    return k.load(0, at_a) * k.load(1, at_b);
  });
}

Sample<MatMul> MatMul::sample(Random& rng, ExprPool& pool) {
  const DType dtype = sample_number(rng);
  auto size = sample_dims(rng, 3, 7);  // M, K, N
  if (rng.chance(0.2)) size[2] = rng.range(16, 140);
  auto a = sample_dims(rng, rng.range(0, 2), 3);
  std::vector<int64_t> b(a.begin() + rng.range(0, static_cast<int64_t>(a.size())), a.end());
  for (int64_t& dim : b) {
    if (rng.chance(0.3)) dim = 1;
  }
  a.insert(a.end(), {size[0], size[1]});
  MatMul op;
  if (rng.chance(0.4)) {
    const int64_t panel = size[2] < 64 ? (size[2] + 15) / 16 * 16 : 64;
    const int64_t width = rng.chance(0.3) || size[2] == 0 ? 4 : panel;
    op = {.packed = true, .columns = pool.integer(size[2])};
    b.insert(b.end(), {(size[2] + width - 1) / width, size[1], width});
  } else {
    b.insert(b.end(), {size[1], size[2]});
  }
  return {op,
          {TensorType{dtype, constant_dims(pool, a)}, TensorType{dtype, constant_dims(pool, b)}}};
}

const OpDef& define_matmul() {
  return define<MatMul>();
}

}  // namespace ingot::ops
