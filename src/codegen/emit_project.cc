// codegen/emit_project.cc: --emit source and the header of --emit static.
#include "codegen/emit_project.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"
#include "codegen/resources.h"
#include "codegen/weights_file.h"
#include "codegen/writer.h"

namespace ingot {
namespace {

/// Folders that the runtime of artefacts lies in.
constexpr std::array<std::string_view, 2> kRuntime = {"artifact", "picture"};

/// Flags as CMake wants them: one string, no warnings of ours.
std::string flags_text(const Toolchain& toolchain, CpuLevel level) {
  std::vector<std::string> kept;
  for (const std::string& flag : ObjectBuilder::flags(toolchain, level)) {
    if (!flag.starts_with("-std=") && flag != "-fPIC") kept.push_back(flag);
  }
  return join(kept, ";");
}

std::string project_text(const ModelDescription& model, const std::vector<SourceFile>& kernels,
                         const Toolchain& toolchain) {
  Writer out;
  out.line("# CMakeLists.txt: builds the model as a shared library without ingot.");
  out.line("cmake_minimum_required(VERSION 3.20)");
  out.line("project(model LANGUAGES CXX ASM)");
  out.line("set(CMAKE_CXX_STANDARD 20)");
  out.line("set(CMAKE_POSITION_INDEPENDENT_CODE ON)");
  out.line("file(GLOB runtime ", join(kRuntime, "/*.cc "), "/*.cc)");
  std::string objects;
  for (CpuLevel level : model.levels) {
    std::vector<std::string> names;
    for (const SourceFile& file : kernels) names.push_back(file.name);
    if (names.empty()) continue;
    const std::string library = concat("kernels_", info(level).prelude_namespace);
    out.line("add_library(", library, " OBJECT ", join(names, " "), ")");
    out.line("target_compile_options(", library, " PRIVATE ", flags_text(toolchain, level), ")");
    objects += concat(" $<TARGET_OBJECTS:", library, ">");
  }
  const bool embedded = model.weights.kind == WeightsKind::embedded;
  out.line("add_library(model SHARED model.cc ${runtime}",
           model.weights.kind == WeightsKind::none ? "" : " weights.S", objects, ")");
  if (embedded) {
    out.line(
        "set_source_files_properties(weights.S PROPERTIES COMPILE_OPTIONS "
        "\"-I${CMAKE_CURRENT_SOURCE_DIR}\" OBJECT_DEPENDS "
        "${CMAKE_CURRENT_SOURCE_DIR}/weights.bin)");
  }
  out.line("set_target_properties(model PROPERTIES PREFIX \"\")");
  out.line("target_include_directories(model PRIVATE . include)");
  out.line(
      "target_compile_options(model PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2;-fvisibility=hidden;"
      "-fno-exceptions;-fno-rtti;-fno-threadsafe-statics>)");
  out.line("target_link_options(model PRIVATE -nostdlib -Wl,-Bsymbolic)");
  out.line("target_link_libraries(model PRIVATE m pthread c gcc)");
  return out.take();
}

}  // namespace

Status write_project(const std::filesystem::path& output, const ModelDescription& model,
                     const SourceFile& model_source, const std::vector<SourceFile>& kernels,
                     const std::filesystem::path& weights, const Toolchain& toolchain) {
  std::error_code failed;
  if (std::filesystem::exists(output) && !std::filesystem::is_empty(output, failed)) {
    return io_error(output.string(), ": expected a new or empty folder for --emit source");
  }
  // Built beside its place and renamed, so that there is never half a project.
  const std::filesystem::path parent =
      output.has_parent_path() ? output.parent_path() : std::filesystem::path(".");
  TRY(TempDir folder, TempDir::create(parent));
  const auto& root = folder.path();
  for (const std::string_view part : kRuntime) {
    std::filesystem::create_directories(root / part, failed);
  }
  std::filesystem::create_directories(root / "include/ingot", failed);
  for (const SourceFile& file : kernels) {
    TRY_STATUS(write_atomically(root / file.name, file.text));
  }
  TRY_STATUS(write_atomically(root / model_source.name, model_source.text));
  for (const Resource& file : resources()) {
    const std::string_view part = file.name.substr(0, file.name.find('/'));
    if (part == "include" || std::ranges::find(kRuntime, part) != kRuntime.end()) {
      TRY_STATUS(write_atomically(root / file.name, file.bytes));
    }
  }
  const bool embedded =
      model.weights.kind == WeightsKind::embedded || model.weights.embedded_bytes > 0;
  if (embedded) {
    TRY(const MappedFile bytes, MappedFile::open(weights));
    TRY_STATUS(write_atomically(root / "weights.bin", bytes.bytes()));
  }
  if (model.weights.kind != WeightsKind::none) {
    TRY_STATUS(write_atomically(
        root / "weights.S", weights_assembly(model.weights.hash, embedded ? "weights.bin" : "")));
  }
  if (model.weights.kind == WeightsKind::separate) {
    TRY_STATUS(write_side_weights(root / model.weights.file_name, weights, model.weights.hash));
  }
  TRY_STATUS(write_atomically(root / "CMakeLists.txt", project_text(model, kernels, toolchain)));
  std::filesystem::permissions(root, std::filesystem::perms(0755), failed);
  std::filesystem::remove(output, failed);
  std::filesystem::rename(root, output, failed);
  if (failed) return io_error(output.string(), ": cannot be written: ", failed.message());
  folder.keep();
  return ok();
}

std::string static_entry(const std::filesystem::path& library) {
  const std::string stem = library.stem().string();
  return concat("ingot_model_v1_", to_identifier(stem.starts_with("lib") ? stem.substr(3) : stem));
}

Status write_header(const std::filesystem::path& library) {
  auto header = library;
  header.replace_extension(".h");
  const std::string name = header.filename().string();
  return write_atomically(
      header,
      concat("/* ", to_comment(name), ": ", to_comment(library.filename().string()),
             ", a model compiled by ingot; its entry is at the end. */\n",
             resource("include/ingot/ingot.h"), "\n#ifdef __cplusplus\nextern \"C\"\n#endif\n",
             "/** The functions of this model, as ingot_model_v1() of a shared library. */\n",
             "const ingot_model_api* ", static_entry(library), "(void);\n"));
}

}  // namespace ingot
