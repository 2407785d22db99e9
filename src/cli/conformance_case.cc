// cli/conformance_case.cc: reads, compiles, runs and compares one case.
#include "cli/conformance_case.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"
#include "cli/execute.h"
#include "frontend/import.h"
#include "frontend/onnx/tensor_data.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kStatusNames = {"pass", "fail", "unsupported", "crash"};

/// Which inputs become constants, from few to many.
enum class Bind : uint8_t { none, lists, single_numbers_too };

bool binds(Bind bind, const HostTensor& data) {
  if (bind == Bind::none || data.kind != HostTensor::Kind::tensor) return false;
  const bool list = data.dims.size() <= 1 && (is_int(data.dtype) || data.dtype == DType::b8);
  return list || (bind == Bind::single_numbers_too && count_of(data.dims) == 1);
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (int k = 0; fs::is_directory(folder / concat("test_data_set_", k)); ++k) {
    sets.push_back(folder / concat("test_data_set_", k));
  }
  return sets;
}

/// What a data set gives to each of the model's inputs.
Result<std::vector<HostTensor>> read_inputs(const fs::path& set, const Graph& graph) {
  std::vector<HostTensor> inputs;
  for (size_t k = 0; k < graph.inputs().size(); ++k) {
    const fs::path path = set / concat("input_", k, ".pb");
    if (!fs::exists(path)) {
      return invalid_argument(path.string(), ": expected data for input '", graph.inputs()[k].name,
                              "', got no such file");
    }
    TRY(HostTensor data, read_pb(path, kind_of(graph.type(graph.inputs()[k].value))));
    inputs.push_back(std::move(data));
  }
  return inputs;
}

class Case {
 public:
  Case(fs::path folder, const CompileOptions& options, Tolerance tolerance)
      : folder_(std::move(folder)), options_(options), tolerance_(tolerance) {}

  CaseResult run() {
    const Status status = run_all();
    if (!status) {
      const bool skipped = status.error().code == Code::kUnsupported;
      result_.status = skipped ? CaseStatus::unsupported : CaseStatus::fail;
      result_.message = to_text(status.error());
    } else {
      result_.status = CaseStatus::pass;
    }
    return std::move(result_);
  }

 private:
  /// What data.json says. Errors: invalid_model.
  Status read_settings() {
    const fs::path path = folder_ / "data.json";
    if (!fs::exists(path)) return ok();
    TRY(const std::string text, read_text(path));
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      return invalid_model(path.string(), ": expected a JSON object");
    }
    if (json.contains("rtol") && json["rtol"].is_number()) tolerance_.relative = json["rtol"];
    if (json.contains("atol") && json["atol"].is_number()) tolerance_.absolute = json["atol"];
    return ok();
  }

  void name_operator(const ModelSummary& summary) {
    for (const auto& [domain, version] : summary.opsets) {
      if (domain.empty()) result_.opset = version;
    }
    if (summary.operators.size() != 1) {
      result_.op = summary.operators.empty() ? "none" : "several";
      return;
    }
    const OperatorCount& op = summary.operators[0];
    result_.op = op.domain.empty() ? op.op_type : concat(op.domain, ".", op.op_type);
    result_.opset = op.opset;
  }

  Status run_all() {
    TRY_STATUS(read_settings());
    TRY(const ImportedModel plain, import_model_with_summary(folder_ / "model.onnx"));
    name_operator(plain.summary);
    const auto sets = data_sets(folder_);
    if (sets.empty()) {
      return invalid_argument(folder_.string(), ": expected a folder test_data_set_0");
    }
    Status status = ok();
    for (const Bind bind : {Bind::none, Bind::lists, Bind::single_numbers_too}) {
      const auto again = run_bound(plain.graph, sets, bind);
      // The first reason is the one that people want to know, unless a later try gets further.
      if (bind == Bind::none || again || again.error().code != Code::kUnsupported) status = again;
      if (again || again.error().code != Code::kUnsupported) break;
    }
    return status;
  }

  Status run_bound(const Graph& plain, const std::vector<fs::path>& sets, Bind bind) {
    std::optional<LoadedModel> model;
    std::vector<std::string> bound;
    for (const fs::path& set : sets) {
      TRY(const auto given, read_inputs(set, plain));
      // Constants are those of one data set.
      if (!model || !bound.empty()) {
        bound.clear();
        ImportOptions import;
        for (size_t k = 0; k < given.size(); ++k) {
          if (!binds(bind, given[k])) continue;
          bound.push_back(plain.inputs()[k].name);
          TRY(const Tensor value, to_tensor(given[k]));
          import.constants[bound.back()] = to_constant(value);
        }
        if (bind != Bind::none && bound.empty()) return unsupported("no input to make constant");
        TRY(LoadedModel made, build(import));
        model.emplace(std::move(made));
      }
      TRY_STATUS(add_note(run_set(*model, plain, set, given, bound), set.filename().string()));
    }
    if (!bound.empty()) result_.message = concat("with constant inputs: ", join(bound, ", "));
    return ok();
  }

  Result<LoadedModel> build(const ImportOptions& import) {
    TRY(ImportedModel imported, import_model_with_summary(folder_ / "model.onnx", import));
    if (!imported.summary.unsupported.empty()) {
      const UnimplementedNode& node = imported.summary.unsupported[0];
      return unsupported(node.op_type, "-", node.opset, ": ", node.reason);
    }
    TRY(const TempDir folder, TempDir::create());
    const auto library = folder.path() / "case.so";
    TRY(const auto report, compile(std::move(imported.graph), library, options_));
    (void)report;
    return LoadedModel::open(library.string());
  }

  Status run_set(const LoadedModel& model, const Graph& plain, const fs::path& set,
                 const std::vector<HostTensor>& given, const std::vector<std::string>& bound) {
    std::vector<HostTensor> inputs;
    for (size_t k = 0; k < given.size(); ++k) {
      if (std::ranges::find(bound, plain.inputs()[k].name) != bound.end()) continue;
      inputs.push_back(given[k]);
    }
    const ingot_run_options options = INGOT_INIT(ingot_run_options);
    TRY(const std::vector<HostTensor> outputs, execute(model, inputs, options));
    for (size_t k = 0; k < outputs.size(); ++k) {
      const std::string name = plain.outputs()[k].name;
      TRY(const HostTensor stored, read_pb(set / concat("output_", k, ".pb"), outputs[k].kind));
      TRY(const Tensor expected, to_tensor(stored));
      TRY(const Tensor got, to_tensor(outputs[k]));
      const Difference difference = compare(got, expected, tolerance_);
      if (!difference.text.empty()) {
        return invalid_argument("output '", name, "': ", difference.text);
      }
    }
    return ok();
  }

  fs::path folder_;
  const CompileOptions& options_;
  Tolerance tolerance_;
  CaseResult result_;
};

}  // namespace

std::string_view to_text(CaseStatus status) {
  return kStatusNames[static_cast<size_t>(status)];
}

std::optional<CaseStatus> case_status_from_text(std::string_view text) {
  for (size_t k = 0; k < kStatusNames.size(); ++k) {
    if (kStatusNames[k] == text) return static_cast<CaseStatus>(k);
  }
  return std::nullopt;
}

CaseResult run_case(const fs::path& folder, const CompileOptions& options, Tolerance tolerance) {
  return Case(folder, options, tolerance).run();
}

}  // namespace ingot::cli
