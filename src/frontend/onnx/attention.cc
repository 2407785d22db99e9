// frontend/onnx/attention.cc: heads, their products, rotation.
#include "frontend/onnx/attention.h"

namespace ingot::onnx {

Result<ValueId> split_heads(OpContext& n, ValueId x, int64_t heads) {
  const auto hidden = n.dim(x, 2).as_int();
  if (heads < 1 || (hidden && *hidden % heads != 0)) {
    return invalid_model("expected a number of heads that divides the hidden size, got ", heads);
  }
  TRY(const ValueId apart,
      n.reshape(x, {n.dim(x, 0), n.dim(x, 1), n.integer(heads), floordiv(n.dim(x, 2), heads)}));
  return n.transpose(apart, {0, 2, 1, 3});
}

Result<ValueId> merge_heads(OpContext& n, ValueId x) {
  TRY(const ValueId y, n.transpose(x, {0, 2, 1, 3}));
  return n.reshape(y, {n.dim(y, 0), n.dim(y, 1), n.dim(y, 2) * n.dim(y, 3)});
}

Result<ValueId> grouped_matmul(Builder& n, ValueId a, ValueId b) {
  const Expr heads = n.dim(a, 1), shared = n.dim(b, 1);
  if (heads == shared) return n.matmul(a, b);
  const auto all = heads.as_int(), held = shared.as_int();
  if (!all || !held || *held < 1 || *all % *held != 0) {
    return invalid_model("expected heads of keys that divide those of queries");
  }
  Exprs group = n.dims(a);
  group[1] = shared;
  group.insert(group.begin() + 2, n.integer(*all / *held));
  TRY(const ValueId grouped, n.reshape(a, std::move(group)));
  Exprs single = n.dims(b);
  single.insert(single.begin() + 2, n.integer(1));
  TRY(const ValueId lone, n.reshape(b, std::move(single)));
  TRY(const ValueId y, n.matmul(grouped, lone));
  return n.reshape(y, {n.dim(a, 0), heads, n.dim(a, 2), n.dims(b).back()});
}

Result<ValueId> rotated(OpContext& n, ValueId x, ValueId cosines, ValueId sines, bool interleaved) {
  const auto size = n.dim(x, 3).as_int(), half = n.dim(cosines, 3).as_int();
  if (!size || !half) return unsupported("heads of unknown size");
  if (*half < 1 || 2 * *half > *size) {
    return invalid_model("expected angles for the pairs of a head of ", *size, ", got ", *half);
  }
  ValueIds xs;
  for (int64_t k = 0; k < 2; ++k) {
    const Expr start = n.integer(interleaved ? k : k * *half);
    TRY(const ValueId one, n.slice_axis(x, 3, start, n.integer(*half), interleaved ? 2 : 1));
    xs.push_back(one);
  }
  xs.insert(xs.end(), {cosines, sines});
  const DType held = n.dtype(x);
  TRY(ValueId real,
      n.map(held, xs, [](std::span<const Expr> p) { return p[2] * p[0] - p[3] * p[1]; }));
  TRY(ValueId imaginary,
      n.map(held, xs, [](std::span<const Expr> p) { return p[3] * p[0] + p[2] * p[1]; }));
  ValueId y;
  if (interleaved) {
    Exprs apart = n.dims(real);
    apart.push_back(n.integer(1));
    TRY(real, n.reshape(real, apart));
    TRY(imaginary, n.reshape(imaginary, apart));
    TRY(y, n.concat({real, imaginary}, 4));
    apart.pop_back();
    apart.back() = n.integer(2 * *half);
    TRY(y, n.reshape(y, std::move(apart)));
  } else {
    TRY(y, n.concat({real, imaginary}, 3));
  }
  if (2 * *half == *size) return y;
  TRY(const ValueId rest, n.slice_axis(x, 3, n.integer(2 * *half), n.integer(*size - 2 * *half)));
  return n.concat({y, rest}, 3);
}

}  // namespace ingot::onnx
