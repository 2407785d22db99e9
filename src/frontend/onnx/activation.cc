// frontend/onnx/activation.cc: activations that several operators have, some of them by name.
#include "frontend/onnx/activation.h"

#include <algorithm>

#include "base/text.h"

namespace ingot::onnx {
namespace {

struct Parameters {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;
};
constexpr Parameters kActivations[] = {
    {"sigmoid", false, false, 0, 0},     {"tanh", false, false, 0, 0},
    {"relu", false, false, 0, 0},        {"affine", true, true, 1, 0},
    {"leakyrelu", true, false, 0.01, 0}, {"thresholdedrelu", true, false, 1, 0},
    {"scaledtanh", true, true, 1, 1},    {"hardsigmoid", true, true, 0.2, 0.5},
    {"elu", true, false, 1, 0},          {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},
};

Expr number(Expr like, double value) {
  return like.pool().real(value, like.dtype());
}

}  // namespace

Expr gelu(Expr x) {
  return number(x, 0.5) * x * (number(x, 1) + erf(x * number(x, 0.7071067811865476)));
}

Expr gelu_by_tanh(Expr x) {
  // sqrt(2 / pi) (x + 0.044715 x^3)
  const Expr inner = number(x, 0.7978845608028654) * (x + number(x, 0.044715) * x * x * x);
  return number(x, 0.5) * x * (number(x, 1) + tanh(inner));
}

Expr swish(Expr x, double alpha) {
  return x * unary(ExprKind::sigmoid, number(x, alpha) * x);
}

Expr Activation::operator()(Expr x) const {
  const auto real = [&](double value) { return number(x, value); };
  const Expr zero = real(0), one = real(1);
  if (name == "sigmoid") return unary(ExprKind::sigmoid, x);
  if (name == "tanh") return tanh(x);
  if (name == "relu") return max(x, zero);
  if (name == "affine") return real(alpha) * x + real(beta);
  if (name == "leakyrelu") return select(less(x, zero), real(alpha) * x, x);
  if (name == "thresholdedrelu") return select(less(x, real(alpha)), zero, x);
  if (name == "scaledtanh") return real(alpha) * tanh(real(beta) * x);
  if (name == "hardsigmoid") return min(max(real(alpha) * x + real(beta), zero), one);
  if (name == "elu") return select(less(x, zero), real(alpha) * (exp(x) - one), x);
  if (name == "softsign") return x / (one + unary(ExprKind::abs, x));
  return log(one + exp(x));  // softplus
}

std::optional<Activation> find_activation(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto known = std::ranges::find(kActivations, name, &Parameters::name);
  if (known == std::end(kActivations)) return std::nullopt;
  return Activation{std::move(name), known->alpha, known->beta};
}

Result<std::vector<Activation>> read_activations(OpContext& n, std::vector<std::string> usual) {
  const size_t wanted = usual.size();
  std::vector<std::string> names = std::move(usual);
  if (n.has_attr("activations")) {
    TRY(std::vector<std::string> given, n.attr_texts("activations"));
    if (!given.empty()) names = std::move(given);
  }
  if (names.size() != wanted) {
    return invalid_model("attribute 'activations': expected ", wanted, " names, got ",
                         names.size());
  }
  TRY(const std::vector<double> alphas, n.attr_reals("activation_alpha"));
  TRY(const std::vector<double> betas, n.attr_reals("activation_beta"));
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> found;
  for (const std::string& name : names) {
    auto a = find_activation(name);
    if (!a) {
      return invalid_model("attribute 'activations': '", to_comment(name), "' is not known");
    }
    const Parameters& known = *std::ranges::find(kActivations, a->name, &Parameters::name);
    if (known.has_alpha && next_alpha < alphas.size()) a->alpha = alphas[next_alpha++];
    if (known.has_beta && next_beta < betas.size()) a->beta = betas[next_beta++];
    found.push_back(*std::move(a));
  }
  return found;
}

}  // namespace ingot::onnx
