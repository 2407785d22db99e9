// frontend/onnx/ops_deform.cc: convolution whose taps are moved by offsets, as a product with what
// is read there.
#include <functional>

#include "frontend/onnx/ops.h"
#include "frontend/onnx/spatial.h"
#include "frontend/onnx/taps.h"

namespace ingot::onnx {
namespace {

/// Sizes of a deformable convolution: x [N, C, spatial..], w [M, C / groups, kernel..], offsets
/// [N, parts * kernel * spatial dims, out..].
struct Deform {
  Spatial window;
  int64_t groups = 1;
  int64_t parts = 1;  // of the channels, with offsets of their own
  int64_t taps = 1;   // elements of the kernel
  Expr batch, channels, filters, group_channels;
  Exprs sizes, out;

  Expr pixels(const Builder& b) const { return b.count(out, 0, static_cast<int64_t>(out.size())); }
};

Result<Deform> read_deform(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 5));
  const ValueId x = n.in(0), w = n.in(1), offset = n.in(2);
  const int64_t rank = n.rank(x);
  if (rank < 3 || n.rank(w) != rank || n.rank(offset) != rank) {
    return invalid_model("expected X, W and offsets of one rank, 3 or more, got ", rank, ", ",
                         n.rank(w), " and ", n.rank(offset));
  }
  n.has_attr("kernel_shape");  // which the weights tell
  std::vector<int64_t> kernel;
  Deform d;
  for (int64_t a = 2; a < rank; ++a) {
    const auto size = n.dim(w, a).as_int();
    if (!size) return unsupported("a kernel of unknown size");
    kernel.push_back(*size);
    d.taps *= *size;
  }
  TRY(d.window, read_spatial(n, x, std::move(kernel)));
  TRY(d.groups, n.attr_int("group", 1));
  TRY(d.parts, n.attr_int("offset_group", 1));
  const auto channels = n.dim(x, 1).as_int(), filters = n.dim(w, 0).as_int();
  if (!channels || !filters) return unsupported("an unknown number of channels");
  if (d.groups < 1 || d.parts < 1 || *channels % d.groups != 0 || *channels % d.parts != 0 ||
      *filters % d.groups != 0) {
    return invalid_model("expected groups that divide ", *channels, " channels and ", *filters,
                         " filters, got ", d.groups, ", of offsets ", d.parts);
  }
  const int64_t places = d.parts * d.taps;
  if (n.dim(offset, 1).as_int().value_or(places * (rank - 2)) != places * (rank - 2)) {
    return invalid_model("expected offsets of ", places * (rank - 2), " channels, got ",
                         n.dim(offset, 1));
  }
  d.batch = n.dim(x, 0);
  d.channels = n.dim(x, 1);
  d.filters = n.dim(w, 0);
  d.group_channels = n.dim(w, 1);
  d.sizes.assign(n.dims(x).begin() + 2, n.dims(x).end());
  d.out.assign(n.dims(offset).begin() + 2, n.dims(offset).end());
  return d;
}

/// Coordinate `axis` that each tap of each output reads at: [N * parts, taps, out..].
Result<ValueId> places_along(OpContext& n, const Deform& d, size_t axis, DType compute) {
  const int64_t spatial = static_cast<int64_t>(d.sizes.size());
  const Expr parts = d.batch * d.parts, taps = n.integer(d.taps);
  Exprs apart = {parts, taps, n.integer(spatial)};
  Exprs dims = {parts, taps};
  apart.insert(apart.end(), d.out.begin(), d.out.end());
  dims.insert(dims.end(), d.out.begin(), d.out.end());
  TRY(ValueId offset, n.reshape(n.in(2), apart));
  TRY(offset, n.slice_axis(offset, 2, n.integer(static_cast<int64_t>(axis)), n.integer(1)));
  TRY(offset, n.reshape(offset, dims));
  TRY(const ValueId tap, n.iota(dims, 1));
  TRY(const ValueId out, n.iota(dims, static_cast<int64_t>(axis) + 2));
  int64_t inner = 1;  // taps from one position along the axis to the next
  for (size_t k = axis + 1; k < d.sizes.size(); ++k) inner *= d.window.kernel[k];
  return n.map(compute, {offset, tap, out}, [&](std::span<const Expr> p) {
    const Expr at = floormod(floordiv(p[1], inner), d.window.kernel[axis]);
    const Expr fixed =
        p[2] * d.window.strides[axis] + at * d.window.dilations[axis] - d.window.pads_begin[axis];
    return ingot::cast(fixed, compute) + ingot::cast(p[0], compute);
  });
}

