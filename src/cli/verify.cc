// cli/verify.cc: ingot verify: a compiled model against the fp64 reference interpreter.
#include <algorithm>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/compare.h"
#include "cli/execute.h"
#include "frontend/import.h"

namespace ingot::cli {
namespace {

struct Options {
  std::string model, library;
  std::optional<double> relative, absolute;
  bool json = false;
  bool every_value = false;
  InputOptions inputs;
  CompileArguments compile;
};

/// Because fp32 rounds by 6e-8 and errors of a deep network's layers add up, 1e-3 of a value leaves
/// room for some ten thousand roundings in one direction; a wrong kernel is off by far more.
constexpr double kRelative = 1e-3;
/// For results that cancel to almost nothing: sums over values around 1 keep their terms' error.
constexpr double kAbsolute = 1e-4;
/// Narrow storage types round every value that is kept, by half a unit: this many units are
/// allowed.
constexpr double kNarrowUnits = 8;

Tolerance tolerance_for(DType dtype, const Options& options) {
  double relative = kRelative, absolute = kAbsolute;
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const double unit = dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    relative = std::max(relative, kNarrowUnits * unit);
    absolute = std::max(absolute, kNarrowUnits * unit);
  }
  return {options.relative.value_or(relative), options.absolute.value_or(absolute)};
}

/// As it would be stored.
Result<Tensor> rounded(const Tensor& tensor) {
  if (tensor.is_container()) {
    std::vector<Tensor> items;
    for (const Tensor& item : tensor.items()) {
      TRY(items.emplace_back(), rounded(item));
    }
    return Tensor::container(std::move(items));
  }
  if (tensor.dtype() == DType::str) return tensor;
  return Tensor::from_bytes(tensor.dtype(), tensor.dims(), tensor.to_bytes());
}

Result<Graph> read_graph(const Options& options) {
  DimOptions shapes;
  shapes.shapes = options.inputs.dims.shapes;
  TRY(const ImportOptions import, shapes.parse());
  TRY(ImportedModel imported, import_model_with_summary(options.model, import));
  if (!imported.summary.unsupported.empty()) {
    return unsupported(options.model, ": ", to_text(imported.summary));
  }
  return std::move(imported.graph);
}

/// Both sides of a comparison: what was computed and what is right, by output.
struct Values {
  std::vector<std::string> names;
  std::vector<Tensor> got;
  std::vector<Tensor> expected;
};

Result<Values> run_both(const Graph& graph, const std::string& library,
                        const std::vector<HostTensor>& inputs) {
  Values values;
  for (const GraphOutput& out : graph.outputs()) values.names.push_back(out.name);
  std::vector<Tensor> tensors;
  for (const HostTensor& in : inputs) {
    TRY(Tensor tensor, to_tensor(in));
    tensors.push_back(std::move(tensor));
  }
  TRY(const LoadedModel model, LoadedModel::open(library));
  if (model.description().output_count != graph.outputs().size()) {
    return invalid_argument(library, ": expected ", graph.outputs().size(),
                            " outputs as the model has, got ", model.description().output_count);
  }
  ingot_run_options run = INGOT_INIT(ingot_run_options);
  run.cancel = interrupted_flag();
  TRY(const std::vector<HostTensor> outputs, execute(model, inputs, run));
  for (const HostTensor& out : outputs) {
    TRY(Tensor tensor, to_tensor(out));
    values.got.push_back(std::move(tensor));
  }
  {
    const EndsAtOnce unwatched;
    TRY(values.expected, add_note(Interpreter(graph).run(tensors), "reference"));
  }
  for (Tensor& expected : values.expected) {
    TRY(expected, rounded(expected));
  }
  return values;
}

// ---- every value -------------------------------------------------------------------------------

/// A value of the graph that departs, for people.
struct BadValue {
  std::string name, op, nodes, text;
};

/// Tensors that nodes compute, in the graph's order.
std::vector<ValueId> inner_values(const Graph& graph) {
  std::vector<ValueId> values;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op.as<Constant>() != nullptr) continue;
    for (ValueId value : node.outputs) {
      if (graph.type(value).is_tensor() && graph.tensor(value).dtype != DType::str) {
        values.push_back(value);
      }
    }
  }
  return values;
}

std::string value_name(const Graph& graph, ValueId value) {
  const std::string& name = graph.value(value).name;
  return name.empty() ? concat("%", value.value) : name;
}

