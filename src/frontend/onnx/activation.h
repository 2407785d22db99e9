// frontend/onnx/activation.h: activations that several operators have, some of them by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// x Phi(x), Phi the normal distribution.
Expr gelu(Expr x);
/// The same with tanh for Phi. Source: Hendrycks and Gimpel, arXiv 1606.08415.
Expr gelu_by_tanh(Expr x);
/// x sigmoid(alpha x).
Expr swish(Expr x, double alpha);

/// An activation of a recurrent cell, with its parameters. Source: ONNX LSTM-22.
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;

  Expr operator()(Expr x) const;
};

/// The activation of an operator of that name, upper or lower case, with its usual parameters.
std::optional<Activation> find_activation(std::string name);

/// The attributes activations, activation_alpha and activation_beta; `usual` where they are absent.
/// Errors: invalid_model for unknown names, or another number of them than there are usual ones.
Result<std::vector<Activation>> read_activations(OpContext& n, std::vector<std::string> usual);

}  // namespace ingot::onnx
