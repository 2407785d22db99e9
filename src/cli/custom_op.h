// cli/custom_op.h: custom operators described in JSON files.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "codegen/compile.h"
#include "frontend/import.h"

namespace ingot::cli {

void add_custom_op_option(CLI::App& app, std::vector<std::string>& paths);

/// Makes the operators of these files known to the reader of a model and to its compilation. A file
/// holds one operator, or a list of them (docs/custom-operators.md); files that it names lie beside
/// it. Errors: io, invalid_argument that names the file and the field.
Status add_custom_op_files(const std::vector<std::string>& paths, ImportOptions& import,
                           CompileOptions& compile);

}  // namespace ingot::cli
