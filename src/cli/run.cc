// cli/run.cc: ingot run.
#include <chrono>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/execute.h"
#include "cli/output.h"

namespace ingot::cli {
namespace {

struct Options {
  std::string model, output_directory, profile;
  InputOptions inputs;
  std::vector<std::string> extra_outputs;
  int threads = 0;
  int64_t repeat = 1;
  bool print = false, json = false, verify_weights = false;
};

/// A file name for an output: everything but letters, digits and -._ becomes %XX.
std::string file_name(std::string_view output) {
  std::string name;
  for (const char c : output) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  // File systems take 255 bytes; what is cut off is told apart by its hash.
  constexpr size_t kMost = 200;
  if (name.size() > kMost) return concat(name.substr(0, kMost), "-", to_text(hash_text(output)));
  return name.empty() ? std::string("%") : name;
}

/// Whether an output is written as ONNX's messages: NumPy's format has neither strings of any bytes
/// nor containers.
bool is_pb(const ingot_value_info& output) {
  return output.kind != INGOT_KIND_TENSOR || output.dtype == INGOT_STRING;
}

std::filesystem::path output_file(const Options& options, const ingot_value_info& output) {
  return std::filesystem::path(options.output_directory) /
         (file_name(output.name) + (is_pb(output) ? ".pb" : ".npy"));
}

/// What is going to be written must not be what is read. Errors: invalid_argument.
Status check_files(const Options& options, const LoadedModel& model) {
  if (!options.profile.empty()) TRY_STATUS(check_json_output(options.profile));
  if (options.output_directory.empty()) return ok();
  for (uint32_t k = 0; k < model.description().output_count; ++k) {
    const std::string written = output_file(options, model.output(k)).string();
    for (const std::string& text : options.inputs.inputs) {
      // NAME=FILE, of which the name may hold '=', too.
      for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
        if (!is_same_file(written, text.substr(at + 1))) continue;
        return invalid_argument(written, ": expected another folder for what is written, this is ",
                                "the file of an input");
      }
    }
  }
  return ok();
}

/// Steps of the last run, for --profile.
struct Profile {
  Json steps = Json::array();
  static void take(void* context, const ingot_profile_event* event) {
    static_cast<Profile*>(context)->steps.push_back(
        {{"name", event->name},
         {"nodes", event->provenance},
         {"ms", static_cast<double>(event->end_ns - event->start_ns) / 1e6},
         {"units", event->units},
         {"threads", event->threads}});
  }
};

std::string one_line(const HostTensor& tensor) {
  std::string text = values_json(tensor).dump();
  constexpr size_t kMost = 2000;
  if (text.size() > kMost) text = text.substr(0, kMost) + " ...";
  return text;
}

Result<int> run(const Options& options) {
  if (options.repeat < 1)
    return invalid_argument("--repeat: expected 1 or more, got ", options.repeat);
  CompileArguments compile;
  compile.dims.shapes = options.inputs.dims.shapes;
  compile.outputs = options.extra_outputs;
  TRY(const std::filesystem::path library, compiled(options.model, compile));
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.threads = options.threads;
  open.verify_weights = options.verify_weights ? 1 : 0;
  TRY(const LoadedModel model, LoadedModel::open(library.string(), open));
  TRY_STATUS(check_files(options, model));
  TRY(const std::vector<HostTensor> inputs, gather_inputs(input_ports(model), options.inputs));

  ingot_run_options run_options = INGOT_INIT(ingot_run_options);
  run_options.cancel = interrupted_flag();
  std::vector<HostTensor> outputs;
  std::vector<double> times_ms;
  Profile profile;
  for (int64_t k = 0; k < options.repeat; ++k) {
    if (!options.profile.empty() && k + 1 == options.repeat) {
      run_options.profile = {&profile, Profile::take};
    }
    const auto start = std::chrono::steady_clock::now();
    TRY(outputs, execute(model, inputs, run_options));
    times_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  if (!options.profile.empty()) {
    TRY_STATUS(write_json(options.profile, Json{{"steps", profile.steps}}, 2));
  }

  std::sort(times_ms.begin(), times_ms.end());
  Json listed = Json::array();
  std::string text;
  if (!options.output_directory.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.output_directory, failed);
    if (failed) return io_error(options.output_directory, ": cannot be made: ", failed.message());
  }
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    const HostTensor& tensor = outputs[k];
    const std::string name = model.output(k).name;
    Json entry = {
        {"name", name}, {"dtype", std::string(to_text(tensor.dtype))}, {"shape", tensor.dims}};
    if (tensor.kind != HostTensor::Kind::tensor) {
      const bool is_map = tensor.kind == HostTensor::Kind::map;
      entry["kind"] = is_map                                      ? "map"
                      : tensor.kind == HostTensor::Kind::sequence ? "sequence"
                                                                  : "optional";
      entry["items"] = is_map ? tensor.items[0].dims[0] : std::ssize(tensor.items);
      if (tensor.key) entry["keys"] = std::string(to_text(*tensor.key));
    }
    text += concat(name, ": ", type_text(tensor));
    if (!options.output_directory.empty()) {
      const std::filesystem::path path = output_file(options, model.output(k));
      TRY_STATUS(write_atomically(
          path, is_pb(model.output(k)) ? format_pb(tensor, name) : format_npy(tensor)));
      entry["file"] = path.string();
      text += concat(" in ", path.string());
    } else if (options.print || options.json) {
      entry["values"] = values_json(tensor);
    }
    if (options.print) text += concat(" = ", one_line(tensor));
    text += "\n";
    listed.push_back(std::move(entry));
  }
  if (options.json) {
    print(
        Json{{"outputs", listed},
             {"latency", {{"min", times_ms.front()}, {"median", times_ms[times_ms.size() / 2]}}}});
  } else {
    print(text);
  }
  return 0;
}

}  // namespace

Run setup_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "a compiled model, or an .onnx file")->required();
  options->inputs.add_to(app);
  app.add_option("--output-dir", options->output_directory,
                 "folder for the outputs as .npy; strings and containers as ONNX .pb");
  app.add_option("--output", options->extra_outputs,
                 "an inner value of the .onnx file as one more output; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--print", options->print, "print the outputs' values");
  app.add_option("--threads", options->threads, "0: one per processor")->capture_default_str();
  app.add_option("--repeat", options->repeat, "runs")->capture_default_str();
  app.add_option("--profile", options->profile, "a JSON file of the last run's steps");
  app.add_flag("--verify-weights", options->verify_weights, "compare weights with their checksum");
  app.add_flag("--json", options->json, "print the result as JSON");
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
