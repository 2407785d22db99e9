// frontend/onnx/ops_microsoft_linear.cc: onnxruntime's products and convolutions with what it fused
// into them, and convolutions and pools with channels last.
#include <algorithm>

#include "base/text.h"
#include "frontend/onnx/activation.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/products.h"
#include "frontend/onnx/spatial.h"

namespace ingot::onnx {
namespace {

/// y under the activation that an attribute names; the parameters are those of its operator, in
/// their order, as many as are given.
Result<ValueId> activated(OpContext& n, ValueId y, const std::vector<double>& parameters) {
  TRY(const std::string name, n.attr_text("activation", ""));
  if (name.empty()) return y;
  const auto parameter = [&](size_t k, double otherwise) {
    return k < parameters.size() ? parameters[k] : otherwise;
  };
  if (name == "Clip") {
    const double low = parameter(0, -std::numeric_limits<double>::infinity());
    const double high = parameter(1, std::numeric_limits<double>::infinity());
    return n.map1(y, [&](Expr e) {
      return min(max(e, n.number(e.dtype(), low)), n.number(e.dtype(), high));
    });
  }
  if (name == "HardSwish") {
    const Activation gate{"hardsigmoid", 1.0 / 6, 0.5};
    return n.map1(y, [&](Expr e) { return e * gate(e); });
  }
  if (name == "Celu" || name == "Selu") {
    const double alpha = parameter(0, name == "Celu" ? 1.0 : 1.67326319217681884765625);
    const double gamma = name == "Celu" ? 1.0 : parameter(1, 1.05070102214813232421875);
    const double inner = name == "Celu" ? alpha : 1;
    return n.map1(y, [&](Expr e) {
      const auto real = [&](double value) { return n.number(e.dtype(), value); };
      const Expr negative = real(alpha) * (exp(e / real(inner)) - real(1));
      return real(gamma) * select(less(real(0), e), e, negative);
    });
  }
  auto known = find_activation(name);
  if (!known) return unsupported("the activation '", to_comment(name), "'");
  known->alpha = parameter(0, known->alpha);
  known->beta = parameter(1, known->beta);
  return n.map1(y, *known);
}

/// x with its last two dims exchanged, and before that its first dim moved behind the other batch
/// dims. Vectors stay.
Result<ValueId> turned(OpContext& n, ValueId x, bool batches, bool matrices) {
  if (n.rank(x) < 2) return x;
  std::vector<int64_t> order = Builder::all_axes(n.rank(x));
  if (batches) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (matrices) std::swap(order.back(), order[order.size() - 2]);
  return n.transpose(x, std::move(order));
}

/// alpha op(A) op(B).
Result<ValueIds> fused_matmul(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  TRY(const double alpha, n.attr_real("alpha", 1.0));
  TRY(const bool turn_a, n.attr_flag("transA", false));
  TRY(const bool turn_b, n.attr_flag("transB", false));
  TRY(const bool batches_a, n.attr_flag("transBatchA", false));
  TRY(const bool batches_b, n.attr_flag("transBatchB", false));
  TRY(const ValueId a, turned(n, n.in(0), batches_a, turn_a));
  TRY(const ValueId b, turned(n, n.in(1), batches_b, turn_b));
  TRY(const ValueId y, numpy_matmul(n, a, b));
  if (alpha == 1) return ValueIds{y};
  return only(n.map1(y, [&](Expr e) { return e * n.number(e.dtype(), alpha); }));
}

Result<ValueIds> fused_gemm(OpContext& n) {
  TRY(const ValueIds y, build_as(n, "Gemm", 13));
  std::vector<double> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!n.has_attr(name)) continue;
    TRY(const double value, n.attr_real(name));
    parameters.push_back(value);
  }
  return only(activated(n, y[0], parameters));
}

Result<ValueIds> gemm_fast_gelu(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 3));
  TRY(ValueId y, numpy_matmul(n, n.in(0), n.in(1)));
  if (n.has(2)) {
    TRY(y, n.map2(y, n.in(2), [](Expr e, Expr b) { return e + b; }));
  }
  return only(n.map1(y, gelu_by_tanh));
}

