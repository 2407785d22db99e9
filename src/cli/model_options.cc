// cli/model_options.cc: parses options of models and compilations; compiles into the cache.
#include "cli/model_options.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/custom_op.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "target/target.h"

namespace ingot::cli {
namespace {

constexpr std::string_view kDimForm = "NAME=VALUE, NAME=LO..HI or NAME=LO..HI,POINT,...";

/// "NAME=REST". Errors: invalid_argument.
Result<std::pair<std::string, std::string>> split_assignment(const std::string& text,
                                                             std::string_view option,
                                                             std::string_view form) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return invalid_argument(option, ": expected ", form, ", got '", text, "'");
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<int64_t> parse_size(std::string_view text, std::string_view option, const std::string& all) {
  const auto value = parse_int(trim(text));
  if (!value || *value < 0 || *value > kMaxDim) {
    return invalid_argument(option, ": expected sizes from 0 to ", kMaxDim, ", got '", all, "'");
  }
  return *value;
}

Error given_twice(std::string_view option, const std::string& text) {
  return invalid_argument(option, " ", text, ": its name is given twice");
}

Result<Range> parse_range(const std::string& text, const std::string& all) {
  const std::vector<std::string_view> parts = split(text, ',');
  const size_t dots = parts[0].find("..");
  if (dots == std::string_view::npos) {
    if (parts.size() > 1)
      return invalid_argument("--dim: expected ", kDimForm, ", got '", all, "'");
    TRY(const int64_t value, parse_size(parts[0], "--dim", all));
    return Range{value, value};
  }
  TRY(const int64_t lo, parse_size(parts[0].substr(0, dots), "--dim", all));
  TRY(const int64_t hi, parse_size(parts[0].substr(dots + 2), "--dim", all));
  if (lo > hi) return invalid_argument("--dim: expected LO <= HI, got '", all, "'");
  // Points behind the range only choose what is tuned.
  for (size_t k = 1; k < parts.size(); ++k) {
    TRY(const int64_t point, parse_size(parts[k], "--dim", all));
    if (point < lo || point > hi) {
      return invalid_argument("--dim: expected points from ", lo, " to ", hi, ", got '", all, "'");
    }
  }
  return Range{lo, hi};
}

std::filesystem::path sum_file(std::filesystem::path library) {
  return library += ".sum";
}

/// Whether a library of the cache is there and has the hash that was written down for it.
bool is_whole(const std::filesystem::path& library) {
  const auto file = MappedFile::open(library);
  const auto sum = read_text(sum_file(library));
  return file && sum && *sum == to_text(hash_bytes(file->bytes()));
}

/// Adds what the model's other files are known by: name, size and time of the last change.
Status add_other_files(Hasher& hasher, const std::filesystem::path& model,
                       const ImportOptions& import) {
  TRY(const ImportedModel imported, import_model_with_summary(model, import));
  for (size_t k = 1; k < imported.files.size(); ++k) {
    const ModelFile& file = imported.files[k];
    std::error_code ignored;
    const auto time = std::filesystem::last_write_time(file.path, ignored);
    hasher.add_field(
        concat(file.path.string(), " ", file.bytes.size(), " ", time.time_since_epoch().count()));
  }
  return ok();
}

Result<EmitKind> parse_emit(const std::string& text) {
  if (text == "so") return EmitKind::shared_library;
  if (text == "static") return EmitKind::static_library;
  if (text == "source") return EmitKind::source;
  return invalid_argument("--emit: expected so, static or source, got '", text, "'");
}

Result<WeightsChoice> parse_weights(const std::string& text) {
  if (text == "auto") return WeightsChoice::automatic;
  if (text == "embedded") return WeightsChoice::embedded;
  if (text == "separate") return WeightsChoice::separate;
  if (text == "stripped") return WeightsChoice::stripped;
  return invalid_argument("--weights: expected auto, embedded, separate or stripped, got '", text,
                          "'");
}

}  // namespace

std::string dim_text(const Expr& dim) {
  return dim.kind() == ExprKind::symbol ? dim.pool().symbol_info(dim.symbol()).name : to_text(dim);
}

void DimOptions::add_to(CLI::App& app) {
  app.add_option("--dim", dims, "a dimension: NAME=VALUE or NAME=LO..HI[,POINT...]")
      ->allow_extra_args(false);
  app.add_option("--input-shape", shapes, "the shape of an input: NAME=1,3,224,224")
      ->allow_extra_args(false);
}

Result<ImportOptions> DimOptions::parse() const {
  ImportOptions options;
  for (const std::string& text : dims) {
    TRY(auto named, split_assignment(text, "--dim", kDimForm));
    TRY(const Range range, parse_range(named.second, text));
    if (!options.dims.emplace(named.first, range).second) return given_twice("--dim", text);
  }
  for (const std::string& text : shapes) {
    TRY(auto named, split_assignment(text, "--input-shape", "NAME=SIZE,SIZE,..."));
    std::vector<std::optional<int64_t>> sizes;
    for (std::string_view part : split(named.second, ',')) {
      if (trim(part) == "?") {
        sizes.push_back(std::nullopt);
        continue;
      }
      TRY(const int64_t size, parse_size(part, "--input-shape", text));
      sizes.push_back(size);
    }
    if (!options.shapes.emplace(named.first, std::move(sizes)).second) {
      return given_twice("--input-shape", text);
    }
  }
  return options;
}

Result<std::map<std::string, int64_t>> DimOptions::values() const {
  std::map<std::string, int64_t> result;
  for (const std::string& text : dims) {
    TRY(auto named, split_assignment(text, "--dim", "NAME=VALUE"));
    TRY(const int64_t value, parse_size(named.second, "--dim", text));
    if (!result.emplace(named.first, value).second) return given_twice("--dim", text);
  }
  return result;
}

void CompileArguments::add_to(CLI::App& app) {
  dims.add_to(app);
  app.add_option("--target", target, "cpu, cuda:ARCH or hip:ARCH")->capture_default_str();
  app.add_option("--cpu", cpus, "native, x86-64, x86-64-v3, x86-64-v4; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--precision", precision, "fp32 (others not yet)")->capture_default_str();
  app.add_flag("--fast-math", fast_math, "allow approximations (none are made so far)");
  app.add_option("--weights", weights, "auto, embedded, separate or stripped")
      ->capture_default_str();
  app.add_option("--emit", emit, "so, static or source")->capture_default_str();
  app.add_flag("--updatable", updatable, "keep constants replaceable at run time");
  app.add_option("--tune", tune, "off, or seconds (not yet)")->capture_default_str();
  app.add_option("--tuning-db", tuning_db, "file of tuning records (not yet)");
  app.add_option("--threads", threads, "compile jobs; 0: one per processor")->capture_default_str();
  app.add_option("--dump-after", dump_after, "write the graph after a pass")
      ->allow_extra_args(false);
  app.add_option("--dump-dir", dump_directory, "folder for --dump-after");
  app.add_option("--disable-pass", disabled, "leave out a pass or rule")->allow_extra_args(false);
  add_custom_op_option(app, custom);
  app.add_option("--keep-source", keep_source, "folder for the generated sources");
}

Result<CompileOptions> CompileArguments::parse() const {
  CompileOptions options;
  TRY(options.target, make_target(target, cpus));
  TRY(options.emit, parse_emit(emit));
  TRY(options.weights, parse_weights(weights));
  if (precision != "fp32") {
    return unsupported("--precision ", precision, ": this version computes in fp32");
  }
  if (tune != "off" && !parse_number(tune)) {
    return invalid_argument("--tune: expected off or seconds, got '", tune, "'");
  }
  if (!tuning_db.empty()) return unsupported("--tuning-db: this version keeps no measurements yet");
  if (tune != "off") return unsupported("--tune ", tune, ": this version has nothing to tune yet");
  if (threads < 0) return invalid_argument("--threads: expected 0 or more, got ", threads);
  if (!dump_after.empty() && dump_directory.empty()) {
    return invalid_argument("--dump-after: expected --dump-dir as well");
  }
  options.updatable = updatable;
  options.threads = threads;
  options.keep_source = keep_source;
  options.disabled_passes.insert(disabled.begin(), disabled.end());
  TRY_STATUS(check_switch_names("--disable-pass", options.disabled_passes));
  options.dump_after.insert(dump_after.begin(), dump_after.end());
  TRY_STATUS(check_pass_names("--dump-after", options.dump_after));
  options.dump_directory = dump_directory;
  options.cancel = &interrupted();
  const auto cache = cache_folder();
  if (!cache.empty()) options.cache = cache / "objects";
  TRY(options.toolchain, find_toolchain(requested_compiler()));
  return options;
}

Result<ImportOptions> CompileArguments::parse_import() const {
  TRY(ImportOptions options, dims.parse());
  options.outputs = outputs;
  return options;
}

namespace {

/// Errors: invalid_argument if what is going to be written is a file of the model.
Status check_kept(std::span<const ModelFile> files, const std::string& written) {
  for (const ModelFile& file : files) {
    std::error_code missing;
    if (!written.empty() && std::filesystem::equivalent(file.path, written, missing)) {
      return invalid_argument(written, ": expected another name for what is written, this is ",
                              "a file of the model");
    }
  }
  return ok();
}

}  // namespace

Result<CompileReport> compile_model(const std::filesystem::path& model,
                                    const std::filesystem::path& output,
                                    const CompileArguments& arguments, double* seconds_import) {
  const auto start = std::chrono::steady_clock::now();
  TRY(CompileOptions options, arguments.parse());
  TRY(ImportOptions import, arguments.parse_import());
  TRY_STATUS(add_custom_op_files(arguments.custom, import, options));
  TRY(ImportedModel imported, import_model_with_summary(model, import));
  for (const std::string& path :
       {output.string(), concat(output.string(), ".weights"), arguments.report}) {
    TRY_STATUS(check_kept(imported.files, path));
    if (!path.empty() && path == arguments.report) TRY_STATUS(check_json_output(path));
  }
  if (!imported.files.empty()) options.model_hash = to_text(hash_bytes(imported.files[0].bytes));
  options.source_of = [&](const ConstantData& data) { return find_source(imported.files, data); };
  Progress progress;
  options.progress = [&](std::string_view stage, double fraction) {
    progress.update(fraction, stage);
  };
  *seconds_import = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return add_note(compile(std::move(imported.graph), output, options), model.string());
}

Result<std::filesystem::path> compiled(const std::filesystem::path& path,
                                       const CompileArguments& arguments) {
  TRY(const MappedFile file, MappedFile::open(path));
  if (file.text().starts_with("\x7f"
                              "ELF")) {
    if (arguments.outputs.empty()) return path;
    return invalid_argument("--output ", arguments.outputs[0], ": ", path.string(),
                            ": expected the model it was compiled from, which is compiled again "
                            "with the inner value, got a compiled one");
  }
  const auto cache = cache_folder();
  if (cache.empty()) {
    return io_error(path.string(), ": no cache folder to compile it into: set INGOT_CACHE_DIR");
  }
  Hasher hasher;
  hasher.add(file.bytes());
  hasher.add_field(std::filesystem::absolute(path).string());
  for (const auto* list :
       {&arguments.dims.shapes, &arguments.cpus, &arguments.disabled, &arguments.outputs}) {
    for (const std::string& text : *list) hasher.add_field(text);
    hasher.add_field("");
  }
  hasher.add_field(to_text(Target{{host_level()}}));
  hasher.add_field(requested_compiler());
  // Another build of this program may compile the model to something else.
  if (const auto self = MappedFile::open("/proc/self/exe")) hasher.add(self->bytes());
  // The dims given are those of the run; the library takes all that the model allows.
  CompileArguments whole = arguments;
  whole.dims.dims.clear();
  TRY(const ImportOptions import, whole.parse_import());
  TRY_STATUS(add_other_files(hasher, path, import));
  std::error_code failed;
  std::filesystem::create_directories(cache / "models", failed);
  if (failed) return io_error(cache.string(), ": cannot be made: ", failed.message());
  const auto library = cache / "models" / concat(to_text(hasher.finish()), ".so");
  // Beside the library lies its hash: a damaged one is made again.
  if (is_whole(library)) return library;
  double seconds = 0;
  TRY([[maybe_unused]] const auto report, compile_model(path, library, whole, &seconds));
  TRY(const MappedFile made, MappedFile::open(library));
  TRY_STATUS(write_atomically(sum_file(library), to_text(hash_bytes(made.bytes()))));
  return library;
}

}  // namespace ingot::cli
