// frontend/onnx/ops_microsoft_quantize.cc: onnxruntime's operators on 8-bit integers, each with a
// scale and a zero point.
#include "frontend/onnx/ops.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/spatial.h"

namespace ingot::onnx {
namespace {

/// Some files hold a scalar as a list of one.
Result<ValueId> as_number(OpContext& n, ValueId x) {
  return n.rank(x) == 1 && n.dim(x, 0).is_int(1) ? n.reshape(x, {}) : x;
}

/// Inputs x, x + 1 and x + 2 as (x - zero) * scale, in f32. The zero point may be absent.
Result<ValueId> real_of(OpContext& n, size_t x) {
  TRY_STATUS(n.expect_inputs({x, x + 1}));
  TRY(const ValueId scale, as_number(n, n.in(x + 1)));
  TRY(const ValueId whole, without_zero(n, n.in(x), n.in(x + 2), -1));
  return n.map(DType::f32, {whole, scale}, [](std::span<const Expr> p) {
    return cast(p[0], DType::f32) * cast(p[1], DType::f32);
  });
}

/// round(real / scale) + zero, saturated; the scale is input k, the zero point behind it may be
/// absent. `held` is the type then.
Result<ValueIds> stored(OpContext& n, ValueId real, size_t k, DType held) {
  TRY_STATUS(n.expect_inputs({k}));
  TRY(const ValueId scale, as_number(n, n.in(k)));
  ValueIds xs = {real, scale};
  if (n.has(k + 1)) {
    held = n.dtype(n.in(k + 1));
    TRY(const ValueId zero, as_number(n, n.in(k + 1)));
    xs.push_back(zero);
  }
  if (!is_int(held)) return invalid_model("expected integers, got ", held);
  return only(n.map(held, xs, [](std::span<const Expr> p) {
    const Expr steps = unary(ExprKind::round, p[0] / cast(p[1], DType::f32));
    return p.size() > 2 ? steps + cast(p[2], DType::f32) : steps;
  }));
}

/// A function of two operands, each with scale and zero point.
template <auto kFn>
Result<ValueIds> two(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId a, real_of(n, 0));
  TRY(const ValueId b, real_of(n, 3));
  TRY(const ValueId y, n.map2(a, b, [](Expr x, Expr z) { return kFn(x, z); }));
  return stored(n, y, 6, n.dtype(n.in(0)));
}

/// An operator of the default domain on the real numbers that input 0 stands for.
Result<ValueIds> on_reals(OpContext& n, std::string_view op_type, int64_t opset) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId x, real_of(n, 0));
  TRY(const ValueIds y, build_as(n, op_type, opset, {x}));
  return stored(n, y[0], 3, n.dtype(n.in(0)));
}

/// The same for pools, whose channels may come last.
template <auto kBuild>
Result<ValueIds> pool(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const bool last, n.attr_flag("channels_last", false));
  TRY(const ValueId x, real_of(n, 0));
  TRY(const ValueIds y, last ? with_channels_last(n, {x}, {0}, kBuild) : n.seeing({x}, 1, kBuild));
  return stored(n, y[0], 3, n.dtype(n.in(0)));
}

constexpr auto kAverage = [](OpContext& n) { return build_as(n, "AveragePool", 11); };
constexpr auto kGlobalAverage = [](OpContext& n) { return build_as(n, "GlobalAveragePool", 1); };

/// The versions of Softmax differ in what they normalise over.
Result<ValueIds> softmax(OpContext& n) {
  TRY(const int64_t opset, n.attr_int("opset"));
  if (opset < 1) return invalid_model("attribute 'opset': expected 1 or more, got ", opset);
  return on_reals(n, "Softmax", opset);
}

/// Inputs: the result's scale and zero point, then three for each operand.
Result<ValueIds> concat(OpContext& n) {
  TRY(const int64_t axis, n.attr_int("axis"));
  if (n.input_count() % 3 != 2) return invalid_model("expected three inputs for each operand");
  ValueIds parts;
  for (size_t k = 2; k < n.input_count(); k += 3) {
    TRY(const ValueId x, real_of(n, k));
    parts.push_back(x);
  }
  const int64_t rank = n.rank(parts[0]);
  TRY(const std::vector<int64_t> front, front_axes({axis}, rank));
  TRY(const ValueId y, n.concat(std::move(parts), front[0]));
  return stored(n, y, 0, n.dtype(n.in(1)));
}

Result<ValueIds> where(OpContext& n) {
  if (n.dtype(n.in(0)) != DType::b8) return invalid_model("expected a condition of booleans");
  TRY(const ValueId x, real_of(n, 1));
  TRY(const ValueId y, real_of(n, 4));
  TRY(const ValueId z, n.map(DType::f32, {n.in(0), x, y},
                             [](std::span<const Expr> p) { return select(p[0], p[1], p[2]); }));
  return stored(n, z, 7, n.dtype(n.in(1)));
}

