// codegen/emit_project.h: an artefact as a folder of C++ that builds without ingot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codegen/toolchain.h"

namespace ingot {

/// Writes kernels, model.cc, the runtime's sources, ingot.h, weights.bin and a CMakeLists.txt into
/// a new folder at `output`, which must not exist or be empty. Errors: io, resource_exhausted.
Status write_project(const std::filesystem::path& output, const ModelDescription& model,
                     const SourceFile& model_source, const std::vector<SourceFile>& kernels,
                     const std::filesystem::path& weights, const Toolchain& toolchain);

/// What the entry of a static library is called: ingot_model_v1_NAME, after its file libNAME.a or
/// NAME.a.
std::string static_entry(const std::filesystem::path& library);

/// Writes a header beside a static library: ingot.h and the declaration of the entry.
Status write_header(const std::filesystem::path& library);

}  // namespace ingot
