// frontend/onnx/ops_microsoft_blocks.cc: products with weights of a few bits, quantized in blocks.
#include <array>

#include "frontend/onnx/blocks.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/products.h"

namespace ingot::onnx {
namespace {

Result<int64_t> read_bits(OpContext& n) {
  TRY(const int64_t bits, n.attr_int("bits", 4));
  if (bits != 2 && bits != 4 && bits != 8) return unsupported("numbers of ", bits, " bits");
  return bits;
}

/// Where numbers of bytes have no zero point of their own, it is in the middle.
double middle(int64_t bits) {
  return static_cast<double>(1 << (bits - 1));
}

/// (q - zero) * scale, f32; the zero point may be absent.
Result<ValueId> dequantized(OpContext& n, ValueId q, ValueId scale, ValueId zero, double usual) {
  ValueIds xs = {q, scale};
  if (zero.valid()) xs.push_back(zero);
  return n.map(DType::f32, xs, [&](std::span<const Expr> p) {
    const auto wide = [](Expr e) { return ingot::cast(e, DType::f32); };
    const Expr centre = p.size() > 2 ? wide(p[2]) : n.number(DType::f32, usual);
    return (wide(p[0]) - centre) * wide(p[1]);
  });
}

/// a [.., K] times weights [N, K], plus a bias that may be absent, in the type of a. Weights are
/// not rounded to it.
Result<ValueIds> times_weights(OpContext& n, ValueId a, ValueId weights, ValueId bias) {
  TRY(const ValueId wide, n.cast(a, DType::f32));
  TRY(const ValueId turned, n.transpose(weights, {1, 0}));
  TRY(const ValueId y, numpy_matmul(n, wide, turned));
  if (!bias.valid()) return only(n.cast(y, n.dtype(a)));
  return only(n.map(n.dtype(a), {y, bias}, [](std::span<const Expr> p) {
    return p[0] + ingot::cast(p[1], p[0].dtype());
  }));
}

/// The sizes that MatMulNBits speaks of.
struct Weights {
  int64_t columns;  // N
  int64_t rows;     // K
  int64_t bits;
  int64_t block;  // rows that share a scale

  int64_t blocks() const { return (rows + block - 1) / block; }
};

Result<Weights> read_weights(OpContext& n) {
  Weights w;
  TRY(w.rows, n.attr_int("K"));
  TRY(w.columns, n.attr_int("N"));
  TRY(w.block, n.attr_int("block_size"));
  TRY(w.bits, read_bits(n));
  for (const int64_t size : {w.rows, w.columns, w.block}) {
    if (size < 1 || size > kMaxDim) return invalid_model("expected sizes of 1 or more, got ", size);
  }
  if (w.block % 8 != 0) return invalid_model("attribute 'block_size': got ", w.block);
  TRY(const int64_t packing, n.attr_int("weight_prepacked", 0));
  if (packing != 0) return unsupported("weights packed for a kernel");
  n.has_attr("accuracy_level");  // the least that is wanted of sums
  return w;
}

/// Zero points [N, blocks], packed like the weights or not at all.
Result<ValueId> zero_points(OpContext& n, ValueId zero, const Weights& w) {
  if (!zero.valid()) return zero;
  const Expr columns = n.integer(w.columns), blocks = n.integer(w.blocks());
  if (n.dtype(zero) != DType::u8) return n.reshape(zero, {columns, blocks});
  const int64_t bytes = (w.blocks() * w.bits + 7) / 8;
  TRY(const ValueId packed, n.reshape(zero, {columns, n.integer(bytes)}));
  TRY(const ValueId apart, unpack_bits(n, packed, w.bits));
  return n.slice_axis(apart, 1, n.integer(0), blocks);
}

/// Scales or zero points [N, blocks] as [N, K]: those of the row's block, or of the group that an
/// input names for it.
Result<ValueId> for_each_row(OpContext& n, ValueId x, ValueId group, const Weights& w) {
  if (!x.valid()) return x;
  if (!group.valid()) return repeat_blocks(n, x, 1, w.block, n.integer(w.rows));
  TRY(const ValueId wide, n.cast(group, DType::i64));
  TRY(const ValueId list, n.slice_axis(wide, 0, n.integer(0), n.integer(w.rows)));
  return n.gather(x, list, 1);
}

/// Inputs: a [.., K], packed weights [N, blocks, bytes], scales, zero points, groups, bias.
Result<ValueIds> matmul_n_bits(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const Weights w, read_weights(n));
  if (n.dtype(n.in(1)) != DType::u8) return invalid_model("expected weights in bytes");
  // onnxruntime's kernels leave the zero points out then.
  if (n.has(3) && n.has(4)) return unsupported("zero points beside an input g_idx");
  for (const Expr dim : n.dims(n.in(1))) {
    if (dim.is_int(0)) return unsupported("weights that are left out");
  }
  const Expr columns = n.integer(w.columns), blocks = n.integer(w.blocks());
  TRY(const ValueId packed,
      n.reshape(n.in(1), {columns, n.integer(w.blocks() * w.block * w.bits / 8)}));
  TRY(const ValueId padded, unpack_bits(n, packed, w.bits));
  TRY(const ValueId q, n.slice_axis(padded, 1, n.integer(0), n.integer(w.rows)));
  TRY(ValueId scale, n.reshape(n.in(2), {columns, blocks}));
  TRY(ValueId zero, zero_points(n, n.in(3), w));
  TRY(scale, for_each_row(n, scale, n.in(4), w));
  TRY(zero, for_each_row(n, zero, {}, w));
  TRY(const ValueId weights, dequantized(n, q, scale, zero, middle(w.bits)));
  return times_weights(n, n.in(0), weights, n.in(5));
}

// -- 4-bit floats: numbers of a table, with the largest magnitude of each block --

/// The fourth bit is a sign. Source: bitsandbytes.
constexpr std::array kFloats = {0.0, 1.0 / 192, 2.0 / 3, 1.0, 1.0 / 3, 0.5, 1.0 / 6, 0.25};
/// Quantiles of a normal distribution. Source: Dettmers et al., arXiv 2305.14314, appendix E.
constexpr std::array kQuantiles = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1.0};

