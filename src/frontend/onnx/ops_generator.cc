// frontend/onnx/ops_generator.cc: constants, shapes, ranges, windows of signal processing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/text.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

ValueId vector_constant(OpContext& n, DType dtype, std::span<const double> values, bool is_scalar) {
  std::vector<std::byte> bytes(size_bytes(dtype, values.size()));
  for (size_t k = 0; k < values.size(); ++k) store_from_double(dtype, bytes.data(), k, values[k]);
  std::vector<int64_t> dims;
  if (!is_scalar) dims.push_back(static_cast<int64_t>(values.size()));
  return n.graph().add_constant(make_constant(dtype, std::move(dims), std::move(bytes)));
}

ValueId string_constant(OpContext& n, std::vector<std::string> strings, bool is_scalar) {
  ConstantData data;
  data.dtype = DType::str;
  if (!is_scalar) data.dims = {static_cast<int64_t>(strings.size())};
  data.strings = std::move(strings);
  return n.graph().add_constant(std::move(data));
}

/// The value in whichever attribute holds it.
Result<ValueIds> constant(OpContext& n) {
  if (n.has_attr("value")) {
    TRY(ConstantData data, n.attr_tensor("value"));
    return ValueIds{n.graph().add_constant(std::move(data))};
  }
  if (n.has_attr("value_float")) {
    TRY(const double value, n.attr_real("value_float"));
    return ValueIds{vector_constant(n, DType::f32, {&value, 1}, true)};
  }
  if (n.has_attr("value_floats")) {
    TRY(const std::vector<double> values, n.attr_reals("value_floats"));
    return ValueIds{vector_constant(n, DType::f32, values, false)};
  }
  if (n.has_attr("value_int")) {
    TRY(const int64_t value, n.attr_int("value_int"));
    return only(n.reshape(n.ints({&value, 1}), {}));
  }
  if (n.has_attr("value_ints")) {
    TRY(const std::vector<int64_t> values, n.attr_ints("value_ints"));
    return ValueIds{n.ints(values)};
  }
  if (n.has_attr("value_string")) {
    TRY(std::string value, n.attr_text("value_string"));
    return ValueIds{string_constant(n, {std::move(value)}, true)};
  }
  if (n.has_attr("value_strings")) {
    TRY(std::vector<std::string> values, n.attr_texts("value_strings"));
    return ValueIds{string_constant(n, std::move(values), false)};
  }
  if (n.has_attr("sparse_value")) return unsupported("sparse tensors");
  return invalid_model("expected one of the attributes value, value_float, value_int, ...");
}

Result<ValueIds> constant_of_shape(OpContext& n) {
  TRY(Exprs dims, n.sizes(0, "input"));
  for (const Expr dim : dims) {
    if (const auto value = dim.as_int(); value && *value < 0) {
      return invalid_model("expected dims of 0 or more, got ", *value);
    }
  }
  ValueId one = ValueId();
  if (n.has_attr("value")) {
    TRY(ConstantData data, n.attr_tensor("value"));
    if (data.dims != std::vector<int64_t>{1} && !data.dims.empty()) {
      return invalid_model("attribute 'value': expected one element, got dims ", data.dims);
    }
    data.dims.clear();
    one = n.graph().add_constant(std::move(data));
  } else {
    TRY(one, n.scalar(DType::f32, 0));
  }
  return only(n.broadcast(one, std::move(dims)));
}

Result<ValueIds> shape(OpContext& n) {
  const int64_t rank = n.rank(n.in(0));
  TRY(int64_t start, n.attr_int("start", 0));
  TRY(int64_t end, n.attr_int("end", rank));
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = std::clamp<int64_t>(start, 0, rank);
  end = std::clamp<int64_t>(end, start, rank);
  TRY(const ValueId all, n.add("shape_of", {}, {n.in(0)}));
  return only(n.slice_axis(all, 0, n.integer(start), n.integer(end - start)));
}

Result<ValueIds> size(OpContext& n) {
  return only(n.scalar_of(n.count(n.dims(n.in(0)), 0, n.rank(n.in(0))), DType::i64));
}

/// A range whose bounds only a run knows: so is its length.
Result<ValueIds> computed_range(OpContext& n) {
  const DType held = n.dtype(n.in(0));
  ValueIds bounds;
  for (size_t k = 0; k < 3; ++k) {
    if (n.dtype(n.in(k)) != held) {
      return invalid_model("expected bounds of one type, got ", held, " and ", n.dtype(n.in(k)));
    }
    TRY(bounds.emplace_back(), n.reshape(n.in(k), {}));
  }
  TRY(const ValueId steps, n.map(DType::i64, bounds, [](std::span<const Expr> p) {
    const auto wide = [](Expr e) { return cast(e, DType::f64); };
    const Expr count = unary(ExprKind::ceil, (wide(p[1]) - wide(p[0])) / wide(p[2]));
    return max(cast(count, DType::i64), p[0].pool().integer(0));
  }));
  TRY(const Exprs count, n.contents_of(steps, "limit"));
  TRY(const ValueId i, n.iota({max(count[0], n.integer(0))}, 0));
  return only(n.map(held, {i, bounds[0], bounds[2]}, [](std::span<const Expr> p) {
    return p[1] + cast(p[0], p[1].dtype()) * p[2];
  }));
}

