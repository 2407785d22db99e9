// frontend/onnx/ops_movement.cc: reshaping, transposing, slicing, joining, padding.
#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

Result<ValueIds> identity(OpContext& n) {
  return ValueIds{n.in(0)};
}

/// Removes the dims that both lists have, so that -1 is found by division of what is left:
/// [batch, 16, 4] to [batch, -1] leaves 16 * 4 whatever batch is.
Expr missing_dim(OpContext& n, Exprs from, Exprs known) {
  for (size_t k = 0; k < known.size();) {
    const auto twin = std::ranges::find(from, known[k]);
    if (twin == from.end()) {
      ++k;
      continue;
    }
    from.erase(twin);
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(k));
  }
  const Expr total = n.count(from, 0, static_cast<int64_t>(from.size()));
  const Expr rest = n.count(known, 0, static_cast<int64_t>(known.size()));
  return floordiv(total, rest);
}

/// Reshape to what the list says: 0 keeps the dim at its place, -1 is whatever is left.
Result<ValueIds> reshape_to(OpContext& n, const Exprs& wanted, bool zero_is_zero) {
  const ValueId x = n.in(0);
  Exprs dims;
  std::optional<size_t> open;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const auto value = wanted[k].as_int();
    if (value == 0 && !zero_is_zero) {
      if (static_cast<int64_t>(k) >= n.rank(x)) {
        return invalid_model("the shape copies dim ", k, " of an input of rank ", n.rank(x));
      }
      dims.push_back(n.dim(x, static_cast<int64_t>(k)));
    } else if (value == -1) {
      if (open) return invalid_model("the shape has -1 twice");
      open = k;
      dims.push_back(n.integer(1));
    } else if (value && *value < 0) {
      return invalid_model("expected dims of -1 or more in the shape, got ", *value);
    } else {
      dims.push_back(wanted[k]);
    }
  }
  if (open) {
    Exprs known = dims;
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(*open));
    const bool empty = std::ranges::any_of(known, [](Expr e) { return e.is_int(0); });
    if (empty && zero_is_zero) return invalid_model("the shape has both 0 and -1");
    dims[*open] = empty ? n.integer(0) : missing_dim(n, n.dims(x), std::move(known));
  }
  return only(n.reshape(x, std::move(dims)));
}

/// The same where a computed entry may turn out to be 0 or -1.
Result<ValueIds> reshape_at_run_time(OpContext& n, const Exprs& wanted, bool zero_is_zero) {
  const ValueId x = n.in(0);
  const Expr zero = n.integer(0), one = n.integer(1);
  Exprs dims = wanted;
  Expr rest = one;
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto axis = static_cast<int64_t>(k);
    const Expr same = axis < n.rank(x) ? n.dim(x, axis) : zero;
    if (!zero_is_zero) dims[k] = select(equal(dims[k], zero), same, dims[k]);
    rest = rest * select(less(dims[k], zero), one, dims[k]);
  }
  const Expr left = floordiv(n.count(n.dims(x), 0, n.rank(x)), rest);
  for (Expr& dim : dims) dim = select(less(dim, zero), left, dim);
  return only(n.reshape(x, std::move(dims)));
}

Result<ValueIds> reshape_attribute(OpContext& n) {
  TRY(const std::vector<int64_t> shape, n.attr_ints("shape"));
  return reshape_to(n, n.integers(shape), false);
}

Result<ValueIds> reshape(OpContext& n) {
  TRY(const bool allow_zero, n.attr_flag("allowzero", false));
  TRY(const Exprs shape, n.contents(1, "shape"));
  if (std::ranges::any_of(shape, is_computed)) return reshape_at_run_time(n, shape, allow_zero);
  return reshape_to(n, shape, allow_zero);
}

Result<ValueIds> flatten(OpContext& n) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  TRY(int64_t axis, n.attr_int("axis", 1));
  if (axis < -rank || axis > rank) {
    return invalid_model("attribute 'axis': expected an axis in [", -rank, ", ", rank, "], got ",
                         axis);
  }
  if (axis < 0) axis += rank;
  return only(n.reshape(x, {n.count(n.dims(x), 0, axis), n.count(n.dims(x), axis, rank)}));
}

Result<ValueIds> transpose(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(std::vector<int64_t> order, n.attr_ints("perm"));
  if (!n.has_attr("perm")) {
    order = Builder::all_axes(n.rank(x));
    std::ranges::reverse(order);
  }
  if (static_cast<int64_t>(order.size()) != n.rank(x)) {
    return invalid_model("attribute 'perm': expected ", n.rank(x), " axes, got ", order.size());
  }
  TRY(order, front_axes(std::move(order), n.rank(x)));
  return only(n.transpose(x, std::move(order)));
}

