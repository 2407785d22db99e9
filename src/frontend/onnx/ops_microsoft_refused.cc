// frontend/onnx/ops_microsoft_refused.cc: operators of onnxruntime's that models may well hold and
// that are not compiled, with the way around them.
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// Decoders are bodies of these, with inputs and outputs by convention.
Result<ValueIds> search(OpContext&) {
  return unsupported(
      "a whole search, with the decoder inside; export the decoder as a model of its own and "
      "search "
      "around it");
}

/// Weights lie in blocks of 8 or 16 channels, whichever suited the machine that wrote the file,
/// which it does not say.
Result<ValueIds> blocked(OpContext&) {
  return unsupported(
      "onnxruntime's own layout for one kind of processor; save the model with "
      "graph_optimization_level = ORT_ENABLE_EXTENDED or lower");
}

Result<ValueIds> experts(OpContext&) {
  return unsupported("mixtures of experts as one operator");
}

constexpr OpRow kRows[] = {
    {"com.microsoft.BeamSearch", 1, 0, kVariadic, search},
    {"com.microsoft.GreedySearch", 1, 0, kVariadic, search},
    {"com.microsoft.MoE", 1, 0, kVariadic, experts},
    {"com.microsoft.QMoE", 1, 0, kVariadic, experts},
    {"com.microsoft.Sampling", 1, 0, kVariadic, search},
    {"com.microsoft.WhisperBeamSearch", 1, 0, kVariadic, search},
    {"com.microsoft.nchwc.AveragePool", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.Conv", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.GlobalAveragePool", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.GlobalMaxPool", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.MaxPool", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.ReorderInput", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.ReorderOutput", 1, 0, kVariadic, blocked},
    {"com.microsoft.nchwc.Upsample", 1, 0, kVariadic, blocked},
};

}  // namespace

std::span<const OpRow> microsoft_refused_rows() {
  return kRows;
}

}  // namespace ingot::onnx
