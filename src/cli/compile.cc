// cli/compile.cc: ingot compile.
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/plan_text.h"

namespace ingot::cli {
namespace {

struct Options {
  std::string model, output;
  bool json = false;
  CompileArguments compile;
};

Json seconds_json(const CompileReport& report, double import) {
  const CompileSeconds& s = report.seconds;
  return {{"import", import},         {"passes", s.passes}, {"codegen", s.codegen},
          {"toolchain", s.toolchain}, {"tuning", 0.0},      {"write", s.write},
          {"total", s.total + import}};
}

Json summary_json(const CompileReport& report, double import) {
  return {{"output", report.output.string()},        {"kernels", report.kernels},
          {"seconds", seconds_json(report, import)}, {"weight_bytes", report.weight_bytes},
          {"code_bytes", report.code_bytes},         {"workspace", report.workspace}};
}

Json report_json(const CompileReport& report, double import) {
  Json json = summary_json(report, import);
  json.update(plan_json(report));
  json["kernel_names"] = Json::array();
  for (const KernelRecord& kernel : report.kernel_records) {
    json["kernel_names"].push_back(kernel.name);
  }
  json["approximations"] = Json::array();
  json["notes"] = report.notes;
  Json passes = Json::array();
  for (const PassRecord& pass : report.passes) {
    passes.push_back({{"name", pass.name},
                      {"seconds", pass.seconds},
                      {"nodes", pass.nodes},
                      {"skipped", pass.skipped},
                      {"notes", pass.notes}});
  }
  json["passes"] = std::move(passes);
  return json;
}

Result<int> run(const Options& options) {
  double import = 0;
  // What cannot be written is told before the work, not after it.
  std::optional<AtomicFile> report_file;
  if (!options.compile.report.empty()) {
    if (is_same_file(options.compile.report, options.output)) {
      return invalid_argument("--report ", options.compile.report,
                              ": expected another name than that of --output");
    }
    TRY(AtomicFile file, AtomicFile::create(options.compile.report));
    report_file.emplace(std::move(file));
  }
  TRY(const CompileReport report,
      compile_model(options.model, options.output, options.compile, &import));
  if (report_file) {
    const std::string text =
        report_json(report, import).dump(2, ' ', false, Json::error_handler_t::replace);
    TRY_STATUS(report_file->write(text + "\n"));
    TRY_STATUS(report_file->commit());
  }
  if (options.json) {
    print(summary_json(report, import));
    return 0;
  }
  print(concat(report.output.string(), ": ", report.kernels, " kernels in ", report.steps,
               " steps, ", format_bytes(report.code_bytes), " of code, ",
               format_bytes(report.weight_bytes), " of weights, ",
               fmt::format("{:.2f}", report.seconds.total + import), " s\n"));
  return 0;
}

}  // namespace

Run setup_compile(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "an .onnx file")->required();
  app.add_option("-o,--output", options->output, "what to write")->required();
  app.add_option("--report", options->compile.report, "a JSON file that tells how it went");
  app.add_flag("--json", options->json, "print the result as JSON");
  options->compile.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