Result<ValueIds> squeeze(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const auto axes, n.axes(1, n.rank(x)));
  Exprs dims;
  for (int64_t a = 0; a < n.rank(x); ++a) {
    const Expr dim = n.dim(x, a);
    const bool listed = axes && std::ranges::find(*axes, a) != axes->end();
    if (axes ? !listed : !dim.is_int(1)) {
      dims.push_back(dim);
    } else if (const auto value = dim.as_int(); value && *value != 1) {
      return invalid_model("expected dim ", a, " to be 1, got ", *value);
    }
  }
  return only(n.reshape(x, std::move(dims)));
}

Result<ValueIds> unsqueeze(OpContext& n) {
  const ValueId x = n.in(0);
  std::vector<int64_t> given;
  if (n.has_attr("axes")) {
    TRY(given, n.attr_ints("axes"));
  } else {
    TRY(given, n.numbers(1, "axes"));
  }
  if (given.size() + static_cast<size_t>(n.rank(x)) > kMaxRank) {
    return invalid_model("expected a result of at most ", kMaxRank, " dims");
  }
  const int64_t rank = n.rank(x) + static_cast<int64_t>(given.size());
  TRY(std::vector<int64_t> axes, front_axes(std::move(given), rank));
  std::ranges::sort(axes);
  Exprs dims = n.dims(x);
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, n.integer(1));
  return only(n.reshape(x, std::move(dims)));
}

bool is_found_by_run(Expr size) {
  bool found = false;
  for_each(size, [&](Expr e) {
    found = found || (e.kind() == ExprKind::symbol &&
                      std::as_const(e.pool()).symbol_info(e.symbol()).data_dependent);
  });
  return found;
}

Result<ValueIds> expand(OpContext& n) {
  TRY(const Exprs shape, n.sizes(1, "shape"));
  const std::vector<Exprs> shapes = {n.dims(n.in(0)), shape};
  std::vector<std::pair<Expr, Expr>> assumed;
  TRY(Exprs dims, broadcast(shapes, &assumed));
  for (const auto& [a, b] : assumed) {
    Assumption assumption = {a, b, "Expand: the dims of the input and of the shape"};
    // A size that a run finds out may be 1 as well: the input's dim stays.
    if (is_found_by_run(b)) assumption = {(b - 1) * (b - a), n.integer(0), assumption.text};
    n.graph().assumptions().push_back(std::move(assumption));
  }
  return only(n.broadcast(n.in(0), std::move(dims)));
}

/// Each dim repeated: [d] seen as [1, d], broadcast to [r, d], seen as [r * d].
Result<ValueIds> tile_by(OpContext& n, const Exprs& repeats) {
  const ValueId x = n.in(0);
  if (static_cast<int64_t>(repeats.size()) != n.rank(x)) {
    return invalid_model("expected ", n.rank(x), " repeats, got ", repeats.size());
  }
  Exprs split, wide, joined;
  for (size_t a = 0; a < repeats.size(); ++a) {
    if (const auto r = repeats[a].as_int(); r && *r < 0) {
      return invalid_model("expected repeats of 0 or more, got ", *r);
    }
    const Expr dim = n.dims(x)[a];
    if (!repeats[a].is_int(1)) {
      split.push_back(n.integer(1));
      wide.push_back(repeats[a]);
    }
    split.push_back(dim);
    wide.push_back(dim);
    joined.push_back(repeats[a] * dim);
  }
  TRY(const ValueId apart, n.reshape(x, std::move(split)));
  TRY(const ValueId repeated, n.broadcast(apart, std::move(wide)));
  return only(n.reshape(repeated, std::move(joined)));
}

Result<ValueIds> tile(OpContext& n) {
  TRY(const Exprs repeats, n.sizes(1, "repeats"));
  return tile_by(n, repeats);
}

Result<ValueIds> tile_one_axis(OpContext& n) {
  TRY(const Expr tiles, n.content(1, "tiles"));
  TRY(const int64_t given, n.number_at(2, "axis"));
  TRY(const std::vector<int64_t> axis, front_axes({given}, n.rank(n.in(0))));
  Exprs repeats(static_cast<size_t>(n.rank(n.in(0))), n.integer(1));
  repeats[static_cast<size_t>(axis[0])] = tiles;
  return tile_by(n, repeats);
}

