// cli/conformance_case.h: one case of the ONNX backend-test form through the compiled path.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/compare.h"
#include "codegen/compile.h"

namespace ingot::cli {

enum class CaseStatus : uint8_t { pass, fail, unsupported, crash };
std::string_view to_text(CaseStatus status);
std::optional<CaseStatus> case_status_from_text(std::string_view text);

struct CaseResult {
  CaseStatus status = CaseStatus::fail;
  std::string op;       // the model's operator; "several" if there are more
  int64_t opset = 0;    // of the operators, or of the model if there are several
  std::string message;  // why; for a pass, which inputs became constants
};

/// Compiles `folder`/model.onnx and compares it on every test_data_set_*. Inputs that decide shapes
/// of the model become constants if it can be compiled in no other way: first lists of integers,
/// then single numbers too. A data.json may set rtol and atol. A fault in the compiled code ends
/// the process, so this is called in one of its own.
CaseResult run_case(const std::filesystem::path& folder, const CompileOptions& options,
                    Tolerance tolerance);

}  // namespace ingot::cli
