// frontend/onnx/ops_elementwise.cc: arithmetic and activation functions, each one expression.
#include <algorithm>

#include "frontend/onnx/activation.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

Expr real(Expr like, double value) {
  return like.pool().real(value, like.dtype());
}

/// A number of the type of `like`, integers included.
Expr number(Expr like, double value) {
  return is_float(like.dtype()) ? real(like, value)
                                : like.pool().integer(static_cast<int64_t>(value), like.dtype());
}

/// log(1 + e) for e >= 0 without losing small e. Source: Kahan; e * log(u) / (u - 1), u = 1 + e.
Expr log1p(Expr e) {
  const Expr u = e + real(e, 1);
  return select(equal(u, real(e, 1)), e, e * log(u) / (u - real(e, 1)));
}

Expr softplus(Expr x) {
  return max(x, real(x, 0)) + log1p(exp(-unary(ExprKind::abs, x)));
}

Expr clip(Expr x, double lo, double hi) {
  return min(max(x, real(x, lo)), real(x, hi));
}

/// An operator with one operand and no attributes.
template <auto kFn>
Result<ValueIds> one(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  return only(n.map1(n.in(0), [](Expr x) { return kFn(x); }));
}

/// The same for one that exists for floats alone.
template <auto kFn>
Result<ValueIds> one_float(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  return one<kFn>(n);
}

template <ExprKind kKind>
Result<ValueIds> function(OpContext& n) {
  return one_float<[](Expr x) { return unary(kKind, x); }>(n);
}

template <ExprKind kKind>
Result<ValueIds> function_of_numbers(OpContext& n) {
  return one<[](Expr x) { return unary(kKind, x); }>(n);
}

/// An activation with attributes alpha and beta (or gamma, ...), whose defaults come with the row.
struct Setting {
  std::string_view name;
  double value;
};

template <class Fn>
Result<ValueIds> activation(OpContext& n, std::initializer_list<Setting> settings, Fn fn) {
  TRY_STATUS(n.expect_floats(0, 1));
  std::vector<double> values;
  for (const Setting& setting : settings) {
    TRY(const double value, n.attr_real(setting.name, setting.value));
    values.push_back(value);
  }
  return only(n.map1(n.in(0), [&](Expr x) { return fn(x, values.data()); }));
}

Result<ValueIds> celu(OpContext& n) {
  return activation(n, {{"alpha", 1.0}}, [](Expr x, const double* v) {
    const Expr alpha = real(x, v[0]);
    return max(x, real(x, 0)) + min(real(x, 0), alpha * (exp(x / alpha) - real(x, 1)));
  });
}

Result<ValueIds> elu(OpContext& n) {
  return activation(n, {{"alpha", 1.0}}, [](Expr x, const double* v) {
    return select(less(x, real(x, 0)), real(x, v[0]) * (exp(x) - real(x, 1)), x);
  });
}

Result<ValueIds> hard_sigmoid(OpContext& n) {
  return activation(n, {{"alpha", 0.2}, {"beta", 0.5}}, [](Expr x, const double* v) {
    return clip(real(x, v[0]) * x + real(x, v[1]), 0, 1);
  });
}

Result<ValueIds> leaky_relu(OpContext& n) {
  return activation(n, {{"alpha", 0.01}}, [](Expr x, const double* v) {
    return select(less(x, real(x, 0)), real(x, v[0]) * x, x);
  });
}

/// Defaults of 6; version 1 rounded them further. Source: ONNX Selu-1, Selu-6.
template <bool kFirstVersion>
Result<ValueIds> selu(OpContext& n) {
  const Setting alpha = {"alpha", kFirstVersion ? 1.6732 : 1.67326319217681884765625};
  const Setting gamma = {"gamma", kFirstVersion ? 1.0507 : 1.05070102214813232421875};
  return activation(n, {alpha, gamma}, [](Expr x, const double* v) {
    const Expr negative = real(x, v[0]) * (exp(x) - real(x, 1));
    return real(x, v[1]) * select(less(real(x, 0), x), x, negative);
  });
}

