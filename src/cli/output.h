// cli/output.h: files that commands write beside their main result.
#pragma once

#include <string>

#include "cli/command.h"

namespace ingot::cli {

/// What to look at before the work: a slip on the command line must not cost a model or its data.
/// Errors: invalid_argument if `path` has something else than JSON.
Status check_json_output(const std::string& path);

/// `indent`: -1 for one line. Errors: io, resource_exhausted; those of check_json_output.
Status write_json(const std::string& path, const Json& json, int indent);

/// Whether two paths are one file, or will be.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace ingot::cli