/// Products of 16-bit integers, summed in 32 bits.
Result<ValueIds> matmul_integer_16(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  return only(integer_matmul(n, n.in(0), {}, n.in(1), {}));
}

// -- convolutions --

/// The convolution, what is added to it, and the activation.
Result<ValueIds> fused_conv(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 4));
  TRY(const ValueIds conv, build_as(n, "Conv", 11, {n.in(0), n.in(1), n.in(2)}));
  ValueId y = conv[0];
  if (n.has(3)) {
    TRY(y, n.map2(y, n.in(3), [](Expr e, Expr z) { return e + z; }));
  }
  TRY(const std::vector<double> parameters, n.attr_reals("activation_params"));
  return only(activated(n, y, parameters));
}

/// The weights are [OC, kernel.., C/groups], too.
Result<ValueIds> nhwc_conv(OpContext& n) {
  return with_channels_last(n, n.inputs(), {0, 1}, fused_conv);
}

Result<ValueIds> nhwc_fused_conv(OpContext& n) {
  return with_channels_last(n, n.inputs(), {0, 3}, fused_conv);
}

Result<ValueIds> nhwc_max_pool(OpContext& n) {
  return with_channels_last(n, n.inputs(), {0},
                            [](OpContext& o) { return build_as(o, "MaxPool", 12); });
}

Result<ValueIds> qlinear_conv(OpContext& n) {
  TRY(const bool last, n.attr_flag("channels_last", false));
  const auto build = [](OpContext& o) { return build_as(o, "QLinearConv", 10); };
  return last ? with_channels_last(n, n.inputs(), {0}, build) : build(n);
}

/// The padding is an input; it is cut off the whole result.
Result<ValueIds> conv_transpose_dynamic(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  TRY(const std::string auto_pad, n.attr_text("auto_pad", "NOTSET"));
  if (auto_pad != "NOTSET") return unsupported("auto_pad beside an input of pads");
  TRY(const ValueIds whole, build_as(n, "ConvTranspose", 11, {n.in(0), n.in(1), n.in(3)}));
  if (!n.has(2)) return whole;
  ValueId y = whole[0];
  TRY(const Exprs pads, n.contents(2, "Pads"));
  const size_t count = static_cast<size_t>(n.rank(y)) - 2;
  if (pads.size() != 2 * count) {
    return invalid_model("input 'Pads': expected ", 2 * count, " numbers, got ", pads.size());
  }
  for (size_t k = 0; k < count; ++k) {
    const auto axis = static_cast<int64_t>(k) + 2;
    TRY(y, n.slice_axis(y, axis, pads[k], n.dim(y, axis) - pads[k] - pads[count + k]));
  }
  return ValueIds{y};
}

constexpr OpRow kRows[] = {
    {"com.microsoft.ConvTransposeWithDynamicPads", 1, 2, 4, conv_transpose_dynamic},
    {"com.microsoft.FusedConv", 1, 2, 4, fused_conv},
    {"com.microsoft.FusedGemm", 1, 2, 3, fused_gemm},
    {"com.microsoft.FusedMatMul", 1, 2, 2, fused_matmul},
    {"com.microsoft.GemmFastGelu", 1, 2, 3, gemm_fast_gelu},
    {"com.microsoft.MatMulInteger16", 1, 2, 2, matmul_integer_16},
    {"com.microsoft.NhwcConv", 1, 2, 3, nhwc_conv},
    {"com.microsoft.NhwcFusedConv", 1, 2, 4, nhwc_fused_conv},
    {"com.microsoft.NhwcMaxPool", 1, 1, 1, nhwc_max_pool},
    {"com.microsoft.QLinearConv", 1, 8, 9, qlinear_conv},
    {"com.microsoft.TransposeMatMul", 1, 2, 2, fused_matmul},
};

}  // namespace

std::span<const OpRow> microsoft_linear_rows() {
  return kRows;
}

}  // namespace ingot::onnx
