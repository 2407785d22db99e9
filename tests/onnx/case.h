// tests/onnx/case.h: one case in the form of ONNX's backend tests: a folder with model.onnx and
// test_data_set_N/{input,output}_K.pb, run by the reference interpreter.
#pragma once

#include <filesystem>
#include <string>

#include "frontend/import.h"

namespace ingot::testing {

enum class Outcome {
  passed,
  passed_with_constants,  // after inputs that are shapes, axes, ... became constants
  unsupported,            // some node has no core operator, or an input or output is no tensor
  failed,
};

struct CaseResult {
  Outcome outcome = Outcome::failed;
  std::string message;
};

/// Tolerances of ONNX's own runner, unless the folder's data.json says otherwise.
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kAbsoluteTolerance = 1e-7;

/// Imports the model, runs each data set, compares every output.
CaseResult run_case(const std::filesystem::path& folder);

/// The model as a run of the first data set has it: with constants for inputs that are shapes,
/// axes, ... if there is no other way. Errors: unsupported; those of the importer.
Result<ImportedModel> import_case(const std::filesystem::path& folder);

}  // namespace ingot::testing
