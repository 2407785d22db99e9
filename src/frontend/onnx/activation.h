// frontend/onnx/activation.h: the activations of recurrent cells, by name.
#pragma once

#include <string>
#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// An activation with its parameters. Source: ONNX LSTM-22.
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;

  Expr operator()(Expr x) const;
};

/// The attributes activations, activation_alpha and activation_beta; `usual` where they are absent.
/// Errors: invalid_model for unknown names, or another number of them than there are usual ones.
Result<std::vector<Activation>> read_activations(OpContext& n, std::vector<std::string> usual);

}  // namespace ingot::onnx
