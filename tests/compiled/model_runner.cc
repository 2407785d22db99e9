// tests/compiled/model_runner.cc
#include "tests/compiled/model_runner.h"

#include <algorithm>
#include <cstring>

#include "codegen/compile.h"

namespace ingot {

TensorViews::TensorViews(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) views.push_back(view(tensor));
}

ingot_tensor TensorViews::view(const Tensor& tensor) {
  ingot_tensor view = INGOT_INIT(ingot_tensor);
  view.dtype = info(tensor.dtype()).onnx;
  view.rank = static_cast<int32_t>(tensor.rank());
  view.dims = dims_.emplace_back(tensor.dims()).data();
  if (tensor.is_container()) {
    std::vector<ingot_tensor> items;
    for (const Tensor& item : tensor.items()) items.push_back(this->view(item));
    ingot_container& container = containers_.emplace_back();
    container.struct_size = sizeof container;
    container.count = std::ssize(items);
    container.items = items_.emplace_back(std::move(items)).data();
    view.data = &container;
    view.kind = INGOT_KIND_SEQUENCE;
  } else if (tensor.dtype() == DType::str) {
    std::vector<ingot_string>& strings = strings_.emplace_back();
    for (int64_t k = 0; k < tensor.size(); ++k) {
      strings.push_back({tensor.string(k).data(), tensor.string(k).size()});
    }
    view.data = strings.data();
  } else {
    view.data = bytes_.emplace_back(tensor.to_bytes()).data();
  }
  return view;
}

Result<Tensor> tensor_from(const ingot_tensor& view) {
  if (view.kind != INGOT_KIND_TENSOR) {
    const auto& container = *static_cast<const ingot_container*>(view.data);
    std::vector<Tensor> items;
    for (int64_t k = 0; k < container.count; ++k) {
      TRY(items.emplace_back(), tensor_from(container.items[k]));
    }
    return Tensor::container(std::move(items));
  }
  std::vector<int64_t> dims(view.dims, view.dims + view.rank);
  const DType dtype = dtype_from_onnx(view.dtype).value_or(DType::f32);
  const auto count = static_cast<uint64_t>(count_of(dims));
  if (dtype == DType::str) {
    std::vector<std::string> texts;
    for (uint64_t k = 0; k < count; ++k) {
      const ingot_string& text = static_cast<const ingot_string*>(view.data)[k];
      texts.emplace_back(text.data, text.length);
    }
    return Tensor::of_strings(std::move(dims), texts);
  }
  std::vector<std::byte> bytes(size_bytes(dtype, count));
  if (!bytes.empty()) std::memcpy(bytes.data(), view.data, bytes.size());
  return Tensor::from_bytes(dtype, std::move(dims), bytes);
}

std::vector<ingot_tensor> asked_outputs(const LoadedModel& model,
                                        std::vector<std::vector<int64_t>>& dims) {
  std::vector<ingot_tensor> outputs;
  dims.assign(model.description().output_count, {});
  for (uint32_t k = 0; k < dims.size(); ++k) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = model.output(k).dtype;
    view.kind = model.output(k).kind;
    view.rank = model.output(k).rank;
    dims[k].resize(static_cast<size_t>(view.rank));
    view.dims = dims[k].data();
    outputs.push_back(view);
  }
  return outputs;
}

Result<std::vector<Tensor>> run_model(const LoadedModel& model, std::span<const Tensor> inputs) {
  TensorViews in(inputs);
  for (uint32_t k = 0; k < in.views.size(); ++k) in.views[k].kind = model.input(k).kind;
  std::vector<std::vector<int64_t>> dims;
  std::vector<ingot_tensor> out = asked_outputs(model, dims);
  TRY_STATUS(model.run(in.views, out));
  std::vector<Tensor> results;
  for (const ingot_tensor& view : out) {
    auto tensor = tensor_from(view);
    model.api().free_output(model.handle(), view.data);
    TRY(results.emplace_back(), std::move(tensor));
  }
  return results;
}

bool is_same(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    if (x.is_container() && y.is_container()) return is_same(x.items(), y.items());
    if (x.is_container() || y.is_container() || x.dims() != y.dims()) return false;
    return x.dtype() == DType::str ? x.strings() == y.strings() : x.to_bytes() == y.to_bytes();
  });
}

Result<LoadedModel> compile_and_open(const Graph& graph) {
  TRY(const TempDir directory, TempDir::create());
  CompileOptions options;
  options.target.levels = {host_level()};
  TRY(options.toolchain, find_toolchain(INGOT_TEST_CXX));
  options.verify = true;
  const auto path = directory.path() / "model.so";
  TRY_STATUS(compile(graph, path, options));
  return LoadedModel::open(path.string());
}

}  // namespace ingot
