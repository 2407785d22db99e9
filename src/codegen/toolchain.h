// codegen/toolchain.h: the C++ compiler behind the code generator, and its cache of objects.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "codegen/model_writer.h"

namespace ingot {

/// A C++ compiler that was found and asked for its version.
struct Toolchain {
  enum class Family : uint8_t { gnu, clang } family = Family::gnu;
  std::string command;  // "g++" or a path
  std::string version;  // "g++ 12.2.0"
  int major = 0;
};

/// `requested` (a command or path; contracts: INGOT_CXX), or the first of g++, clang++, c++ that
/// works. Errors: toolchain, saying what was tried and how to get one.
Result<Toolchain> find_toolchain(const std::string& requested);

/// How hard the compiler tries. What runs once or only holds tables is compiled lightly, in half
/// the time.
enum class Effort : uint8_t { light, full };

/// One compiler for one artefact.
class ObjectBuilder {
 public:
  struct Options {
    Toolchain toolchain;
    std::filesystem::path directory;  // for sources and objects
    std::filesystem::path cache;      // of objects; empty: none
    const std::atomic<bool>* cancel = nullptr;
    bool strict = false;  // a warning in generated code is an error
  };
  explicit ObjectBuilder(Options options) : options_(std::move(options)) {}

  /// Compiles a unit for a level (kernels) or for the baseline; the object's path.
  /// Errors: toolchain with the compiler's first lines; resource_exhausted; cancelled.
  Result<std::filesystem::path> compile(const SourceFile& source, CpuLevel level,
                                        Effort effort = Effort::full) const;

  /// Appends the objects with the bodies of tiles for these levels; linking keeps what is used.
  Status add_tiles(const std::vector<CpuLevel>& levels,
                   std::vector<std::filesystem::path>& objects) const;

  /// Compiles a unit in C that may include ingot/custom.h, for the baseline; the object's path.
  /// Errors: as compile.
  Result<std::filesystem::path> compile_c(const SourceFile& source) const;

  /// An object with what weights_assembly() says.
  Result<std::filesystem::path> weights(const Hash128& hash,
                                        const std::filesystem::path& embedded) const;

  /// Links objects and the artefact's runtime into a shared library.
  Status link(const std::vector<std::filesystem::path>& objects,
              const std::filesystem::path& output) const;

  /// Joins objects and the artefact's runtime into a static library whose only global symbol is
  /// `entry`, so that several fit into one program.
  Status archive(const std::vector<std::filesystem::path>& objects, const std::string& entry,
                 const std::filesystem::path& output) const;

  /// Flags a unit is compiled with, as `--emit source` writes them into its CMakeLists.txt.
  static std::vector<std::string> flags(const Toolchain& toolchain, CpuLevel level,
                                        Effort effort = Effort::full);

 private:
  Result<std::filesystem::path> runtime() const;
  Status run(const std::vector<std::string>& arguments, std::string_view doing) const;
  Status check_made(const std::filesystem::path& output, std::string_view doing) const;

  Options options_;
};

}  // namespace ingot