/// What each tap reads, [N, parts, taps, pixels, C / parts].
Result<ValueId> read_taps(OpContext& n, const Deform& d, DType compute) {
  Grid grid;
  grid.compute = compute;
  grid.sizes = d.sizes;
  for (size_t axis = 0; axis < d.sizes.size(); ++axis) {
    TRY(const ValueId place, places_along(n, d, axis, compute));
    grid.places.push_back(place);
  }
  const Expr part_channels = floordiv(d.channels, d.parts);
  Exprs pictures = {d.batch * d.parts, part_channels};
  pictures.insert(pictures.end(), d.sizes.begin(), d.sizes.end());
  TRY(const ValueId x, n.reshape(n.in(0), std::move(pictures)));
  TRY(const ValueId rows, rows_of_channels(n, x));
  TRY(const std::vector<Tap> taps, grid_taps(n, grid, false));
  TRY(ValueId read, weigh(n, rows, taps, [](Expr a, Expr b) { return a + b; }));
  const Exprs dims = {d.batch, n.integer(d.parts), n.integer(d.taps), d.pixels(n), part_channels};
  TRY(read, n.reshape(read, dims));
  if (!n.has(4)) return read;
  Exprs column = dims;
  column.back() = n.integer(1);
  TRY(ValueId mask, n.cast(n.in(4), compute));
  TRY(mask, n.reshape(mask, std::move(column)));
  return n.map2(read, mask, [](Expr e, Expr m) { return e * m; });
}

/// Sources: Dai et al., Deformable Convolutional Networks (2017); ONNX DeformConv-22.
Result<ValueIds> deform_conv(OpContext& n) {
  TRY(const Deform d, read_deform(n));
  const DType held = n.dtype(n.in(0));
  const DType compute = compute_dtype(held);
  const Expr groups = n.integer(d.groups), pixels = d.pixels(n);
  const Expr terms = d.group_channels * d.taps;
  // Channels in front of taps, as the weights have them.
  TRY(ValueId columns, read_taps(n, d, compute));
  TRY(columns, n.transpose(columns, {0, 1, 4, 2, 3}));
  TRY(columns, n.reshape(columns, {d.batch, groups, terms, pixels}));
  TRY(ValueId w, n.cast(n.in(1), compute));
  TRY(w, n.reshape(w, {n.integer(1), groups, floordiv(d.filters, d.groups), terms}));
  TRY(ValueId y, n.matmul(w, columns));
  Exprs dims = {d.batch, d.filters, pixels};
  TRY(y, n.reshape(y, dims));
  if (n.has(3)) {
    TRY(ValueId bias, n.cast(n.in(3), compute));
    TRY(bias, n.reshape(bias, {d.filters, n.integer(1)}));
    TRY(y, n.map2(y, bias, [](Expr e, Expr b) { return e + b; }));
  }
  dims.pop_back();
  dims.insert(dims.end(), d.out.begin(), d.out.end());
  TRY(y, n.reshape(y, std::move(dims)));
  return only(n.cast(y, held));
}

constexpr OpRow kRows[] = {
    {"DeformConv", 19, 3, 5, deform_conv},
};

}  // namespace

std::span<const OpRow> deform_rows() {
  return kRows;
}

}  // namespace ingot::onnx