Result<ValueIds> shrink(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const double bias, n.attr_real("bias", 0.0));
  TRY(const double lambd, n.attr_real("lambd", 0.5));
  const DType held = n.dtype(n.in(0));
  return only(n.map1(n.in(0), [&](Expr p) {
    const Expr x = is_float(held) ? p : cast(p, DType::f32);
    const Expr inside = real(x, 0);
    const Expr low = select(less(x, real(x, -lambd)), x + real(x, bias), inside);
    const Expr y = select(less(real(x, lambd), x), x - real(x, bias), low);
    return is_float(held) ? y : cast(y, held);
  }));
}

Result<ValueIds> swish_row(OpContext& n) {
  return activation(n, {{"alpha", 1.0}}, [](Expr x, const double* v) { return swish(x, v[0]); });
}

/// Source: ONNX SwiGLU-28.
Result<ValueIds> swiglu(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 2));
  TRY(const double alpha, n.attr_real("alpha", 1.0));
  return only(n.map2(n.in(0), n.in(1), [&](Expr a, Expr b) { return swish(a, alpha) * b; }));
}

Result<ValueIds> thresholded_relu(OpContext& n) {
  return activation(n, {{"alpha", 1.0}}, [](Expr x, const double* v) {
    return select(less(real(x, v[0]), x), x, real(x, 0));
  });
}

Result<ValueIds> gelu_row(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  static constexpr std::string_view kForms[] = {"none", "tanh"};
  TRY(const size_t form, n.attr_choice("approximate", kForms, 0));
  return only(
      n.map1(n.in(0), [&](Expr x) { return kForms[form] == "tanh" ? gelu_by_tanh(x) : gelu(x); }));
}

Result<ValueIds> prelu(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const ValueId x = n.in(0);
  ValueId slope = n.in(1);
  // Before opset 7 a slope of one dim belongs to the channels, axis 1.
  if (n.opset() < 7 && n.rank(slope) == 1 && n.rank(x) > 2 && !n.dim(slope, 0).is_int(1)) {
    Exprs dims(static_cast<size_t>(n.rank(x) - 1), n.integer(1));
    dims[0] = n.dim(slope, 0);
    TRY(slope, n.reshape(slope, std::move(dims)));
  }
  return only(
      n.map2(x, slope, [](Expr a, Expr s) { return select(less(a, number(a, 0)), s * a, a); }));
}

Result<ValueIds> clip_attributes(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  TRY(const double lo, n.attr_real("min", -std::numeric_limits<float>::max()));
  TRY(const double hi, n.attr_real("max", std::numeric_limits<float>::max()));
  const bool has_lo = n.has_attr("min");
  const bool has_hi = n.has_attr("max");
  return only(n.map1(n.in(0), [&](Expr x) {
    if (has_lo) x = max(x, real(x, lo));
    if (has_hi) x = min(x, real(x, hi));
    return x;
  }));
}

Result<ValueIds> clip_inputs(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  ValueId y = n.in(0);
  if (n.has(1)) {
    TRY(y, n.map2(y, n.in(1), [](Expr x, Expr lo) { return max(x, lo); }));
  }
  if (n.has(2)) {
    TRY(y, n.map2(y, n.in(2), [](Expr x, Expr hi) { return min(x, hi); }));
  }
  return ValueIds{y};
}

// -- two operands --

template <auto kFn>
Result<ValueIds> two(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  return only(n.map2(n.in(0), n.in(1), [](Expr x, Expr y) { return kFn(x, y); }));
}

template <auto kFn>
Result<ValueIds> two_legacy(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const ValueId y, align_legacy_operand(n, n.in(0), n.in(1)));
  return only(n.map2(n.in(0), y, [](Expr a, Expr b) { return kFn(a, b); }));
}

