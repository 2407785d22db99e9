// cli/plan_text.h: what a compilation's plan says, as JSON and for people.
#pragma once

#include <string>

#include "cli/command.h"
#include "codegen/compile.h"

namespace ingot::cli {

/// `nodes`, `shape_nodes`, `run_time_sizes`, `kernels`, `steps`, `kernel_list`, `workspace` and
/// `memory` of a report; contracts of `--report` and `inspect`.
Json plan_json(const CompileReport& report);

/// The same in a few lines.
std::string plan_text(const CompileReport& report);

}  // namespace ingot::cli
