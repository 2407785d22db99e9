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
  ExprPool& pool = size.pool();
  const Expr reach = (kernel - 1) * dilations[s] + 1;
  const Expr room = size + (pads_begin[s] + pads_end[s]) - reach;
  if (range_of(room).hi < 0) {
    return invalid_argument(op, ": expected a window of ", to_text(reach),
                            " to fit the padded spatial size ",
                            to_text(size + (pads_begin[s] + pads_end[s])));
  }
  Expr windows = floordiv(room + (ceil_mode ? strides[s] - 1 : 0), strides[s]) + 1;
  if (ceil_mode) windows = min(windows, ceildiv(size + pads_begin[s], strides[s]));
  if (range_of(room).lo >= 0) return windows;
  return select(less(room, pool.integer(0)), pool.integer(0), windows);
}

}  // namespace ingot::ops