constexpr auto kAdd = [](Expr x, Expr y) { return x + y; };
constexpr auto kSub = [](Expr x, Expr y) { return x - y; };
constexpr auto kMul = [](Expr x, Expr y) { return x * y; };
constexpr auto kDiv = [](Expr x, Expr y) { return x / y; };
constexpr auto kPow = [](Expr x, Expr y) { return pow(x, y); };

/// Pow-12 and later: the exponent may have another type; the result has the base's.
Result<ValueIds> pow_mixed(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const DType base = n.dtype(n.in(0));
  return only(n.map(base, {n.in(0), n.in(1)}, [&](std::span<const Expr> p) {
    if (p[0].dtype() == p[1].dtype()) return pow(p[0], p[1]);
    if (is_float(p[0].dtype())) return pow(p[0], cast(p[1], p[0].dtype()));
    if (!is_float(p[1].dtype())) return pow(p[0], cast(p[1], p[0].dtype()));
    return cast(pow(cast(p[0], DType::f64), cast(p[1], DType::f64)), p[0].dtype());
  }));
}

/// x - floor(x / y) * y of floats, with the sign of y, zeros too.
Expr float_floormod(Expr x, Expr y) {
  const Expr rest = binary(ExprKind::fmod, x, y), zero = real(x, 0);
  const Expr negative = less(y, zero);
  const Expr other_side = select(negative, less(zero, rest), less(rest, zero));
  return select(equal(rest, zero), select(negative, real(x, -0.0), zero),
                select(other_side, rest + y, rest));
}

/// Source: ONNX Mod-28, before which floats had no quotient that is rounded down.
Result<ValueIds> mod(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(const bool truncates, n.attr_flag("fmod", false));
  const bool floats = is_float(n.dtype(n.in(0)));
  if (!truncates && floats && n.opset() < 28) {
    return invalid_model("expected fmod = 1 for floating-point inputs");
  }
  return only(n.map2(n.in(0), n.in(1), [&](Expr x, Expr y) {
    if (truncates) return binary(ExprKind::fmod, x, y);
    return floats ? float_floormod(x, y) : floormod(x, y);
  }));
}

// -- any number of operands --

template <auto kFn, bool kMean = false>
Result<ValueIds> fold(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  const ValueIds xs = n.all_inputs();
  if (xs.size() != n.input_count()) return invalid_model("an input is missing");
  for (const ValueId x : xs) {
    if (n.dtype(x) != n.dtype(xs[0])) {
      return invalid_model("expected inputs of one type, got ", n.dtype(xs[0]), " and ",
                           n.dtype(x));
    }
  }
  return only(n.map(n.dtype(xs[0]), xs, [&](std::span<const Expr> p) {
    Expr y = p[0];
    for (const Expr x : p.subspan(1)) y = kFn(y, x);
    return kMean ? y / number(y, static_cast<double>(p.size())) : y;
  }));
}

constexpr auto kMax = [](Expr x, Expr y) { return max(x, y); };
constexpr auto kMin = [](Expr x, Expr y) { return min(x, y); };

