// frontend/onnx/spatial.cc: reads window attributes; moves channels.
#include "frontend/onnx/spatial.h"

#include <algorithm>

#include "base/text.h"

namespace ingot::onnx {
namespace {

/// One number per spatial dim, `otherwise` where the attribute is absent.
Result<std::vector<int64_t>> per_dim(OpContext& n, std::string_view name, size_t count,
                                     int64_t otherwise, int64_t least) {
  TRY(std::vector<int64_t> values, n.attr_ints(name));
  if (!n.has_attr(name)) values.assign(count, otherwise);
  if (values.size() != count) {
    return invalid_model("attribute '", name, "': expected ", count, " numbers, got ",
                         values.size());
  }
  for (const int64_t value : values) {
    if (value < least || value > kMaxDim) {
      return invalid_model("attribute '", name, "': expected numbers from ", least, ", got ",
                           value);
    }
  }
  return values;
}

/// SAME: as many windows as ceil(in / stride); the odd element of padding goes to the end (UPPER)
/// or the beginning (LOWER).
void pad_same(OpContext& n, ValueId x, bool upper, Spatial& s) {
  const size_t count = s.rank();
  s.pads_begin.assign(count, 0);
  s.pads_end.assign(count, 0);
  Exprs begin(count, n.integer(0));
  Exprs end = begin;
  bool open = false;
  for (size_t k = 0; k < count; ++k) {
    const Expr in = n.dim(x, static_cast<int64_t>(k) + 2);
    const Expr zero = n.integer(0);
    const Expr windows = ceildiv(in, s.strides[k]);
    // With stride 1 the padding does not depend on the input.
    const Expr total = s.strides[k] == 1
                           ? n.integer(s.reach(k) - 1)
                           : max((windows - 1) * s.strides[k] + s.reach(k) - in, zero);
    const Expr less_part = floordiv(total, 2);
    begin[k] = upper ? less_part : total - less_part;
    end[k] = upper ? total - less_part : less_part;
    const auto known_begin = begin[k].as_int();
    const auto known_end = end[k].as_int();
    if (known_begin && known_end) {
      s.pads_begin[k] = *known_begin;
      s.pads_end[k] = *known_end;
      begin[k] = end[k] = zero;
    } else {
      open = true;
    }
  }
  if (open) {
    s.open_begin = std::move(begin);
    s.open_end = std::move(end);
  }
}

}  // namespace

Attributes Spatial::attributes() const {
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads_begin", pads_begin},
          {"pads_end", pads_end}};
}

Result<Spatial> read_spatial(OpContext& n, ValueId x, std::vector<int64_t> kernel) {
  const size_t count = kernel.size();
  if (n.rank(x) < 2 || static_cast<size_t>(n.rank(x) - 2) != count) {
    return invalid_model("expected an input with ", count, " spatial dims, got rank ", n.rank(x));
  }
  for (const int64_t size : kernel) {
    if (size < 1 || size > kMaxDim) {
      return invalid_model("expected kernel sizes of 1 or more, got ", size);
    }
  }
  Spatial s;
  s.kernel = std::move(kernel);
  TRY(s.strides, per_dim(n, "strides", count, 1, 1));
  TRY(s.dilations, per_dim(n, "dilations", count, 1, 1));
  for (size_t k = 0; k < count; ++k) {
    if (s.kernel[k] > kMaxDim / s.dilations[k]) {
      return invalid_model("the kernel reaches too far: ", s.kernel[k], " elements, dilated by ",
                           s.dilations[k]);
    }
  }
  TRY(const std::string auto_pad, n.attr_text("auto_pad", "NOTSET"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_same(n, x, auto_pad == "SAME_UPPER", s);
    return s;
  }
  if (auto_pad == "VALID") {
    s.pads_begin.assign(count, 0);
    s.pads_end.assign(count, 0);
    return s;
  }
  if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return invalid_model("attribute 'auto_pad': unknown value '", to_comment(auto_pad), "'");
  }
  TRY(const std::vector<int64_t> pads, per_dim(n, "pads", 2 * count, 0, 0));
  s.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  s.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  return s;
}

Result<ValueId> channels_last(OpContext& n, ValueId x) {
  std::vector<int64_t> order = Builder::all_axes(n.rank(x));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return n.transpose(x, std::move(order));
}

Result<ValueId> channels_first(OpContext& n, ValueId x) {
  std::vector<int64_t> order = Builder::all_axes(n.rank(x));
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return n.transpose(x, std::move(order));
}

Result<ValueIds> with_channels_last(OpContext& n, ValueIds inputs,
                                    std::initializer_list<size_t> which,
                                    Result<ValueIds> (*build)(OpContext&)) {
  for (const size_t k : which) {
    if (k >= inputs.size() || !inputs[k].valid()) continue;
    if (n.rank(inputs[k]) < 3) return invalid_model("expected inputs of rank 3 or more");
    TRY(inputs[k], channels_first(n, inputs[k]));
  }
  TRY(const ValueIds ys, n.seeing(std::move(inputs), n.opset(), build));
  TRY(const ValueId y, channels_last(n, ys[0]));
  return ValueIds{y};
}

Result<ValueId> pad_open(OpContext& n, ValueId x, const Spatial& s, double value) {
  if (s.open_begin.empty()) return x;
  Exprs begin = s.open_begin;
  Exprs end = s.open_end;
  for (Exprs* side : {&begin, &end}) {
    side->insert(side->begin(), n.integer(0));
    side->push_back(n.integer(0));
  }
  TRY(const ValueId fill, n.scalar(n.dtype(x), value));
  return n.pad(x, std::move(begin), std::move(end), "constant", fill);
}

}  // namespace ingot::onnx
