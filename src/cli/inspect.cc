// cli/inspect.cc: ingot inspect, for models and for compiled models.
#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/custom_op.h"
#include "cli/model_options.h"
#include "cli/plan_text.h"
#include "frontend/lint.h"
#include "passes/passes.h"
#include "runtime/model.h"

namespace ingot::cli {
namespace {

struct Options {
  std::string path;
  bool json = false;
  bool graph = false;
  DimOptions dims;
  std::vector<std::string> custom;  // JSON files
};

// ---- models ------------------------------------------------------------------------------------

Json dims_json(const TensorType& type) {
  Json dims = Json::array();
  for (const Expr& dim : type.dims) {
    if (const auto constant = dim.as_int()) {
      dims.push_back(*constant);
    } else {
      dims.push_back(dim_text(dim));
    }
  }
  return dims;
}

Json port_json(const std::string& name, const Type& type) {
  if (!type.is_tensor()) return {{"name", name}, {"type", to_text(type)}};
  return {{"name", name},
          {"dtype", std::string(to_text(type.tensor.dtype))},
          {"shape", dims_json(type.tensor)}};
}

Json model_json(const ImportedModel& model) {
  const Graph& graph = model.graph;
  const ModelSummary& summary = model.summary;
  Json json = {{"format", summary.format}, {"producer", summary.producer}};
  json["inputs"] = Json::array();
  json["outputs"] = Json::array();
  json["dims"] = Json::array();
  for (const GraphInput& in : graph.inputs()) {
    json["inputs"].push_back(port_json(in.name, graph.type(in.value)));
  }
  for (const GraphOutput& out : graph.outputs()) {
    json["outputs"].push_back(port_json(out.name, graph.type(out.value)));
  }
  for (uint32_t id = 0; id < graph.pool().symbol_count(); ++id) {
    const Symbol& symbol = graph.pool().symbol_info(SymbolId(id));
    json["dims"].push_back({{"name", symbol.name},
                            {"min", symbol.range.lo},
                            {"max", symbol.range.hi},
                            {"at_run_time", symbol.data_dependent}});
  }
  Json ops = Json::object();
  for (const OperatorCount& op : summary.operators) {
    const std::string name = op.domain.empty() ? op.op_type : concat(op.domain, ".", op.op_type);
    ops[name] = ops.value(name, int64_t{0}) + op.count;
  }
  json["ops"] = std::move(ops);
  json["parameters"] = summary.parameters;
  json["weight_bytes"] = summary.parameter_bytes;
  json["unsupported"] = Json::array();
  for (const auto& node : summary.unsupported) {
    json["unsupported"].push_back({{"node", node.node},
                                   {"op", node.op_type},
                                   {"domain", node.domain},
                                   {"opset", node.opset},
                                   {"reason", node.reason}});
  }
  json["warnings"] = summary.warnings;
  json["metadata"] = Json::object();
  for (const auto& [key, value] : graph.metadata) json["metadata"][key] = value;
  return json;
}

Result<int> inspect_model(const Options& options) {
  TRY(ImportOptions import, options.dims.parse());
  CompileOptions compile;
  TRY_STATUS(add_custom_op_files(options.custom, import, compile));
  TRY(ImportedModel model, import_model_with_summary(options.path, import));
  TRY(const std::vector<std::string> remarks, lint_model(options.path, model.graph));
  auto& warnings = model.summary.warnings;
  warnings.insert(warnings.end(), remarks.begin(), remarks.end());
  // Told before the plan is made, which narrows dims and makes new ones.
  Json json = model_json(model);
  std::string text = to_text(model.summary);
  for (const Json& dim : json["dims"]) {
    if (dim["at_run_time"].get<bool>()) continue;
    text += concat("dim ", dim["name"].get<std::string>(), ": ", dim["min"].get<int64_t>(), "..",
                   dim["max"].get<int64_t>(), "\n");
  }
  const std::string graph = options.graph ? to_text(model.graph) : "";
  const auto plan = plan_compilation(model.graph, compile);
  if (plan) {
    json.update(plan_json(*plan));
    text += plan_text(*plan);
  } else if (plan.error().code != Code::kUnsupported) {
    return plan.error();
  } else if (model.summary.unsupported.empty()) {
    const std::string reason = to_text(plan.error());
    json["unsupported"].push_back(
        {{"node", ""}, {"op", ""}, {"domain", ""}, {"opset", 0}, {"reason", reason}});
    text += concat("unsupported: ", reason, "\n");
  }
  if (options.json) {
    print(json);
  } else {
    print(text + graph);
  }
  return 0;
}

// ---- artefacts ---------------------------------------------------------------------------------

/// As types of a graph are written: "sequence(str[])".
std::string container_text(const ingot_value_info& info, std::string_view dtype) {
  const std::string tensor = concat(dtype, "[]");
  if (const auto key = dtype_from_onnx(info.key_dtype)) {
    const std::string map = concat("map(", *key, ", ", tensor, ")");
    return info.kind == INGOT_KIND_MAP ? map : concat("sequence(", map, ")");
  }
  const std::string sequence = concat("sequence(", tensor, ")");
  if (info.kind == INGOT_KIND_SEQUENCE) return sequence;
  return concat("optional(", info.element_kind == INGOT_KIND_SEQUENCE ? sequence : tensor, ")");
}

Json value_json(const ingot_value_info& info) {
  const auto known = dtype_from_onnx(info.dtype);
  const std::string dtype = known ? std::string(to_text(*known)) : concat(info.dtype);
  if (info.kind != INGOT_KIND_TENSOR && info.kind != INGOT_KIND_STATE) {
    return {{"name", info.name}, {"type", container_text(info, dtype)}};
  }
  Json shape = Json::array();
  for (int32_t k = 0; k < info.rank; ++k) {
    const ingot_dim_info& dim = info.dims[k];
    if (dim.value >= 0) {
      shape.push_back(dim.value);
    } else {
      shape.push_back(dim.text);
    }
  }
  return {{"name", info.name}, {"dtype", dtype}, {"shape", shape}};
}

std::string value_text(std::string_view kind, const Json& value) {
  if (value.contains("type")) {
    return concat(kind, ": ", value["name"].get<std::string>(), ": ",
                  value["type"].get<std::string>(), "\n");
  }
  std::vector<std::string> dims;
  for (const Json& dim : value["shape"])
    dims.push_back(dim.is_string() ? dim.get<std::string>() : dim.dump());
  return concat(kind, ": ", value["name"].get<std::string>(), ": ",
                value["dtype"].get<std::string>(), "[", join(dims, ", "), "]\n");
}

/// The value of a dim that is asked to be `wanted`, within what the model was compiled for.
int64_t value_within(const ingot_symbol_info& symbol, int64_t wanted) {
  const int64_t step = std::max<int64_t>(symbol.divisor, 1);
  const int64_t value = std::clamp(wanted, symbol.min, symbol.max);
  const int64_t up = (value + step - 1) / step * step;
  return up <= symbol.max ? up : up - step;
}

/// What a run needs besides the weights, with dims as given by --dim and `wanted` elsewhere.
Result<Json> workspace_json(const LoadedModel& model, const DimOptions& dims, int64_t wanted) {
  TRY(auto given, dims.values());
  std::vector<int64_t> symbols;
  Json json = {{"dims", Json::object()}};
  for (uint32_t k = 0; k < model.description().symbol_count; ++k) {
    const ingot_symbol_info& s = model.symbol(k);
    int64_t value = value_within(s, wanted);
    if (const auto found = given.extract(s.name)) value = found.mapped();
    symbols.push_back(value);
    if (s.data_dependent == 0) json["dims"][s.name] = symbols.back();
  }
  if (!given.empty()) {
    return invalid_argument("--dim ", given.begin()->first, ": the model has no dim of that name");
  }
  TRY(const uint64_t bytes, model.workspace_bytes(symbols, 0));
  json["bytes"] = bytes;
  return json;
}

/// The same for growing dims, without those that are equal to others, and as far as there is
/// memory to speak of.
Result<Json> memory_json(const LoadedModel& model, const DimOptions& dims) {
  Json json = Json::array();
  for (const int64_t wanted : {1, 16, 128, 1024}) {
    auto sample = workspace_json(model, dims, wanted);
    if (!sample && json.empty()) return sample.error();
    if (!sample) break;
    if (json.empty() || json.back()["dims"] != (*sample)["dims"]) json.push_back(*sample);
  }
  return json;
}

Result<int> inspect_artifact(const Options& options) {
  if (options.graph) {
    return invalid_argument(options.path,
                            ": --graph: a compiled model holds no graph, give the model itself");
  }
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.describe_only = 1;
  TRY(const LoadedModel model, LoadedModel::open(options.path, open));
  const ingot_description& d = model.description();
  Json json = {{"name", d.name},
               {"hash", d.hash},
               {"target", d.target},
               {"levels", Json::array()},
               {"toolchain", d.toolchain},
               {"inputs", Json::array()},
               {"outputs", Json::array()},
               {"dims", Json::array()},
               {"ops", Json::object()},
               {"parameters", nullptr},  // what the model had is not told apart any more
               {"weight_bytes", d.weight_bytes},
               {"unsupported", Json::array()},
               {"warnings", Json::array()}};
  json["metadata"] = Json::object();
  for (uint32_t k = 0; k < d.metadata_count; ++k) {
    const char *key = nullptr, *value = nullptr;
    TRY_STATUS(model.check(model.api().metadata(model.handle(), k, &key, &value)));
    json["metadata"][key] = value;
  }
  for (const std::string_view level : split(d.levels, ',')) json["levels"].push_back(trim(level));
  std::string text =
      concat("model ", d.name, ", ", d.target, " (", d.levels, "), made with ", d.toolchain, "\n");
  for (uint32_t k = 0; k < d.input_count; ++k) {
    json["inputs"].push_back(value_json(model.input(k)));
    text += value_text("input", json["inputs"].back());
  }
  for (uint32_t k = 0; k < d.output_count; ++k) {
    json["outputs"].push_back(value_json(model.output(k)));
    text += value_text("output", json["outputs"].back());
  }
  for (uint32_t k = 0; k < d.symbol_count; ++k) {
    const ingot_symbol_info& s = model.symbol(k);
    json["dims"].push_back({{"name", s.name}, {"min", s.min}, {"max", s.max}});
    text += concat("dim ", s.name, ": ", s.min, "..", s.max, "\n");
  }
  text += concat("weights: ", format_bytes(d.weight_bytes), "\n");
  // The checksum of weights that are there is compared; a damaged file is an error.
  ingot_open_options whole = INGOT_INIT(ingot_open_options);
  whole.verify_weights = 1;
  const auto opened = LoadedModel::open(options.path, whole);
  if (opened) {
    json["weights_ok"] = true;
    TRY(json["memory"], memory_json(*opened, options.dims));
    json["workspace"] = json["memory"][0];
    for (const Json& sample : json["memory"]) {
      text += concat("workspace: ", format_bytes(sample["bytes"].get<uint64_t>()), " for ",
                     sample["dims"].dump(), "\n");
    }
  } else if (opened.error().code == Code::kWrongTarget || opened.error().code == Code::kIo) {
    json["weights_ok"] = nullptr;
    json["warnings"].push_back(to_text(opened.error()));
    text += concat("warning: ", to_text(opened.error()), "\n");
  } else {
    return opened.error();
  }
  if (options.json) {
    print(json);
  } else {
    print(text);
  }
  return 0;
}

Result<int> run(const Options& options) {
  TRY(const MappedFile file, MappedFile::open(options.path));
  return file.text().starts_with(
             "\x7f"
             "ELF")
             ? inspect_artifact(options)
             : inspect_model(options);
}

}  // namespace

Run setup_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->path, "an .onnx file or a compiled model")->required();
  app.add_flag("--json", options->json, "print the result as JSON");
  app.add_flag("--graph", options->graph, "print the graph's text form");
  options->dims.add_to(app);
  add_custom_op_option(app, options->custom);
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
