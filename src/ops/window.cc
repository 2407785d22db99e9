// ops/window.cc: sliding windows over spatial dims, shared by convolution and pooling.
#include "ops/window.h"

#include "ops/checks.h"

namespace ingot::ops {

Status Window::check(std::string_view op, int64_t rank) const {
  struct Part {
    std::string_view name;
    std::span<const int64_t> numbers;
    int64_t least;
  };
  for (const Part& part : {Part{"strides", strides, 1}, Part{"dilations", dilations, 1},
                           Part{"pads_begin", pads_begin, 0}, Part{"pads_end", pads_end, 0}}) {
    if (static_cast<int64_t>(part.numbers.size()) != rank) {
      return invalid_argument(op, ": expected ", rank, " ", part.name, ", got ", part.numbers);
    }
    for (const int64_t number : part.numbers) {
      if (number < part.least || number > kMaxDim) {
        return invalid_argument(op, ": expected ", part.name, " between ", part.least, " and ",
                                kMaxDim, ", got ", part.numbers);
      }
    }
  }
  return ok();
}

Result<Expr> Window::count(std::string_view op, size_t s, Expr size, Expr kernel) const {
  const Expr reach = (kernel - 1) * dilations[s] + 1;
  // In ceil_mode the last window may lack up to a stride less one.
  const Expr room = size + (pads_begin[s] + pads_end[s] + (ceil_mode ? strides[s] - 1 : 0)) - reach;
  if (range_of(room).hi < 0) {
    return invalid_argument(op, ": expected a window of ", to_text(reach),
                            " to fit the padded spatial size ",
                            to_text(size + (pads_begin[s] + pads_end[s])));
  }
  Expr windows = floordiv(room, strides[s]) + 1;
  if (ceil_mode) windows = min(windows, ceildiv(size + pads_begin[s], strides[s]));
  return range_of(windows).lo >= 0 ? windows : max(windows, size.pool().integer(0));
}

}  // namespace ingot::ops
