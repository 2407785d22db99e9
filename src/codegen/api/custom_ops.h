// codegen/api/custom_ops.h: custom operators of the public interface as the compiler takes them.
#pragma once

#include <span>

#include "codegen/compile.h"
#include "frontend/import.h"
#include "ingot/compiler.h"

namespace ingot {

/// Makes the reader build the operators, and the linker take in their code.
/// Errors: invalid_argument for an operator that is incomplete or there twice.
Status add_custom_operators(std::span<const compiler::CustomOperator> operators,
                            ImportOptions& import, CompileOptions& options);

}  // namespace ingot