// -- slices --

/// A start or end counted from the front and clamped to [lo, hi]; `dim` is added where it is
/// negative.
Expr clamped(Expr value, Expr dim, Expr lo, Expr hi) {
  const auto known = value.as_int();
  const Range range = range_of(value);
  if (known && *known >= kMaxDim) return hi;
  if (known && *known <= -kMaxDim) return lo;
  Expr front = value;
  if (range.lo < 0) {
    const Expr moved = value + dim;
    front = range.hi < 0 ? moved : select(less(value, value.pool().integer(0)), moved, value);
  }
  return min(max(front, lo), hi);
}

struct SliceSpec {
  Exprs starts;
  Exprs ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
};

Result<ValueIds> slice_by(OpContext& n, const SliceSpec& s) {
  ValueId y = n.in(0);
  const size_t count = s.starts.size();
  if (s.ends.size() != count || s.axes.size() != count || s.steps.size() != count) {
    return invalid_model("expected as many starts, ends, axes and steps, got ", count, ", ",
                         s.ends.size(), ", ", s.axes.size(), " and ", s.steps.size());
  }
  TRY(const std::vector<int64_t> axes, front_axes(s.axes, n.rank(y)));
  for (size_t k = 0; k < count; ++k) {
    const Expr dim = n.dim(y, axes[k]);
    const Expr zero = n.integer(0);
    const int64_t step = s.steps[k];
    if (step == 0) return invalid_model("expected steps other than 0");
    if (step < -kMaxDim || step > kMaxDim) return unsupported("a step of ", step);
    Expr start, size;
    if (step > 0) {
      start = clamped(s.starts[k], dim, zero, dim);
      const Expr end = clamped(s.ends[k], dim, zero, dim);
      size = max(ceildiv(end - start, step), zero);
    } else {
      start = clamped(s.starts[k], dim, zero, dim - 1);
      const Expr end = clamped(s.ends[k], dim, n.integer(-1), dim - 1);
      size = max(ceildiv(start - end, -step), zero);
    }
    if (start.is_int(0) && size == dim && step == 1) continue;
    TRY(y, n.slice_axis(y, axes[k], start, size, step));
  }
  return ValueIds{y};
}

Result<ValueIds> slice_attributes(OpContext& n) {
  TRY(const std::vector<int64_t> starts, n.attr_ints("starts"));
  TRY(const std::vector<int64_t> ends, n.attr_ints("ends"));
  SliceSpec s = {n.integers(starts), n.integers(ends), {}, {}};
  TRY(s.axes, n.attr_ints("axes"));
  if (!n.has_attr("axes")) s.axes = Builder::all_axes(static_cast<int64_t>(starts.size()));
  s.steps.assign(starts.size(), 1);
  return slice_by(n, s);
}

Result<ValueIds> slice(OpContext& n) {
  SliceSpec s;
  TRY(s.starts, n.contents(1, "starts"));
  TRY(s.ends, n.contents(2, "ends"));
  if (n.has(3)) {
    TRY(s.axes, n.numbers(3, "axes"));
  } else {
    s.axes = Builder::all_axes(static_cast<int64_t>(s.starts.size()));
  }
  if (n.has(4)) {
    TRY(s.steps, n.numbers(4, "steps"));
  } else {
    s.steps.assign(s.starts.size(), 1);
  }
  return slice_by(n, s);
}

/// Sizes as attribute or input; none: equal parts, the last one smaller if num_outputs says so.
Result<ValueIds> split(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(x), 0));
  const int64_t parts = static_cast<int64_t>(n.output_count());
  if (parts == 0) return invalid_model("expected outputs");
  const Expr dim = n.dim(x, axis);
  Exprs sizes;
  if (n.has_attr("split")) {
    TRY(const std::vector<int64_t> given, n.attr_ints("split"));
    sizes = n.integers(given);
  } else if (n.has(1)) {
    TRY(sizes, n.sizes(1, "split"));
  } else {
    TRY(const int64_t wanted, n.attr_int("num_outputs", parts));
    if (wanted != parts) {
      return invalid_model("attribute 'num_outputs': expected ", parts, ", got ", wanted);
    }
    const Expr size = ceildiv(dim, parts);
    sizes.assign(static_cast<size_t>(parts - 1), size);
    sizes.push_back(dim - size * (parts - 1));
  }
  if (static_cast<int64_t>(sizes.size()) != parts) {
    return invalid_model("expected ", parts, " sizes, one per output, got ", sizes.size());
  }
  Expr sum = n.integer(0);
  for (const Expr size : sizes) sum = sum + size;
  if (sum.as_int() && dim.as_int() && sum != dim) {
    return invalid_model("the sizes sum up to ", *sum.as_int(), ", but dim ", axis, " is ",
                         *dim.as_int());
  }
  // Sizes are 0 or more, so that then every part lies within x.
  if (!provably_equal(sum, dim)) {
    n.graph().assumptions().push_back({sum, dim, "Split: the sizes sum up to the dim"});
  }
  ValueIds ys;
  Expr start = n.integer(0);
  for (const Expr size : sizes) {
    TRY(const ValueId y, n.slice_axis(x, axis, start, size));
    ys.push_back(y);
    start = start + size;
  }
  return ys;
}

