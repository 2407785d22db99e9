// frontend/onnx/ops_resize.cc: Resize and Upsample: what they say about sizes and coordinates.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/interpolate.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

using namespace interpolation;

/// A scale as the simplest fraction that has it as its nearest f32, or else up to 30 binary places
/// of it. People write 0.6 and mean 3/5.
std::pair<int64_t, int64_t> fraction_of(double scale) {
  const auto wanted = static_cast<float>(scale);
  int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  for (double rest = scale; q1 <= 1024;) {
    const double whole = std::floor(rest);
    if (whole > 1e6) break;
    const auto a = static_cast<int64_t>(whole);
    std::tie(p0, p1) = std::pair(p1, a * p1 + p0);
    std::tie(q0, q1) = std::pair(q1, a * q1 + q0);
    if (p1 > 0 && static_cast<float>(static_cast<double>(p1) / static_cast<double>(q1)) == wanted) {
      return {p1, q1};
    }
    if (rest == whole) break;
    rest = 1 / (rest - whole);
  }
  const int64_t q = int64_t{1} << 30;
  return {std::max<int64_t>(std::llround(scale * static_cast<double>(q)), 1), q};
}

/// The axis by a scale; `scale` is a constant, or a number that follows from dims.
Result<Axis> axis_by_scale(OpContext& n, ValueId x, int64_t axis, ValueId scales, int64_t k) {
  Axis a{.axis = axis,
         .in = n.dim(x, axis),
         .out = {},
         .scale = {},
         .width = {},
         .place = k,
         .measured = {}};
  if (const ConstantData* data = n.graph().constant(scales)) {
    const double scale = load_as_double(data->dtype, data->bytes.data(), static_cast<size_t>(k));
    if (!(scale > 0) || scale > 1e6) {
      return invalid_model("scales: expected numbers above 0, got ", scale);
    }
    const auto [num, den] = fraction_of(scale);
    a.scale = {n.integer(num), n.integer(den)};
    a.width = {a.in * num, n.integer(den)};
    a.out = floordiv(a.width.num, den);
    if (den == 1) a.width = {a.out, n.integer(1)};
    return a;
  }
  TRY(const ValueId one, n.slice_axis(scales, 0, n.integer(k), n.integer(1)));
  TRY(const ValueId size, n.map(DType::i64, {one}, [&](std::span<const Expr> p) {
    return ingot::cast(unary(ExprKind::floor, p[0] * ingot::cast(a.in, p[0].dtype())), DType::i64);
  }));
  TRY(const Exprs out, n.contents_of(size, "scales"));
  a.out = max(out[0], n.integer(0));
  a.scale = {a.out, a.in};
  a.measured = one;
  a.width = {a.out, n.integer(1)};
  return a;
}

Axis axis_by_size(OpContext& n, ValueId x, int64_t axis, Expr size, int64_t k) {
  const Expr in = n.dim(x, axis);
  return {.axis = axis,
          .in = in,
          .out = size,
          .scale = {size, in},
          .width = {size, n.integer(1)},
          .place = k,
          .measured = {}};
}

/// One scale for all axes: the smallest, or the largest, of those that the sizes ask for.
void keep_aspect_ratio(std::vector<Axis>& axes, bool larger) {
  if (axes.empty()) return;
  Ratio one = axes[0].scale;
  for (const Axis& a : axes) {
    const Expr mine = a.scale.num * one.den, best = one.num * a.scale.den;
    const Expr better = larger ? less(best, mine) : less(mine, best);
    one = {select(better, a.scale.num, one.num), select(better, a.scale.den, one.den)};
  }
  for (Axis& a : axes) {
    a.scale = one;
    a.width = {a.in * one.num, one.den};
    a.out = floordiv(a.width.num * 2 + one.den, one.den * 2);  // half rounds up
  }
}

/// An axis that stays as it is and that no region of interest crops.
bool stays(const Axis& a, const Options& o) {
  return a.in == a.out && (a.scale.num == a.scale.den || a.width.num == a.in) && !o.roi.valid();
}

Result<ValueIds> resized(OpContext& n, std::vector<Axis> axes, const Options& o) {
  for (const Axis& a : axes) {
    if (const auto in = a.in.as_int(), out = a.out.as_int(); in && out && *in == 0 && *out > 0) {
      return invalid_model("expected elements along axis ", a.axis);
    }
  }
  std::erase_if(axes, [&](const Axis& a) { return stays(a, o); });
  return only(interpolate(n, n.in(0), axes, o));
}

Result<Options> read_options(OpContext& n) {
  constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
  constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
  constexpr std::string_view kTransforms[] = {
      "half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
      "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  Options o;
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const size_t nearest, n.attr_choice("nearest_mode", kNearest, 0));
  TRY(const size_t transform, n.attr_choice("coordinate_transformation_mode", kTransforms, 0));
  o.mode = static_cast<Mode>(mode);
  o.nearest = static_cast<Nearest>(nearest);
  o.transform = static_cast<Transform>(transform);
  TRY(o.cubic_a, n.attr_real("cubic_coeff_a", -0.75));
  TRY(o.extrapolation, n.attr_real("extrapolation_value", 0.0));
  TRY(o.exclude_outside, n.attr_flag("exclude_outside", false));
  TRY(o.antialias, n.attr_flag("antialias", false));
  if (o.mode == Mode::nearest) o.antialias = false;
  return o;
}

