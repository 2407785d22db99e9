// cli/custom_op.h: custom operators described in JSON files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ingot/compiler.h"

namespace ingot::cli {

/// Reads a file of one operator, or a list of them (docs/custom-operators.md). Files that it names
/// lie beside it. Errors: io, invalid_argument that names the file and the field.
Result<std::vector<compiler::CustomOperator>> read_custom_operators(const std::string& path);

}  // namespace ingot::cli