// -- products --

/// The product without zero points, times both scales, plus a bias that may be absent.
Result<ValueIds> scaled_product(OpContext& n, ValueId product, ValueId a_scale, ValueId b_scale,
                                ValueId bias) {
  ValueIds xs = {product, a_scale, b_scale};
  if (bias.valid()) xs.push_back(bias);
  return only(n.map(n.dtype(a_scale), xs, [](std::span<const Expr> p) {
    const Expr y = cast(p[0], DType::f32) * (p[1] * p[2]);
    return p.size() > 3 ? y + p[3] : y;
  }));
}

Result<ValueIds> matmul_to_float(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY_STATUS(n.expect_floats(2, 4));
  TRY(const ValueId product, integer_matmul(n, n.in(0), n.in(4), n.in(1), n.in(5)));
  return scaled_product(n, product, n.in(2), n.in(3), n.in(6));
}

/// a is quantized as a whole, by its own range.
Result<ValueIds> dynamic_matmul(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY_STATUS(n.expect_floats(2, 3));
  TRY(const ValueIds a, build_as(n, "DynamicQuantizeLinear", 11, {n.in(0)}));
  TRY(const ValueId product, integer_matmul(n, a[0], a[2], n.in(1), n.in(3)));
  return scaled_product(n, product, a[1], n.in(2), n.in(4));
}

/// alpha op(a) op(b) + c, c in steps of alpha a_scale b_scale. Without a scale of the result it is
/// in f32.
Result<ValueIds> gemm(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY_STATUS(n.expect_inputs({0, 1, 3, 4}));
  TRY(const double alpha, n.attr_real("alpha", 1.0));
  TRY(const bool turn_a, n.attr_flag("transA", false));
  TRY(const bool turn_b, n.attr_flag("transB", false));
  ValueId a = n.in(0), b = n.in(3);
  if (n.rank(a) != 2 || n.rank(b) != 2) return invalid_model("expected matrices");
  if (turn_a) {
    TRY(a, n.transpose(a, {1, 0}));
  }
  if (turn_b) {
    TRY(b, n.transpose(b, {1, 0}));
  }
  TRY(ValueId steps, integer_matmul(n, a, n.in(2), b, n.in(5)));
  if (n.has(6)) {
    TRY(steps, n.map2(steps, n.in(6), [](Expr e, Expr c) { return e + c; }));
  }
  TRY(const ValueId y, n.map(DType::f32, {steps, n.in(1), n.in(4)}, [&](std::span<const Expr> p) {
    return cast(p[0], DType::f32) * (p[1] * p[2] * n.number(DType::f32, alpha));
  }));
  return n.has(7) ? stored(n, y, 7, n.dtype(a)) : Result<ValueIds>(ValueIds{y});
}

constexpr OpRow kRows[] = {
    {"com.microsoft.DequantizeLinear", 1, 2, 3,
     [](OpContext& n) { return build_as(n, "DequantizeLinear", 10); }},
    {"com.microsoft.DynamicQuantizeMatMul", 1, 3, 5, dynamic_matmul},
    {"com.microsoft.MatMulIntegerToFloat", 1, 4, 7, matmul_to_float},
    {"com.microsoft.QGemm", 1, 2, 9, gemm},
    {"com.microsoft.QLinearAdd", 1, 2, 8, two<[](Expr a, Expr b) { return a + b; }>},
    {"com.microsoft.QLinearAveragePool", 1, 2, 5, pool<kAverage>},
    {"com.microsoft.QLinearConcat", 1, 5, kVariadic, concat},
    {"com.microsoft.QLinearGlobalAveragePool", 1, 5, 5, pool<kGlobalAverage>},
    {"com.microsoft.QLinearLeakyRelu", 1, 2, 5,
     [](OpContext& n) { return on_reals(n, "LeakyRelu", 6); }},
    {"com.microsoft.QLinearMul", 1, 2, 8, two<[](Expr a, Expr b) { return a * b; }>},
    {"com.microsoft.QLinearReduceMean", 1, 2, 5,
     [](OpContext& n) { return on_reals(n, "ReduceMean", 13); }},
    {"com.microsoft.QLinearSigmoid", 1, 2, 5,
     [](OpContext& n) { return on_reals(n, "Sigmoid", 13); }},
    {"com.microsoft.QLinearSoftmax", 1, 2, 5, softmax},
    {"com.microsoft.QLinearWhere", 1, 9, 9, where},
    {"com.microsoft.QuantizeLinear", 1, 2, 3,
     [](OpContext& n) { return build_as(n, "QuantizeLinear", 10); }},
};

}  // namespace

std::span<const OpRow> microsoft_quantize_rows() {
  return kRows;
}

}  // namespace ingot::onnx