/// The 16 numbers as f32 [16].
Result<ValueId> table_of(OpContext& n, bool quantiles) {
  ValueIds entries;
  for (size_t k = 0; k < kQuantiles.size(); ++k) {
    const double real = k < kFloats.size() ? kFloats[k] : -kFloats[k - kFloats.size()];
    TRY(const ValueId entry, n.fill(DType::f32, quantiles ? kQuantiles[k] : real, {n.integer(1)}));
    entries.push_back(entry);
  }
  return n.concat(std::move(entries), 0);
}

/// Inputs: a [.., K], weights [N, K] as one list with the first of two in the high bits, and the
/// magnitudes of its blocks.
Result<ValueIds> matmul_bnb4(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const int64_t rows, n.attr_int("K"));
  TRY(const int64_t columns, n.attr_int("N"));
  TRY(const int64_t block, n.attr_int("block_size"));
  TRY(const int64_t kind, n.attr_int("quant_type"));
  TRY(const bool turns, n.attr_flag("transB", true));
  n.has_attr("training_mode");
  for (const int64_t size : {rows, columns, block}) {
    if (size < 1 || size > kMaxDim) return invalid_model("expected sizes of 1 or more, got ", size);
  }
  if (kind != 0 && kind != 1) return unsupported("a table of numbers of kind ", kind);
  if (!turns) return unsupported("products of training");
  if (n.dtype(n.in(1)) != DType::u8) return invalid_model("expected weights in bytes");
  const Expr count = n.integer(columns) * rows, bytes = ceildiv(count, 2);
  TRY(const ValueId packed, n.reshape(n.in(1), {bytes, n.integer(1)}));
  TRY(const ValueId low_first, unpack_bits(n, packed, 4));
  TRY(const ValueId pairs, n.slice_axis(low_first, 1, n.integer(1), n.integer(2), -1));
  TRY(const ValueId list, n.reshape(pairs, {bytes * 2}));
  TRY(const ValueId cut, n.slice_axis(list, 0, n.integer(0), count));
  TRY(const ValueId q, n.cast(cut, DType::i64));
  TRY(const ValueId table, table_of(n, kind == 1));
  TRY(const ValueId unit, n.gather(table, q, 0));
  TRY(const ValueId blocks, n.reshape(n.in(2), {ceildiv(count, block)}));
  TRY(const ValueId magnitude, repeat_blocks(n, blocks, 0, block, count));
  TRY(const ValueId flat, dequantized(n, unit, magnitude, {}, 0));
  TRY(const ValueId weights, n.reshape(flat, {n.integer(columns), n.integer(rows)}));
  return times_weights(n, n.in(0), weights, {});
}

