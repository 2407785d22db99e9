// codegen/api/compiler_api.cc: include/ingot/compiler.h over the stages of the compiler.
#include <chrono>

#include "base/hash.h"
#include "base/text.h"
#include "codegen/api/custom_ops.h"

namespace ingot::compiler {
namespace {

using Clock = std::chrono::steady_clock;

Result<ImportOptions> import_options(const Options& options) {
  ImportOptions import;
  for (const auto& [name, range] : options.dims) {
    if (range.min < 0 || range.min > range.max || range.max > kMaxDim) {
      return invalid_argument("dims: '", name, "': expected 0 <= min <= max <= ", kMaxDim, ", got ",
                              range.min, " and ", range.max);
    }
    import.dims[name] = Range{range.min, range.max};
  }
  import.shapes = options.input_shapes;
  import.folder = options.external_data;
  return import;
}

WeightsChoice weights_of(Weights weights) {
  switch (weights) {
    case Weights::embedded:
      return WeightsChoice::embedded;
    case Weights::separate:
      return WeightsChoice::separate;
    case Weights::stripped:
      return WeightsChoice::stripped;
    case Weights::automatic:
      break;
  }
  return WeightsChoice::automatic;
}

EmitKind emit_of(Emit emit) {
  switch (emit) {
    case Emit::static_library:
      return EmitKind::static_library;
    case Emit::source:
      return EmitKind::source;
    case Emit::shared_library:
      break;
  }
  return EmitKind::shared_library;
}

Result<CompileOptions> compile_options(const Options& options) {
  CompileOptions result;
  TRY(result.target, make_target(options.target, options.cpus));
  if (options.precision != "fp32") {
    return unsupported("precision ", options.precision, ": this version computes in fp32");
  }
  if (options.threads < 0) {
    return invalid_argument("threads: expected 0 or more, got ", options.threads);
  }
  if (!options.dump_after.empty() && options.dump_directory.empty()) {
    return invalid_argument("dump_after: expected dump_directory as well");
  }
  result.emit = emit_of(options.emit);
  result.weights = weights_of(options.weights);
  result.updatable = options.updatable;
  result.threads = options.threads;
  result.keep_source = options.keep_source;
  result.disabled_passes.insert(options.disabled_passes.begin(), options.disabled_passes.end());
  TRY_STATUS(check_switch_names("disabled_passes", result.disabled_passes));
  result.dump_after.insert(options.dump_after.begin(), options.dump_after.end());
  TRY_STATUS(check_pass_names("dump_after", result.dump_after));
  result.dump_directory = options.dump_directory;
  result.cache = options.cache_directory;
  result.cancel = options.cancel;
  result.progress = options.progress;
  TRY(result.toolchain, find_toolchain(options.cxx));
  return result;
}

Report report_of(const CompileReport& report, double seconds_import, ModelSummary summary) {
  const CompileSeconds& s = report.seconds;
  std::vector<std::string> kernels;
  for (const KernelRecord& kernel : report.kernel_records) kernels.push_back(kernel.name);
  return {.output = report.output.string(),
          .seconds_import = seconds_import,
          .seconds_passes = s.passes,
          .seconds_codegen = s.codegen,
          .seconds_toolchain = s.toolchain,
          .seconds_write = s.write,
          .seconds_total = s.total + seconds_import,
          .kernels = std::move(kernels),
          .steps = report.steps,
          .weight_bytes = report.weight_bytes,
          .code_bytes = report.code_bytes,
          .workspace = report.workspace,
          .notes = report.notes,
          .warnings = std::move(summary.warnings)};
}

/// Reads with `read(ImportOptions)` and compiles.
template <class Read>
Result<Report> compile_with(const Read& read, const std::string& output, const Options& options) {
  const auto start = Clock::now();
  TRY(CompileOptions chosen, compile_options(options));
  TRY(ImportOptions import, import_options(options));
  TRY_STATUS(add_custom_operators(options.operators, import, chosen));
  TRY(ImportedModel imported, read(import, chosen));
  chosen.source_of = [&](const ConstantData& data) { return find_source(imported.files, data); };
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  TRY(const CompileReport report, ingot::compile(std::move(imported.graph), output, chosen));
  return report_of(report, seconds, std::move(imported.summary));
}

Outcome outcome_of(Result<Report> result) {
  if (result) return {Code::ok, {}, *std::move(result)};
  return {static_cast<Code>(abi_status(result.error().code)), to_text(result.error()), {}};
}

}  // namespace

Outcome compile(const std::string& model, const std::string& output, const Options& options) {
  const auto read = [&](const ImportOptions& import,
                        CompileOptions& chosen) -> Result<ImportedModel> {
    TRY(ImportedModel imported, import_model_with_summary(model, import));
    if (!imported.files.empty()) chosen.model_hash = to_text(hash_bytes(imported.files[0].bytes));
    return imported;
  };
  return outcome_of(compile_with(read, output, options));
}

Outcome compile(std::span<const std::byte> model, std::string_view name, const std::string& output,
                const Options& options) {
  const auto read = [&](const ImportOptions& import, CompileOptions& chosen) {
    chosen.model_hash = to_text(hash_bytes(model));
    return import_model_bytes(model, name, import);
  };
  return outcome_of(compile_with(read, output, options));
}

}  // namespace ingot::compiler