/// The region of interest, for the mode that has one.
Status read_roi(OpContext& n, size_t axes, Options& o) {
  if (o.transform != Transform::tf_crop_and_resize) return ok();
  if (!n.has(1)) return invalid_model("the input 'roi' is missing");
  if (n.rank(n.in(1)) != 1 || !n.dim(n.in(1), 0).is_int(static_cast<int64_t>(axes) * 2) ||
      !is_float(n.dtype(n.in(1)))) {
    return invalid_model("input 'roi': expected ", axes * 2, " numbers");
  }
  o.roi = n.in(1);
  return ok();
}

bool holds_something(OpContext& n, size_t k) {
  return n.has(k) && !(n.rank(n.in(k)) == 1 && n.dim(n.in(k), 0).is_int(0));
}

Status expect_list(OpContext& n, ValueId list, size_t count, std::string_view name) {
  if (n.rank(list) == 1 && n.dim(list, 0).is_int(static_cast<int64_t>(count))) return ok();
  return invalid_model("input '", name, "': expected ", count, " numbers");
}

Result<ValueIds> resize(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(Options o, read_options(n));
  std::vector<int64_t> which = Builder::all_axes(n.rank(x));
  if (n.has_attr("axes")) {
    TRY(which, n.attr_ints("axes"));
    TRY(which, front_axes(std::move(which), n.rank(x)));
  }
  TRY_STATUS(read_roi(n, which.size(), o));
  constexpr std::string_view kPolicies[] = {"stretch", "not_larger", "not_smaller"};
  TRY(const size_t policy, n.attr_choice("keep_aspect_ratio_policy", kPolicies, 0));
  std::vector<Axis> axes;
  if (holds_something(n, 3)) {
    TRY_STATUS(expect_list(n, n.in(3), which.size(), "sizes"));
    TRY(const Exprs sizes, n.sizes(3, "sizes"));
    for (size_t k = 0; k < which.size(); ++k) {
      axes.push_back(axis_by_size(n, x, which[k], sizes[k], static_cast<int64_t>(k)));
    }
    if (policy != 0) keep_aspect_ratio(axes, policy == 2);
  } else {
    if (!holds_something(n, 2)) return invalid_model("expected the input 'scales' or 'sizes'");
    TRY_STATUS(expect_list(n, n.in(2), which.size(), "scales"));
    for (size_t k = 0; k < which.size(); ++k) {
      TRY(Axis a, axis_by_scale(n, x, which[k], n.in(2), static_cast<int64_t>(k)));
      axes.push_back(std::move(a));
    }
  }
  return resized(n, std::move(axes), o);
}

/// Upsample-9 and Resize-10: the second input holds the scales; no element of the output lies
/// between the corners of the input.
Result<ValueIds> resize_by_scales(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(Options o, read_options(n));
  o.transform = Transform::asymmetric;
  o.nearest = Nearest::floor;
  o.ceil_when_shrinking = true;  // as onnxruntime; the standard does not say
  const std::vector<int64_t> which = Builder::all_axes(n.rank(x));
  TRY_STATUS(expect_list(n, n.in(1), which.size(), "scales"));
  std::vector<Axis> axes;
  for (const int64_t k : which) {
    TRY(Axis a, axis_by_scale(n, x, k, n.in(1), k));
    axes.push_back(std::move(a));
  }
  return resized(n, std::move(axes), o);
}

/// Upsample before opset 9: scales as attributes, one by one in version 1.
Result<ValueIds> upsample(OpContext& n) {
  const ValueId x = n.in(0);
  Options o;
  o.transform = Transform::asymmetric;
  o.nearest = Nearest::floor;
  TRY(const std::string mode, n.attr_text("mode", "nearest"));
  if (mode == "linear" || mode == "bilinear") {
    o.mode = Mode::linear;
  } else if (mode != "nearest") {
    return invalid_model("attribute 'mode': expected nearest or linear");
  }
  std::vector<double> scales(static_cast<size_t>(n.rank(x)), 1.0);
  if (n.opset() >= 7) {
    TRY(scales, n.attr_reals("scales"));
  } else {
    if (scales.size() != 4) return invalid_model("expected an input of rank 4");
    TRY(scales[2], n.attr_real("height_scale"));
    TRY(scales[3], n.attr_real("width_scale"));
  }
  if (scales.size() != static_cast<size_t>(n.rank(x))) {
    return invalid_model("attribute 'scales': expected ", n.rank(x), " numbers, got ",
                         scales.size());
  }
  std::vector<Axis> axes;
  const auto rank = static_cast<int64_t>(scales.size());
  std::vector<std::byte> bytes(size_bytes(DType::f32, scales.size()));
  for (size_t k = 0; k < scales.size(); ++k) {
    store_from_double(DType::f32, bytes.data(), k, scales[k]);
  }
  const ValueId list = n.graph().add_constant(make_constant(DType::f32, {rank}, std::move(bytes)));
  for (int64_t k = 0; k < rank; ++k) {
    TRY(Axis a, axis_by_scale(n, x, k, list, k));
    axes.push_back(std::move(a));
  }
  return resized(n, std::move(axes), o);
}

constexpr OpRow kRows[] = {
    {"Resize", 10, 2, 2, resize_by_scales},
    {"Resize", 11, 1, 4, resize},
    {"Upsample", 1, 1, 1, upsample},
    {"Upsample", 9, 2, 2, resize_by_scales},
};

}  // namespace

std::span<const OpRow> resize_rows() {
  return kRows;
}

}  // namespace ingot::onnx