/// The axes of GatherBlockQuantized before and after the gather, which puts dims of indices for
/// one.
struct GatherForm {
  int64_t gathered;
  int64_t quantized;
  int64_t block;
};

/// y with zeros where the index is out of range.
Result<ValueId> only_inside(OpContext& n, ValueId y, ValueId indices, Expr dim, int64_t axis) {
  Exprs dims = n.dims(indices);
  dims.resize(static_cast<size_t>(n.rank(y) - axis), n.integer(1));
  TRY(const ValueId spread, n.reshape(indices, std::move(dims)));
  return n.map(n.dtype(y), {y, spread}, [&](std::span<const Expr> p) {
    const Expr inside = logical_and(less_equal(-dim, p[1]), less(p[1], dim));
    return select(inside, p[0], n.number(p[0].dtype(), 0));
  });
}

/// Rows are taken first, and what was taken is made real: data [..] of bytes that are packed along
/// the last dim, or of 4 bits as they are.
Result<ValueIds> gather_blocks(OpContext& n) {
  const ValueId data = n.in(0);
  const bool packed = n.dtype(data) == DType::u8;
  if (!packed && !is_int(n.dtype(data))) return unsupported("data of ", n.dtype(data));
  const int64_t rank = n.rank(data);
  GatherForm form;
  TRY(form.gathered, n.attr_axis("gather_axis", rank, 0));
  TRY(form.quantized, n.attr_axis("quantize_axis", rank, 1));
  TRY(form.block, n.attr_int("block_size", 128));
  TRY(const int64_t bits, read_bits(n));
  if (form.block < 1 || form.block > kMaxDim)
    return invalid_model("attribute 'block_size': got ", form.block);
  if (form.gathered == form.quantized) return unsupported("a gather along the axis of the blocks");
  if (n.rank(n.in(2)) != rank) return invalid_model("expected scales of rank ", rank);
  const Expr dim = n.dim(data, form.gathered);
  TRY(const ValueId indices, n.cast(n.in(1), DType::i64));
  TRY(ValueId q, n.gather(data, indices, form.gathered));
  TRY(ValueId scale, n.gather(n.in(2), indices, form.gathered));
  ValueId zero = n.in(3);
  if (zero.valid()) {
    TRY(zero, n.gather(zero, indices, form.gathered));
  }
  if (packed) {
    TRY(q, unpack_bits(n, q, bits));
    if (zero.valid()) {
      TRY(zero, unpack_bits(n, zero, bits));
    }
  }
  const int64_t grown = n.rank(indices) - 1;
  const int64_t axis = form.quantized > form.gathered ? form.quantized + grown : form.quantized;
  const Expr blocks = n.dim(scale, axis), length = n.dim(q, axis);
  if (zero.valid()) {
    TRY(zero, n.slice_axis(zero, axis, n.integer(0), blocks));
    TRY(zero, repeat_blocks(n, zero, axis, form.block, length));
  }
  TRY(scale, repeat_blocks(n, scale, axis, form.block, length));
  const DType held = n.dtype(n.in(2));
  TRY(const ValueId real, dequantized(n, q, scale, zero, packed ? middle(bits) : 0));
  TRY(const ValueId y, n.cast(real, held));
  return only(only_inside(n, y, indices, dim, form.gathered));
}

constexpr OpRow kRows[] = {
    {"com.microsoft.GatherBlockQuantized", 1, 3, 4, gather_blocks},
    {"com.microsoft.MatMulBnb4", 1, 3, 3, matmul_bnb4},
    {"com.microsoft.MatMulNBits", 1, 3, 6, matmul_n_bits},
};

}  // namespace

std::span<const OpRow> microsoft_block_rows() {
  return kRows;
}

}  // namespace ingot::onnx
