// frontend/onnx/import.h: walks an ONNX model and builds the graph of core operators.
#pragma once

#include <memory>

#include "frontend/import.h"

namespace ingot::onnx {

/// The graph of the model in `bytes`, which `owner` keeps alive and constants point into. External
/// data is looked for below `folder` (empty: refused). Errors: as import_model.
Result<ImportedModel> import_onnx(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::filesystem::path& folder,
                                  const ImportOptions& options);

}  // namespace ingot::onnx
