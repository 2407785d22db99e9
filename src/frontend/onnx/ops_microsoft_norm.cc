// frontend/onnx/ops_microsoft_norm.cc: onnxruntime's normalisation with what is added in front.
#include "frontend/onnx/activation.h"
#include "frontend/onnx/norm.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/spatial.h"

namespace ingot::onnx {
namespace {

Result<ValueId> sum_of(OpContext& n, ValueIds xs) {
  std::erase_if(xs, [](ValueId x) { return !x.valid(); });
  const DType held = n.dtype(xs[0]);
  return n.map(held, std::move(xs), [](std::span<const Expr> p) {
    Expr sum = p[0];
    for (const Expr e : p.subspan(1)) sum = sum + e;
    return sum;
  });
}

/// The norm of input + skip + bias; the sum is the fourth output. What training wants of it is not
/// what the kernels give, so it is not given.
Result<ValueIds> skip_norm(OpContext& n, ValueId bias, const Norm& norm,
                           Result<ValueIds> (*normalized)(OpContext&, ValueId, const Norm&)) {
  if (n.wants(1) || n.wants(2)) return unsupported("outputs of training");
  const Exprs dims = n.dims(n.in(0));
  TRY(const ValueId sum, sum_of(n, {n.in(0), n.in(1), bias}));
  if (n.dims(sum) != dims) return invalid_model("expected a skip that is repeated over the input");
  TRY(const ValueIds ys, normalized(n, sum, norm));
  return ValueIds{ys[0], ys[0], ys[0], sum};
}

Result<ValueIds> skip_layer_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 5));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-12));
  return skip_norm(n, n.in(4), {.scale = n.in(2), .bias = n.in(3), .epsilon = epsilon},
                   layer_normalized);
}

Result<ValueIds> skip_rms_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 4));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-12));
  return skip_norm(n, n.in(3), {.scale = n.in(2), .epsilon = epsilon}, rms_normalized);
}

/// The norm of the sum of up to three tables' rows, for ids [B, S], how many ones each row of the
/// mask has, and the sum.
struct Tables {
  ValueId word, position, segment;
  ValueId mask, positions;
  Norm norm;
};

Result<ValueIds> embedded(OpContext& n, const Tables& t) {
  TRY(const ValueId ids, n.cast(n.in(0), DType::i64));
  if (n.rank(ids) != 2) return invalid_model("expected ids [B, S], got rank ", n.rank(ids));
  TRY(const ValueId words, n.gather(t.word, ids, 0));
  ValueId places;
  if (t.positions.valid()) {
    TRY(const ValueId at, n.cast(t.positions, DType::i64));
    TRY(places, n.gather(t.position, at, 0));
  } else {
    TRY(places, n.slice_axis(t.position, 0, n.integer(0), n.dim(ids, 1)));
  }
  ValueId segments;
  if (t.segment.valid() && n.has(1)) {
    TRY(const ValueId at, n.cast(n.in(1), DType::i64));
    TRY(segments, n.gather(t.segment, at, 0));
  }
  TRY(const ValueId sum, sum_of(n, {words, places, segments}));
  TRY(const ValueIds ys, layer_normalized(n, sum, t.norm));
  ValueId counts;
  if (t.mask.valid()) {
    TRY(const ValueId mask, n.cast(t.mask, DType::i64));
    TRY(const ValueId ones, n.map(DType::i32, {mask}, [&](std::span<const Expr> p) {
      return ingot::cast(equal(p[0], n.integer(1)), DType::i32);
    }));
    if (n.rank(ones) != 2) return invalid_model("expected a mask [B, S], got rank ", n.rank(ones));
    TRY(counts, n.reduce(ReduceKind::sum, ones, {1}, false));
  } else {
    TRY(counts, n.fill(DType::i32, 0, {n.dim(ids, 0)}));
  }
  return ValueIds{ys[0], counts, sum};
}

Result<ValueIds> embed_layer_norm(OpContext& n) {
  TRY_STATUS(n.expect_inputs({2, 3, 5, 6}));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-12));
  n.has_attr("mask_index_type");
  return embedded(n, {.word = n.in(2),
                      .position = n.in(3),
                      .segment = n.in(4),
                      .mask = n.in(7),
                      .positions = n.in(8),
                      .norm = {.scale = n.in(5), .bias = n.in(6), .epsilon = epsilon}});
}