template <bool kDefaultAxis>
Result<ValueIds> concat(OpContext& n) {
  const ValueIds xs = n.all_inputs();
  if (xs.size() != n.input_count()) return invalid_model("an input is missing");
  TRY(const int64_t axis,
      n.attr_axis("axis", n.rank(xs[0]), kDefaultAxis ? std::optional<int64_t>(1) : std::nullopt));
  return only(n.concat(xs, axis));
}

// -- padding --

/// Borders [begin.., end..] of the listed axes; negative ones cut off.
Result<ValueIds> pad_by(OpContext& n, const Exprs& pads, const std::vector<int64_t>& axes,
                        std::string mode, ValueId value) {
  ValueId x = n.in(0);
  if (pads.size() != 2 * axes.size()) {
    return invalid_model("expected ", 2 * axes.size(), " pads for ", axes.size(), " axes, got ",
                         pads.size());
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return invalid_model("attribute 'mode': unknown mode '", to_comment(mode), "'");
  }
  TRY(const std::vector<int64_t> front, front_axes(axes, n.rank(x)));
  Exprs begin(static_cast<size_t>(n.rank(x)), n.integer(0));
  Exprs end = begin;
  for (size_t k = 0; k < front.size(); ++k) {
    const size_t a = static_cast<size_t>(front[k]);
    begin[a] = pads[k];
    end[a] = pads[k + front.size()];
    const Expr zero = n.integer(0);
    if (range_of(begin[a]).lo >= 0 && range_of(end[a]).lo >= 0) continue;
    const Expr cut = max(zero - begin[a], zero);
    const Expr size = n.dims(x)[a] - cut - max(zero - end[a], zero);
    if (const auto known = size.as_int(); known && *known < 0) {
      return invalid_model("the pads of axis ", front[k], " cut off more than there is");
    }
    TRY(x, n.slice_axis(x, front[k], cut, size));
    begin[a] = max(begin[a], zero);
    end[a] = max(end[a], zero);
  }
  return only(n.pad(x, std::move(begin), std::move(end), std::move(mode), value));
}

Result<ValueIds> pad_attributes(OpContext& n) {
  const std::string_view name = n.has_attr("paddings") ? "paddings" : "pads";
  TRY(const std::vector<int64_t> pads, n.attr_ints(name));
  TRY(std::string mode, n.attr_text("mode", "constant"));
  TRY(const double value, n.attr_real("value", 0.0));
  ValueId fill;
  if (mode == "constant") {
    TRY(fill, n.scalar(n.dtype(n.in(0)), value));
  }
  return pad_by(n, n.integers(pads), Builder::all_axes(n.rank(n.in(0))), std::move(mode), fill);
}

Result<ValueIds> pad(OpContext& n) {
  TRY(const Exprs pads, n.contents(1, "pads"));
  TRY(std::string mode, n.attr_text("mode", "constant"));
  std::vector<int64_t> axes = Builder::all_axes(n.rank(n.in(0)));
  if (n.has(3)) {
    TRY(axes, n.numbers(3, "axes"));
  }
  ValueId value;
  if (mode == "constant" && n.has(2)) {
    TRY(value, n.reshape(n.in(2), {}));
  }
  return pad_by(n, pads, axes, std::move(mode), value);
}

// -- blocks of depth --