/// Compiles the graph with every inner value as an output and finds the first one that departs.
Result<std::optional<BadValue>> find_first_bad(const Graph& graph, const Options& options,
                                               const std::vector<HostTensor>& inputs) {
  Graph open = graph;
  const std::vector<ValueId> values = inner_values(open);
  std::vector<GraphOutput> outputs;
  for (ValueId value : values) outputs.push_back({concat("value ", value.value), value});
  open.set_outputs(std::move(outputs));
  TRY(const TempDir folder, TempDir::create());
  const std::string library = folder.path() / "every_value.so";
  TRY(const CompileOptions compile_options, options.compile.parse());
  TRY(const auto report, compile(open, library, compile_options));
  (void)report;
  TRY(const Values both, run_both(open, library, inputs));
  for (size_t k = 0; k < values.size(); ++k) {
    const Difference difference =
        compare(both.got[k], both.expected[k], tolerance_for(both.expected[k].dtype(), options));
    if (difference.text.empty()) continue;
    const Node& node = open.node(open.value(values[k]).producer);
    return BadValue{value_name(open, values[k]), std::string(node.op.name()),
                    join(node.provenance, ", "), difference.text};
  }
  return std::optional<BadValue>();
}

// ---- the command -------------------------------------------------------------------------------

Json output_json(const std::string& name, const Difference& difference) {
  Json json = {{"name", name},
               {"max_abs", difference.max_abs},
               {"max_rel", difference.max_rel},
               {"mismatches", difference.mismatches},
               {"worst_index", difference.worst_index}};
  if (!difference.text.empty()) json["message"] = difference.text;
  return json;
}

std::string output_text(const std::string& name, const Difference& difference) {
  const std::string sizes =
      fmt::format("largest error {:.3g}, relative {:.3g}", difference.max_abs, difference.max_rel);
  return difference.text.empty() ? concat("ok   ", name, ": ", sizes, "\n")
                                 : concat("FAIL ", name, ": ", difference.text, "; ", sizes, "\n");
}

/// Says so where the library was compiled from another file: its results may well differ.
Status check_origin(const std::string& library, const std::string& path) {
  TRY(const LoadedModel model, LoadedModel::open(library));
  TRY(const MappedFile file, MappedFile::open(path));
  if (model.description().hash != to_text(hash_bytes(file.bytes()))) {
    warn(concat(library, ": was compiled from another file than ", path));
  }
  return ok();
}

Result<int> run(Options options) {
  options.compile.dims = options.inputs.dims;
  for (const auto& tolerance : {options.relative, options.absolute}) {
    if (tolerance && !(*tolerance >= 0)) {
      return invalid_argument("--rtol, --atol: expected 0 or more, got ", *tolerance);
    }
  }
  TRY(const Graph graph, read_graph(options));
  const std::vector<InputPort> ports = input_ports(graph);
  TRY(const std::vector<HostTensor> inputs, gather_inputs(ports, options.inputs));
  std::string library = options.library;
  if (library.empty()) {
    TRY(library, compiled(options.model, options.compile));
  } else {
    TRY_STATUS(check_origin(library, options.model));
  }
  TRY(const Values both, run_both(graph, library, inputs));

  Json json = {{"ok", true}, {"outputs", Json::array()}, {"first_bad_value", nullptr}};
  std::string text;
  bool ok = true;
  for (size_t k = 0; k < both.names.size(); ++k) {
    const Difference difference =
        compare(both.got[k], both.expected[k], tolerance_for(both.expected[k].dtype(), options));
    ok = ok && difference.text.empty();
    json["outputs"].push_back(output_json(both.names[k], difference));
    text += output_text(both.names[k], difference);
  }
  if (options.every_value) {
    TRY(const auto bad, find_first_bad(graph, options, inputs));
    if (bad) {
      ok = false;
      json["first_bad_value"] = bad->name;
      json["first_bad_op"] = bad->op;
      json["first_bad_nodes"] = bad->nodes;
      json["first_bad_message"] = bad->text;
      text += concat("first value that departs: ", bad->name, " (", bad->op, " of ", bad->nodes,
                     "): ", bad->text, "\n");
    } else {
      text += ok ? "every inner value agrees\n"
                 : "every inner value agrees if each is kept: the fault lies in how values are "
                   "fused or share memory\n";
    }
  }
  json["ok"] = ok;
  if (options.json) {
    print(json);
  } else {
    print(text);
  }
  return ok ? 0 : kCheckFailed;
}

}  // namespace

Run setup_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "an .onnx file")->required();
  app.add_option("--so", options->library, "a library compiled of the model; else it is compiled");
  app.add_option("--rtol", options->relative,
                 "error allowed, of the expected value (1e-3; 8 units of f16 and bf16)");
  app.add_option("--atol", options->absolute,
                 "error allowed of any value (1e-4; 8 units of f16 and bf16)");
  app.add_flag("--every-value", options->every_value, "name the first inner value that departs");
  app.add_flag("--json", options->json, "print the result as JSON");
  options->inputs.add_to(app);
  app.add_option("--cpu", options->compile.cpus, "native, x86-64, x86-64-v3 or x86-64-v4")
      ->allow_extra_args(false);
  app.add_option("--disable-pass", options->compile.disabled, "leave out a pass or rule")
      ->allow_extra_args(false);
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
