// frontend/lint.h: what is legal in a model and rarely meant.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Remarks on the ONNX model at `path`, of which `graph` was read: nodes, inputs and initializers
/// that nobody reads, f64 among f32, versions that do not go together, dims of different names that
/// must be equal. Errors: as import_model.
Result<std::vector<std::string>> lint_model(const std::filesystem::path& path, const Graph& graph);

}  // namespace ingot
