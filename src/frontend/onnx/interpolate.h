// frontend/onnx/interpolate.h: interpolation of a tensor along one axis after the other.
#pragma once

#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx::interpolation {

enum class Mode : uint8_t { nearest, linear, cubic };
enum class Nearest : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
enum class Transform : uint8_t {
  half_pixel,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  half_pixel_symmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};

struct Options {
  Mode mode = Mode::nearest;
  Nearest nearest = Nearest::round_prefer_floor;
  Transform transform = Transform::half_pixel;
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false;
  bool antialias = false;
  bool ceil_when_shrinking = false;  // Resize-10
  ValueId roi;                       // [2 * number of axes]
};

/// A positive number as a quotient of i64 expressions.
struct Ratio {
  Expr num;
  Expr den;
};

/// One axis that changes. A region of interest, or a scale that is computed, leaves `scale` and
/// `width` to what follows from the sizes.
struct Axis {
  int64_t axis = 0;
  Expr in;
  Expr out;
  Ratio scale;
  Ratio width;        // scale * in; `out` is this without its fraction
  int64_t place = 0;  // among the axes that the roi speaks of
  ValueId measured;   // the scale as a number [1], where it is known only at run time
};

/// x with all those axes interpolated, rounded to the type of x at the end.
Result<ValueId> interpolate(OpContext& n, ValueId x, const std::vector<Axis>& axes,
                            const Options& o);

}  // namespace ingot::onnx::interpolation
