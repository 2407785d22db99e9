// tests/onnx/case.cc: reads, runs and compares one case.
#include "case.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/file.h"
#include "frontend/import.h"
#include "frontend/onnx/map_data.h"
#include "ir/graph.h"

namespace ingot::testing {
namespace {

namespace fs = std::filesystem;

Result<Tensor> decode(std::string_view bytes, const Type& type,
                      const std::shared_ptr<const MappedFile>& owner) {
  if (!type.is_container()) {
    TRY(const onnx::TensorProto proto, onnx::read_tensor(bytes));
    TRY(const ConstantData data, onnx::decode_tensor(proto, {owner, nullptr}));
    return to_tensor(data);
  }
  if (type.is_nothing()) return unsupported("values of unknown type");
  if (type.container.kind == ContainerType::Kind::map) {
    return onnx::decode_map(bytes, {owner, nullptr});
  }
  TRY(const onnx::ContainerProto proto, onnx::read_container(bytes));
  const Type& element = *type.container.element;
  std::vector<Tensor> items;
  const bool of_maps = !proto.maps.empty();
  for (const std::string_view item : of_maps                  ? proto.maps
                                     : element.is_container() ? proto.sequences
                                                              : proto.tensors) {
    TRY(items.emplace_back(), decode(item, element, owner));
  }
  return Tensor::container(std::move(items));
}

Result<Tensor> read_pb(const fs::path& path, const Type& type) {
  TRY(MappedFile file, MappedFile::open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(file));
  return add_note(decode(owner->text(), type, owner), path.filename().string());
}

Result<std::vector<Tensor>> read_inputs(const fs::path& set, const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const fs::path path = set / concat("input_", inputs.size(), ".pb");
    if (!fs::exists(path)) return invalid_argument("no data for input ", inputs.size());
    TRY(inputs.emplace_back(), read_pb(path, graph.type(input.value)));
  }
  return inputs;
}

Result<std::vector<Tensor>> read_outputs(const fs::path& set, const Graph& graph) {
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    const fs::path path = set / concat("output_", outputs.size(), ".pb");
    TRY(outputs.emplace_back(), read_pb(path, graph.type(output.value)));
  }
  return outputs;
}

bool close(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return true;
  return std::abs(got - expected) <= kAbsoluteTolerance + kRelativeTolerance * std::abs(expected);
}

/// Nothing, or where the two differ.
std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.is_container() != expected.is_container() ||
      (got.is_container() && got.items().size() != expected.items().size())) {
    return "another number of items";
  }
  if (got.is_container()) {
    for (size_t k = 0; k < got.items().size(); ++k) {
      const std::string text = difference(got.items()[k], expected.items()[k]);
      if (!text.empty()) return concat("item ", k, ": ", text);
    }
    return {};
  }
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

/// Which inputs become constants, from few to many.
enum class Bind { none, lists, scalars_too };

bool binds(Bind bind, const Tensor& data) {
  if (bind == Bind::none || data.is_container()) return false;
  const bool list = data.rank() <= 1 && (is_int(data.dtype()) || data.dtype() == DType::b8);
  return list || (bind == Bind::scalars_too && data.size() == 1);
}

/// Data sets follow the order of the graph's inputs.
ImportOptions bound(const Graph& graph, const std::vector<Tensor>& inputs, Bind bind) {
  ImportOptions options;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!binds(bind, inputs[k])) continue;
    options.constants[graph.inputs()[k].name] = to_constant(inputs[k]);
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

Result<std::string> run_data_set(const fs::path& model, const fs::path& set, Bind bind) {
  TRY(const ImportedModel plain, import_model_with_summary(model));
  const auto read = read_inputs(set, plain.graph);
  if (!read) TRY_STATUS(import_supported(model, {}));  // the reason why they cannot be read
  TRY(const std::vector<Tensor> all_inputs, read);
  const ImportOptions options = bound(plain.graph, all_inputs, bind);
  TRY(const ImportedModel imported, import_supported(model, options));
  TRY(const std::vector<Tensor> expected, read_outputs(set, imported.graph));
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < all_inputs.size(); ++k) {
    if (options.constants.contains(plain.graph.inputs()[k].name)) continue;
    inputs.push_back(all_inputs[k]);
  }
  TRY(const std::vector<Tensor> outputs, Interpreter(imported.graph).run(inputs));
  for (size_t k = 0; k < outputs.size(); ++k) {
    TRY(const Tensor got, rounded(outputs[k]));
    const std::string text = difference(got, expected[k]);
    if (!text.empty()) return concat("output ", k, ": ", text);
  }
  return std::string();
}

CaseResult run_bound(const fs::path& folder, const std::vector<fs::path>& sets, Bind bind) {
  for (const fs::path& set : sets) {
    const auto result = run_data_set(folder / "model.onnx", set, bind);
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
  TRY(const ImportedModel plain, import_model_with_summary(model));
  auto imported = import_supported(model, {});
  const auto inputs = read_inputs(folder / "test_data_set_0", plain.graph);
  for (const Bind bind : {Bind::lists, Bind::scalars_too}) {
    if (imported || imported.error().code != Code::kUnsupported || !inputs) break;
    imported = import_supported(model, bound(plain.graph, *inputs, bind));
  }
  return imported;
}

CaseResult run_case(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (int k = 0; fs::exists(folder / concat("test_data_set_", k)); ++k) {
    sets.push_back(folder / concat("test_data_set_", k));
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
