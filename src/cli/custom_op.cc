// cli/custom_op.cc: reads custom operators from JSON.
#include "cli/custom_op.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "codegen/api/custom_ops.h"

namespace ingot::cli {
namespace {

/// A text field, or `otherwise`; without one it must be there.
Result<std::string> text_of(const Json& json, const char* field,
                            std::optional<std::string> otherwise = {}) {
  if (!json.contains(field)) {
    if (otherwise) return *otherwise;
    return invalid_argument("expected the field '", field, "'");
  }
  if (!json[field].is_string()) return invalid_argument("'", field, "': expected text");
  return json[field].get<std::string>();
}

Result<std::vector<compiler::TensorInfo>> outputs_of(const Json& json) {
  std::vector<compiler::TensorInfo> outputs;
  if (!json.is_array()) return invalid_argument("'outputs': expected a list");
  for (const Json& output : json) {
    if (!output.is_object()) return invalid_argument("'outputs': expected dtype and dims each");
    TRY(const std::string name, text_of(output, "dtype"));
    const auto dtype = dtype_from_name(name);
    if (!dtype) return invalid_argument("'dtype': expected one such as f32, got '", name, "'");
    compiler::TensorInfo& info = outputs.emplace_back();
    info.dtype = ingot::info(*dtype).onnx;
    const Json dims = output.value("dims", Json::array());
    if (!dims.is_array()) return invalid_argument("'dims': expected a list");
    for (const Json& dim : dims) {
      if (!dim.is_string() && !dim.is_number_integer()) {
        return invalid_argument("'dims': expected numbers or texts, got ", dim.dump());
      }
      info.dims.push_back(dim.is_string() ? dim.get<std::string>() : dim.dump());
    }
  }
  return outputs;
}

Result<compiler::CustomOperator> operator_of(const Json& json,
                                             const std::filesystem::path& folder) {
  if (!json.is_object()) return invalid_argument("expected an operator as {...}");
  compiler::CustomOperator op;
  TRY(op.domain, text_of(json, "domain"));
  TRY(op.name, text_of(json, "name"));
  if (json.contains("outputs")) {
    TRY(const auto outputs, outputs_of(json["outputs"]));
    op.infer = [outputs](const compiler::CustomNode&) { return compiler::Inferred{outputs}; };
  }
  if (json.contains("expression")) {
    TRY(std::string expression, text_of(json, "expression"));
    op.body = compiler::ElementBody{std::move(expression)};
    return op;
  }
  compiler::FunctionBody body;
  TRY(body.function, add_note(text_of(json, "function"), "without an 'expression'"));
  TRY(const std::string source, text_of(json, "source", ""));
  TRY(const std::string object, text_of(json, "object", ""));
  if (!source.empty()) {
    TRY(body.source, read_text(folder / source));
  }
  if (!object.empty()) body.object = (folder / object).string();
  op.body = std::move(body);
  return op;
}

Result<std::vector<compiler::CustomOperator>> read(const std::string& path) {
  TRY(const std::string text, read_text(path));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return invalid_argument(path, ": expected JSON");
  const Json list = json.is_array() ? json : Json::array({json});
  std::vector<compiler::CustomOperator> operators;
  for (const Json& each : list) {
    TRY(operators.emplace_back(),
        add_note(operator_of(each, std::filesystem::path(path).parent_path()), path));
  }
  return operators;
}

}  // namespace

void add_custom_op_option(CLI::App& app, std::vector<std::string>& paths) {
  app.add_option("--custom-op", paths, "a JSON file that describes an operator")
      ->allow_extra_args(false);
}

Status add_custom_op_files(const std::vector<std::string>& paths, ImportOptions& import,
                           CompileOptions& compile) {
  std::vector<compiler::CustomOperator> operators;
  for (const std::string& path : paths) {
    TRY(auto more, read(path));
    std::ranges::move(more, std::back_inserter(operators));
  }
  return add_custom_operators(operators, import, compile);
}

}  // namespace ingot::cli
