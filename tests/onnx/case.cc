// tests/onnx/case.cc: reads, runs and compares one case.
#include "case.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/file.h"
#include "frontend/import.h"
#include "frontend/onnx/tensor_data.h"
#include "ir/graph.h"

namespace ingot::testing {
namespace {

namespace fs = std::filesystem;

struct DataSet {
  std::vector<ConstantData> inputs;
  std::vector<ConstantData> outputs;
};

Result<ConstantData> read_pb(const fs::path& path) {
  TRY(MappedFile file, MappedFile::open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(file));
  TRY(const onnx::TensorProto proto, onnx::read_tensor(owner->text()));
  return onnx::decode_tensor(proto, {owner, nullptr});
}

Result<std::vector<ConstantData>> read_all(const fs::path& folder, std::string_view kind) {
  std::vector<ConstantData> tensors;
  for (int k = 0;; ++k) {
    const fs::path path = folder / concat(kind, "_", k, ".pb");
    if (!fs::exists(path)) return tensors;
    TRY(ConstantData data, add_note(read_pb(path), path.filename().string()));
    tensors.push_back(std::move(data));
  }
}

Result<DataSet> read_data_set(const fs::path& folder) {
  DataSet data;
  TRY(data.inputs, read_all(folder, "input"));
  TRY(data.outputs, read_all(folder, "output"));
  return data;
}

bool close(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return true;
  return std::abs(got - expected) <= kAbsoluteTolerance + kRelativeTolerance * std::abs(expected);
}

/// Nothing, or where the two differ.
std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype()) {
    return concat("expected ", expected.dtype(), ", got ", got.dtype());
  }
  if (got.dims() != expected.dims()) {
    return concat("expected dims ", expected.dims(), ", got ", got.dims());
  }
  if (got.dtype() == DType::str) {
    return got.strings() == expected.strings() ? "" : "the strings differ";
  }
  for (int64_t k = 0; k < got.size(); ++k) {
    const bool same = got.holds_reals() ? close(got.real(k), expected.real(k))
                                        : got.integer(k) == expected.integer(k);
    if (!same) {
      return concat("element ", k, ": expected ", expected.real(k), ", got ", got.real(k));
    }
  }
  return {};
}

/// As it would be stored.
Result<Tensor> rounded(const Tensor& tensor) {
  if (tensor.dtype() == DType::str) return tensor;
  return Tensor::from_bytes(tensor.dtype(), tensor.dims(), tensor.to_bytes());
}

/// Which inputs become constants, from few to many.
enum class Bind { none, lists, scalars_too };

bool binds(Bind bind, const ConstantData& data) {
  if (bind == Bind::none) return false;
  const bool list = data.dims.size() <= 1 && (is_int(data.dtype) || data.dtype == DType::b8);
  return list || (bind == Bind::scalars_too && count_of(data.dims) == 1);
}

/// Names in the order of the model's inputs; data sets follow that order.
Result<std::vector<std::string>> input_names(const fs::path& model) {
  TRY(const ImportedModel plain, import_model_with_summary(model));
  std::vector<std::string> names;
  for (const GraphInput& input : plain.graph.inputs()) names.push_back(input.name);
  return names;
}

ImportOptions bound(const std::vector<std::string>& names, const DataSet& data, Bind bind) {
  ImportOptions options;
  for (size_t k = 0; k < names.size() && k < data.inputs.size(); ++k) {
    if (binds(bind, data.inputs[k])) options.constants[names[k]] = data.inputs[k];
  }
  return options;
}

Result<ImportedModel> import_supported(const fs::path& model, const ImportOptions& options) {
  TRY(ImportedModel imported, import_model_with_summary(model, options));
  if (!imported.summary.unsupported.empty()) {
    const auto& node = imported.summary.unsupported[0];
    return unsupported(node.op_type, "-", node.opset, ": ", node.reason);
  }
  return imported;
}

Result<std::string> run_data_set(const fs::path& model, const DataSet& data, Bind bind) {
  TRY(const std::vector<std::string> names, input_names(model));
  const ImportOptions options = bound(names, data, bind);
  std::vector<Tensor> inputs;
  TRY(const ImportedModel imported, import_supported(model, options));
  for (const GraphInput& input : imported.graph.inputs()) {
    if (!imported.graph.type(input.value).is_tensor()) return unsupported("inputs of containers");
  }
  for (size_t k = 0; k < names.size(); ++k) {
    if (options.constants.contains(names[k])) continue;
    if (k >= data.inputs.size()) return invalid_argument("no data for input ", k);
    TRY(Tensor tensor, to_tensor(data.inputs[k]));
    inputs.push_back(std::move(tensor));
  }
  TRY(const std::vector<Tensor> outputs, Interpreter(imported.graph).run(inputs));
  if (outputs.size() != data.outputs.size()) {
    return concat("expected ", data.outputs.size(), " outputs, got ", outputs.size());
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    TRY(const Tensor expected, to_tensor(data.outputs[k]));
    TRY(const Tensor got, rounded(outputs[k]));
    const std::string text = difference(got, expected);
    if (!text.empty()) return concat("output ", k, ": ", text);
  }
  return std::string();
}

CaseResult run_bound(const fs::path& folder, const std::vector<DataSet>& sets, Bind bind) {
  for (const DataSet& data : sets) {
    const auto result = run_data_set(folder / "model.onnx", data, bind);
    if (!result) {
      const bool skipped = result.error().code == Code::kUnsupported;
      return {skipped ? Outcome::unsupported : Outcome::failed, to_text(result.error())};
    }
    if (!result->empty()) return {Outcome::failed, *result};
  }
  return {bind == Bind::none ? Outcome::passed : Outcome::passed_with_constants, {}};
}

}  // namespace

Result<ImportedModel> import_case(const fs::path& folder) {
  const fs::path model = folder / "model.onnx";
  TRY(const std::vector<std::string> names, input_names(model));
  auto imported = import_supported(model, {});
  const auto data = read_data_set(folder / "test_data_set_0");
  for (const Bind bind : {Bind::lists, Bind::scalars_too}) {
    if (imported || imported.error().code != Code::kUnsupported || !data) break;
    imported = import_supported(model, bound(names, *data, bind));
  }
  return imported;
}

CaseResult run_case(const fs::path& folder) {
  std::vector<DataSet> sets;
  for (int k = 0;; ++k) {
    const fs::path path = folder / concat("test_data_set_", k);
    if (!fs::exists(path)) break;
    auto data = read_data_set(path);
    if (!data) return {Outcome::unsupported, "data: " + to_text(data.error())};
    sets.push_back(std::move(*data));
  }
  if (sets.empty()) return {Outcome::failed, "no test_data_set_0"};
  CaseResult result;
  for (const Bind bind : {Bind::none, Bind::lists, Bind::scalars_too}) {
    result = run_bound(folder, sets, bind);
    if (result.outcome != Outcome::unsupported) break;
  }
  return result;
}

}  // namespace ingot::testing