/// start, start + delta, ... below limit. Bounds of integers may depend on dims.
Result<ValueIds> range(OpContext& n) {
  const DType held = n.dtype(n.in(0));
  const auto is_constant = [&](size_t k) { return n.graph().constant(n.in(k)) != nullptr; };
  if (is_float(held)) {
    if (!is_constant(0) || !is_constant(1) || !is_constant(2)) return computed_range(n);
    std::vector<double> bounds;
    for (size_t k = 0; k < 3; ++k) {
      TRY(const std::vector<double> value, n.constant_reals(k, k == 0   ? "start"
                                                               : k == 1 ? "limit"
                                                                        : "delta"));
      if (value.size() != 1) return invalid_model("expected scalars");
      bounds.push_back(value[0]);
    }
    const double count = std::max(std::ceil((bounds[1] - bounds[0]) / bounds[2]), 0.0);
    if (!(count <= static_cast<double>(kMaxDim))) {
      return invalid_model("a range from ", bounds[0], " to ", bounds[1], " by ", bounds[2],
                           " has no sensible length");
    }
    TRY(const ValueId i, n.iota({n.integer(static_cast<int64_t>(count))}, 0));
    return only(n.map(held, {i}, [&](std::span<const Expr> p) {
      const DType compute = compute_dtype(held);
      return n.number(held, bounds[0]) + cast(p[0], compute) * n.number(held, bounds[2]);
    }));
  }
  TRY(const Exprs deltas, n.contents(2, "delta"));
  if (deltas.size() != 1 || !deltas[0].as_int()) return computed_range(n);
  TRY(const Expr start, n.content(0, "start"));
  TRY(const Expr limit, n.content(1, "limit"));
  const int64_t delta = *deltas[0].as_int();
  if (delta == 0 || delta < -kMaxDim || delta > kMaxDim) {
    return invalid_model("input 'delta': expected a number other than 0, got ", delta);
  }
  const Expr distance = delta > 0 ? limit - start : start - limit;
  const Expr count = max(ceildiv(distance, delta > 0 ? delta : -delta), n.integer(0));
  TRY(const ValueId i, n.iota({count}, 0));
  return only(n.map(held, {i}, [&](std::span<const Expr> p) {
    return cast(start + p[0] * delta, compute_dtype(held));
  }));
}

Result<ValueIds> eye_like(OpContext& n) {
  const ValueId x = n.in(0);
  if (n.rank(x) != 2) return invalid_model("expected a matrix, got rank ", n.rank(x));
  TRY(const DType held, n.attr_dtype("dtype", n.dtype(x)));
  TRY(const int64_t k, n.attr_int("k", 0));
  TRY(const ValueId i, n.iota({n.dim(x, 0), n.integer(1)}, 0));
  TRY(const ValueId j, n.iota({n.dim(x, 1)}, 0));
  return only(n.map(held, {i, j}, [&](std::span<const Expr> p) {
    return select(equal(p[0] + k, p[1]), n.number(held, 1), n.number(held, 0));
  }));
}

/// a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), N one less than the size unless periodic.
Result<ValueIds> cosine_window(OpContext& n, double a0, double a1, double a2) {
  TRY(const DType held, n.attr_dtype("output_datatype", DType::f32));
  TRY(const bool periodic, n.attr_flag("periodic", true));
  TRY(const Expr size, n.content(0, "size"));
  TRY(const ValueId i, n.iota({size}, 0));
  return only(n.map(held, {i}, [&](std::span<const Expr> p) {
    const DType compute = is_float(held) ? compute_dtype(held) : DType::f32;
    const Expr period = cast(periodic ? size : size - 1, compute);
    const Expr angle = cast(p[0], compute) * n.pool().real(2 * std::numbers::pi, compute) / period;
    const Expr y =
        n.pool().real(a0, compute) - n.pool().real(a1, compute) * unary(ExprKind::cos, angle);
    if (a2 == 0) return y;
    return y + n.pool().real(a2, compute) * unary(ExprKind::cos, angle + angle);
  }));
}

// Sources of the coefficients: ONNX BlackmanWindow-17, HammingWindow-17, HannWindow-17.
Result<ValueIds> blackman(OpContext& n) {
  return cosine_window(n, 0.42, 0.5, 0.08);
}
Result<ValueIds> hamming(OpContext& n) {
  return cosine_window(n, 25.0 / 46, 21.0 / 46, 0);
}
Result<ValueIds> hann(OpContext& n) {
  return cosine_window(n, 0.5, 0.5, 0);
}

constexpr OpRow kRows[] = {
    {"BlackmanWindow", 17, 1, 1, blackman},
    {"Constant", 1, 0, 0, constant},
    {"ConstantOfShape", 9, 1, 1, constant_of_shape},
    {"EyeLike", 9, 1, 1, eye_like},
    {"HammingWindow", 17, 1, 1, hamming},
    {"HannWindow", 17, 1, 1, hann},
    {"Range", 11, 3, 3, range},
    {"Shape", 1, 1, 1, shape},
    {"Size", 1, 1, 1, size},
};

}  // namespace

std::span<const OpRow> generator_rows() {
  return kRows;
}

}  // namespace ingot::onnx