/// The same of tables of 8 bits, each with a scale and a zero point.
Result<ValueIds> quantized_embed_layer_norm(OpContext& n) {
  TRY_STATUS(n.expect_inputs({2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17}));
  if (n.has(4)) TRY_STATUS(n.expect_inputs({10, 15}));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-12));
  ValueIds reals;
  for (const size_t k : {2, 3, 4, 5, 6}) {
    if (!n.has(k)) {
      reals.emplace_back();
      continue;
    }
    TRY(const ValueIds real,
        build_as(n, "DequantizeLinear", 10, {n.in(k), n.in(k + 6), n.in(k + 11)}));
    reals.push_back(real[0]);
  }
  return embedded(n, {.word = reals[0],
                      .position = reals[1],
                      .segment = reals[2],
                      .mask = n.in(7),
                      .positions = {},
                      .norm = {.scale = reals[3], .bias = reals[4], .epsilon = epsilon}});
}

/// x [N, C, ..] normalised in groups of channels, then perhaps x sigmoid(x).
Result<ValueId> grouped_norm(OpContext& n, ValueId x) {
  TRY(const double epsilon, n.attr_real("epsilon", 1e-5));
  TRY(const int64_t groups, n.attr_int("groups"));
  TRY(const bool activated, n.attr_flag("activation", false));
  const auto channels = n.dim(x, 1).as_int();
  if (groups < 1 || (channels && *channels % groups != 0)) {
    return invalid_model("attribute 'groups': ", groups, " does not divide the channels");
  }
  const Exprs dims = n.dims(x);
  Exprs apart = dims;
  apart[1] = floordiv(dims[1], groups);
  apart.insert(apart.begin() + 1, n.integer(groups));
  TRY(const ValueId grouped, n.reshape(x, std::move(apart)));
  std::vector<int64_t> axes;
  for (int64_t a = 2; a < n.rank(grouped); ++a) axes.push_back(a);
  TRY(const Moments m, moments(n, grouped, axes));
  TRY(const ValueId unit, scaled(n, m, epsilon));
  TRY(const ValueId whole, n.reshape(unit, dims));
  TRY(const ValueId gamma, along_channels(n, n.in(1), x));
  TRY(const ValueId beta, along_channels(n, n.in(2), x));
  return n.map(n.dtype(x), {whole, gamma, beta}, [&](std::span<const Expr> p) {
    const Expr y = p[0] * cast(p[1], p[0].dtype()) + cast(p[2], p[0].dtype());
    return activated ? swish(y, 1) : y;
  });
}

/// Channels last or first; `x` is the first input, perhaps with others added.
Result<ValueId> group_norm_of(OpContext& n, ValueId x) {
  if (n.rank(x) < 3) return invalid_model("expected an input of rank 3 or more");
  TRY(const bool last, n.attr_flag("channels_last", true));
  if (!last) return grouped_norm(n, x);
  TRY(const ValueId first, channels_first(n, x));
  TRY(const ValueId y, grouped_norm(n, first));
  return channels_last(n, y);
}

Result<ValueIds> group_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  return only(group_norm_of(n, n.in(0)));
}

Result<ValueIds> skip_group_norm(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 5));
  TRY(const bool last, n.attr_flag("channels_last", true));
  const Exprs dims = n.dims(n.in(0));
  if (dims.size() < 3) return invalid_model("expected an input of rank 3 or more");
  ValueId skip = n.in(3);
  if (n.rank(skip) == 2) {  // a number for each channel of each picture
    Exprs apart(dims.size(), n.integer(1));
    apart[0] = n.dim(skip, 0);
    apart[last ? dims.size() - 1 : 1] = n.dim(skip, 1);
    TRY(skip, n.reshape(skip, std::move(apart)));
  }
  ValueId bias = n.in(4);
  if (bias.valid() && !last) {
    TRY(bias, along_channels(n, bias, n.in(0)));
  }
  TRY(const ValueId sum, sum_of(n, {n.in(0), skip, bias}));
  if (n.dims(sum) != dims) return invalid_model("expected a skip that is repeated over the input");
  TRY(const ValueId y, group_norm_of(n, sum));
  return ValueIds{y, sum};
}

constexpr OpRow kRows[] = {
    {"com.microsoft.EmbedLayerNormalization", 1, 1, 9, embed_layer_norm},
    {"com.microsoft.GroupNorm", 1, 3, 3, group_norm},
    {"com.microsoft.QEmbedLayerNormalization", 1, 1, 18, quantized_embed_layer_norm},
    {"com.microsoft.SkipGroupNorm", 1, 4, 5, skip_group_norm},
    {"com.microsoft.SkipLayerNormalization", 1, 3, 5, skip_layer_norm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 3, 4, skip_rms_norm},
};

}  // namespace

std::span<const OpRow> microsoft_norm_rows() {
  return kRows;
}

}  // namespace ingot::onnx
