// cli/model_options.h: options of every command that reads a model: dims, shapes, targets, passes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "codegen/compile.h"
#include "frontend/import.h"

namespace ingot::cli {

/// `--dim` and `--input-shape` as given.
struct DimOptions {
  std::vector<std::string> dims;    // NAME=VALUE, NAME=LO..HI, NAME=LO..HI,POINT,...
  std::vector<std::string> shapes;  // NAME=1,3,224,224
  void add_to(CLI::App& app);
  /// Errors: invalid_argument that quotes the text.
  Result<ImportOptions> parse() const;
  /// Every `--dim` as a number, for commands that run a model. Errors: invalid_argument.
  Result<std::map<std::string, int64_t>> values() const;
};

/// A dim for people and for --dim: its number, its symbol's name as the model has it, or the
/// expression.
std::string dim_text(const Expr& dim);

/// Options of a compilation as given on the command line.
struct CompileArguments {
  DimOptions dims;
  std::string target = "cpu";
  std::vector<std::string> cpus;
  std::string precision = "fp32";
  bool fast_math = false;
  std::string weights = "auto";
  std::string emit = "so";
  std::string tune = "off";
  std::string tuning_db;
  int threads = 0;
  bool updatable = false;
  std::vector<std::string> dump_after;
  std::string dump_directory;
  std::vector<std::string> disabled;
  std::string keep_source;
  std::string report;                // written by the caller
  std::vector<std::string> custom;   // JSON files
  std::vector<std::string> outputs;  // inner values that become outputs

  void add_to(CLI::App& app);
  /// Errors: invalid_argument, unsupported, toolchain.
  Result<CompileOptions> parse() const;
  /// What the reader of the model needs to know. Errors: invalid_argument.
  Result<ImportOptions> parse_import() const;
};

/// Reads a model and compiles it. `seconds_import` gets the time to read it.
/// Errors: those of import_model_with_summary and compile.
Result<CompileReport> compile_model(const std::filesystem::path& model,
                                    const std::filesystem::path& output,
                                    const CompileArguments& arguments, double* seconds_import);

/// A compiled library for `path`: itself if it is one, else the model compiled into the cache.
/// Errors: as compile_model; io.
Result<std::filesystem::path> compiled(const std::filesystem::path& path,
                                       const CompileArguments& arguments);

}  // namespace ingot::cli
