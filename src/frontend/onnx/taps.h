// frontend/onnx/taps.h: pictures read between their elements: rows of channels and their weights.
//
// A picture becomes rows of channels [N * places, C]; what is read is a weighted sum of rows (Tap).
#pragma once

#include <functional>
#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// x [N, C, spatial..] as [N * spatial.., C], in the type of computation.
Result<ValueId> rows_of_channels(OpContext& n, ValueId x);

/// A row and how much of it.
struct Tap {
  ValueId row;     // i64 [places..]
  ValueId weight;  // [places..]
};

/// The weighted rows [places.., C], put together by `combine`.
Result<ValueId> weigh(OpContext& n, ValueId rows, const std::vector<Tap>& taps,
                      const std::function<Expr(Expr, Expr)>& combine);

enum class Padding : uint8_t { zeros, border, reflection };

/// A coordinate between lo and hi, mirrored at them as often as needed. Source: ONNX GridSample-22.
Expr reflected(Expr v, Expr lo, Expr hi);

/// Where a picture is read.
struct Grid {
  Padding padding = Padding::zeros;
  bool align_corners = false;
  bool cubic = false;
  DType compute = DType::f32;
  Exprs sizes;      // spatial dims of x
  ValueIds places;  // per dim, coordinates [N, out..]
};

/// The tap at `offsets` from the elements before the coordinates.
Result<Tap> grid_tap(OpContext& n, const Grid& g, const std::vector<int64_t>& offsets,
                     bool nearest);
/// All taps that the interpolation of a place reads: 1, 2 or 4 a dim.
Result<std::vector<Tap>> grid_taps(OpContext& n, const Grid& g, bool nearest);

}  // namespace ingot::onnx
