// ops/page.h: the documentation page of the operators, from their definitions.
#pragma once

#include <span>
#include <string>

#include "ir/op_def.h"

namespace ingot {

/// Markdown: a table of contents, then per operator its formula, ports, attributes and accuracy.
/// docs/ops.md holds it; a test fails when that is stale.
std::string ops_page(std::span<const OpDef* const> ops);

}  // namespace ingot