/// [N, C, H, W] with channels as [block, block, C'] (DCR) or [C', block, block] (CRD).
Result<ValueIds> depth_to_space(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t block, n.attr_int("blocksize"));
  TRY(const std::string mode, n.attr_text("mode", "DCR"));
  if (n.rank(x) != 4 || block <= 0 || block > kMaxDim) {
    return invalid_model("expected 4 dims and a positive blocksize, got ", n.rank(x), " and ",
                         block);
  }
  const Exprs d = n.dims(x);
  const Expr b = n.integer(block);
  const Expr depth = floordiv(floordiv(d[1], block), block);
  const bool dcr = mode == "DCR";
  TRY(const ValueId apart, n.reshape(x, dcr ? Exprs{d[0], b, b, depth, d[2], d[3]}
                                            : Exprs{d[0], depth, b, b, d[2], d[3]}));
  TRY(const ValueId turned, n.transpose(apart, dcr ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                                                   : std::vector<int64_t>{0, 1, 4, 2, 5, 3}));
  return only(n.reshape(turned, {d[0], depth, d[2] * block, d[3] * block}));
}

Result<ValueIds> space_to_depth(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t block, n.attr_int("blocksize"));
  TRY(const std::string mode, n.attr_text("mode", "DCR"));
  if (n.rank(x) != 4 || block <= 0 || block > kMaxDim) {
    return invalid_model("expected 4 dims and a positive blocksize, got ", n.rank(x), " and ",
                         block);
  }
  const Exprs d = n.dims(x);
  const Expr b = n.integer(block);
  const Expr h = floordiv(d[2], block);
  const Expr w = floordiv(d[3], block);
  TRY(const ValueId apart, n.reshape(x, {d[0], d[1], h, b, w, b}));
  TRY(const ValueId turned,
      n.transpose(apart, mode == "DCR" ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                       : std::vector<int64_t>{0, 1, 3, 5, 2, 4}));
  return only(n.reshape(turned, {d[0], d[1] * block * block, h, w}));
}

/// Cropped or padded with zeros on both sides, to the wanted sizes. Source: ONNX CenterCropPad-18.
Result<ValueIds> center_crop_pad(OpContext& n) {
  ValueId y = n.in(0);
  const int64_t rank = n.rank(y);
  std::vector<int64_t> axes = Builder::all_axes(rank);
  if (n.has_attr("axes")) {
    TRY(axes, n.attr_ints("axes"));
    TRY(axes, front_axes(std::move(axes), rank));
  }
  TRY(const Exprs wanted, n.contents(1, "shape"));
  if (wanted.size() != axes.size()) {
    return invalid_model("input 'shape': expected ", axes.size(), " numbers, got ", wanted.size());
  }
  const Expr zero = n.integer(0);
  Exprs begin(static_cast<size_t>(rank), zero), end = begin;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Expr held = n.dim(y, axes[k]);
    const Expr kept = min(held, wanted[k]);
    const Expr missing = max(wanted[k] - held, zero);
    TRY(y, n.slice_axis(y, axes[k], floordiv(held - kept, 2), kept));
    const auto at = static_cast<size_t>(axes[k]);
    begin[at] = floordiv(missing, 2);
    end[at] = missing - begin[at];
  }
  TRY(y, n.pad(y, std::move(begin), std::move(end), "constant", ValueId()));
  Exprs dims = n.dims(y);
  for (size_t k = 0; k < axes.size(); ++k) dims[static_cast<size_t>(axes[k])] = wanted[k];
  return only(n.reshape(y, std::move(dims)));
}

constexpr OpRow kRows[] = {
    {"CenterCropPad", 18, 2, 2, center_crop_pad},
    {"Concat", 1, 1, kVariadic, concat<true>},
    {"Concat", 4, 1, kVariadic, concat<false>},
    {"DepthToSpace", 1, 1, 1, depth_to_space},
    {"Expand", 8, 2, 2, expand},
    {"Flatten", 1, 1, 1, flatten},
    {"Identity", 1, 1, 1, identity, true},
    {"Pad", 1, 1, 1, pad_attributes},
    {"Pad", 11, 2, 4, pad},
    {"Reshape", 1, 1, 1, reshape_attribute},
    {"Reshape", 5, 2, 2, reshape},
    {"Slice", 1, 1, 1, slice_attributes},
    {"Slice", 10, 3, 5, slice},
    {"SpaceToDepth", 1, 1, 1, space_to_depth},
    {"Split", 1, 1, 2, split},
    {"Squeeze", 1, 1, 2, squeeze},
    {"Tile", 1, 3, 3, tile_one_axis},
    {"Tile", 6, 2, 2, tile},
    {"Transpose", 1, 1, 1, transpose},
    {"Unsqueeze", 1, 1, 2, unsqueeze},
};

}  // namespace

std::span<const OpRow> movement_rows() {
  return kRows;
}

}  // namespace ingot::onnx