constexpr OpRow kRows[] = {
    {"Abs", 1, 1, 1, function_of_numbers<ExprKind::abs>},
    {"Acos", 7, 1, 1, function<ExprKind::acos>},
    {"Acosh", 9, 1, 1, function<ExprKind::acosh>},
    {"Add", 1, 2, 2, two_legacy<kAdd>},
    {"Add", 7, 2, 2, two<kAdd>},
    {"Asin", 7, 1, 1, function<ExprKind::asin>},
    {"Asinh", 9, 1, 1, function<ExprKind::asinh>},
    {"Atan", 7, 1, 1, function<ExprKind::atan>},
    {"Atanh", 9, 1, 1, function<ExprKind::atanh>},
    {"Ceil", 1, 1, 1, function<ExprKind::ceil>},
    {"Celu", 12, 1, 1, celu},
    {"Clip", 1, 1, 1, clip_attributes},
    {"Clip", 11, 1, 3, clip_inputs},
    {"Cos", 7, 1, 1, function<ExprKind::cos>},
    {"Cosh", 9, 1, 1, function<ExprKind::cosh>},
    {"Div", 1, 2, 2, two_legacy<kDiv>},
    {"Div", 7, 2, 2, two<kDiv>},
    {"Elu", 1, 1, 1, elu},
    {"Erf", 9, 1, 1, function<ExprKind::erf>},
    {"Exp", 1, 1, 1, function<ExprKind::exp>},
    {"Floor", 1, 1, 1, function<ExprKind::floor>},
    {"Gelu", 20, 1, 1, gelu_row},
    {"HardSigmoid", 1, 1, 1, hard_sigmoid},
    {"HardSwish", 14, 1, 1,
     one_float<[](Expr x) { return x * clip(x * real(x, 1.0 / 6) + real(x, 0.5), 0, 1); }>},
    {"LeakyRelu", 1, 1, 1, leaky_relu},
    {"Log", 1, 1, 1, function<ExprKind::log>},
    {"Max", 1, 1, kVariadic, fold<kMax>},
    {"Mean", 1, 1, kVariadic, fold<kAdd, true>},
    {"Min", 1, 1, kVariadic, fold<kMin>},
    {"Mish", 18, 1, 1, one_float<[](Expr x) { return x * tanh(softplus(x)); }>},
    {"Mod", 10, 2, 2, mod},
    {"Mul", 1, 2, 2, two_legacy<kMul>},
    {"Mul", 7, 2, 2, two<kMul>},
    {"Neg", 1, 1, 1, one<[](Expr x) { return -x; }>},
    {"PRelu", 1, 2, 2, prelu},
    {"Pow", 1, 2, 2, two_legacy<kPow>},
    {"Pow", 7, 2, 2, two<kPow>},
    {"Pow", 12, 2, 2, pow_mixed},
    {"Reciprocal", 1, 1, 1, one_float<[](Expr x) { return real(x, 1) / x; }>},
    {"Relu", 1, 1, 1, one<[](Expr x) { return max(x, number(x, 0)); }>},
    {"Round", 11, 1, 1, function<ExprKind::round>},
    {"Selu", 1, 1, 1, selu<true>},
    {"Selu", 6, 1, 1, selu<false>},
    {"Shrink", 9, 1, 1, shrink},
    {"Sigmoid", 1, 1, 1, function<ExprKind::sigmoid>},
    {"Sign", 9, 1, 1, function_of_numbers<ExprKind::sign>},
    {"Sin", 7, 1, 1, function<ExprKind::sin>},
    {"Sinh", 9, 1, 1, function<ExprKind::sinh>},
    {"Softplus", 1, 1, 1, one_float<[](Expr x) { return softplus(x); }>},
    {"Softsign", 1, 1, 1,
     one_float<[](Expr x) { return x / (real(x, 1) + unary(ExprKind::abs, x)); }>},
    {"Sqrt", 1, 1, 1, function<ExprKind::sqrt>},
    {"Sub", 1, 2, 2, two_legacy<kSub>},
    {"Sub", 7, 2, 2, two<kSub>},
    {"Sum", 1, 1, kVariadic, fold<kAdd>},
    {"SwiGLU", 28, 2, 2, swiglu},
    {"Swish", 24, 1, 1, swish_row},
    {"Tan", 7, 1, 1, function<ExprKind::tan>},
    {"Tanh", 1, 1, 1, function<ExprKind::tanh>},
    {"ThresholdedRelu", 10, 1, 1, thresholded_relu},
};

}  // namespace

std::span<const OpRow> elementwise_rows() {
  return kRows;
}

}  // namespace ingot::onnx
