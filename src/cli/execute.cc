// cli/execute.cc: gathers inputs, runs, copies outputs.
#include "cli/execute.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/text.h"

namespace ingot::cli {
namespace {

std::string shape_text(const InputPort& port) {
  std::vector<std::string> dims;
  for (const auto& [size, symbol] : port.dims) dims.push_back(size >= 0 ? concat(size) : symbol);
  return concat(port.dtype, "[", join(dims, ", "), "]");
}

Result<std::map<std::string, HostTensor>> read_set(const std::string& set,
                                                   std::span<const InputPort> ports) {
  if (!std::filesystem::is_directory(set)) return read_npz(set);
  std::map<std::string, HostTensor> tensors;
  for (size_t k = 0; k < ports.size(); ++k) {
    const std::filesystem::path folder(set);
    const auto pb = folder / concat("input_", k, ".pb");
    const auto npy = folder / concat(ports[k].name, ".npy");
    if (std::filesystem::exists(npy)) {
      TRY(tensors[ports[k].name], read_npy(npy));
    } else if (std::filesystem::exists(pb)) {
      TRY(tensors[ports[k].name], read_pb(pb));
    }
  }
  return tensors;
}

/// While random values are made, each takes 8 bytes, and its own ones beside them.
int64_t most_random_elements() {
  const auto bytes = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<int64_t>(::sysconf(_SC_PAGE_SIZE));
  return bytes / 2 / 16;
}

Status check_dim_names(std::span<const InputPort> ports,
                       const std::map<std::string, int64_t>& sizes) {
  std::vector<std::string> known;
  for (const InputPort& port : ports) {
    for (const auto& [size, symbol] : port.dims) {
      const bool is_new = size < 0 && std::ranges::find(known, symbol) == known.end();
      if (is_new) known.push_back(symbol);
    }
  }
  for (const auto& [name, value] : sizes) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return invalid_argument("--dim ", name, ": no input has a dim of that name; they have ",
                            known.empty() ? "fixed sizes" : join(known, ", "));
  }
  return ok();
}

using Shapes = std::map<std::string, std::vector<std::optional<int64_t>>>;

Status check_shapes(std::span<const InputPort> ports, const Shapes& shapes) {
  for (const auto& [name, sizes] : shapes) {
    const auto port = std::ranges::find(ports, name, &InputPort::name);
    if (port == ports.end()) {
      return invalid_argument("--input-shape ", name, ": the model has no input of that name");
    }
    bool fits = sizes.size() == port->dims.size();
    for (size_t k = 0; fits && k < sizes.size(); ++k) {
      fits = !sizes[k] || port->dims[k].first < 0 || port->dims[k].first == *sizes[k];
    }
    if (!fits) {
      return invalid_argument("--input-shape ", name, ": the model wants ", shape_text(*port));
    }
  }
  return ok();
}

Status check_input(const InputPort& port, const HostTensor& tensor,
                   const std::map<std::string, int64_t>& sizes) {
  bool fits = tensor.dtype == port.dtype && tensor.dims.size() == port.dims.size();
  for (size_t k = 0; fits && k < tensor.dims.size(); ++k) {
    fits = port.dims[k].first < 0 || port.dims[k].first == tensor.dims[k];
  }
  for (size_t k = 0; fits && k < tensor.dims.size(); ++k) {
    const auto size = sizes.find(port.dims[k].second);
    if (size == sizes.end() || port.dims[k].first >= 0 || size->second == tensor.dims[k]) continue;
    return invalid_argument("--dim ", size->first, "=", size->second, ": expected ", tensor.dims[k],
                            ", as input '", port.name, "' has");
  }
  if (fits) return ok();
  return invalid_argument("input '", port.name, "': expected ", shape_text(port), ", got ",
                          tensor.dtype, "[", join(tensor.dims, ", "), "]");
}

}  // namespace

void InputOptions::add_to(CLI::App& app) {
  app.add_option("--input", inputs, "an input: NAME=FILE (.npy, .pb, .bin:DTYPE[DIMS], .png, .jpg)")
      ->allow_extra_args(false);
  app.add_option("--inputs", set, "all inputs: an .npz, or a folder of input_I.pb or NAME.npy");
  app.add_option("--random", seed, "random inputs with this seed");
  dims.add_to(app);
}

std::vector<InputPort> input_ports(const LoadedModel& model) {
  std::vector<InputPort> ports;
  for (uint32_t k = 0; k < model.description().input_count; ++k) {
    const ingot_value_info& info = model.input(k);
    InputPort port{info.name, dtype_from_onnx(info.dtype).value_or(DType::f32), {}};
    for (int32_t axis = 0; axis < info.rank; ++axis) {
      port.dims.emplace_back(info.dims[axis].value, info.dims[axis].text);
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<InputPort> input_ports(const Graph& graph) {
  std::vector<InputPort> ports;
  for (const GraphInput& input : graph.inputs()) {
    if (!graph.type(input.value).is_tensor()) continue;
    const TensorType& type = graph.tensor(input.value);
    InputPort port{input.name, type.dtype, {}};
    for (const Expr& dim : type.dims) {
      port.dims.emplace_back(dim.as_int().value_or(-1), dim_text(dim));
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<std::vector<HostTensor>> gather_inputs(std::span<const InputPort> ports,
                                              const InputOptions& options) {
  std::map<std::string, HostTensor> given;
  if (!options.set.empty()) {
    TRY(given, read_set(options.set, ports));
  }
  std::set<std::string> named;
  for (const std::string& text : options.inputs) {
    // A name may hold '=', a file's name behind it seldom does: the first split that names an
    // input.
    size_t at = text.find('=');
    while (at != std::string::npos &&
           std::ranges::find(ports, text.substr(0, at), &InputPort::name) == ports.end()) {
      at = text.find('=', at + 1);
    }
    if (at == std::string::npos) {
      std::vector<std::string> names;
      for (const InputPort& port : ports) names.push_back(concat("'", port.name, "'"));
      return invalid_argument("--input ", text, ": expected NAME=FILE with one of the inputs ",
                              join(names, ", "));
    }
    const std::string name = text.substr(0, at);
    if (!named.insert(name).second) {
      return invalid_argument("--input ", text, ": expected one file for '", name, "', got two");
    }
    TRY(given[name], read_tensor_file(std::string_view(text).substr(at + 1)));
  }
  TRY(const auto sizes, options.dims.values());
  TRY_STATUS(check_dim_names(ports, sizes));
  TRY(const ImportOptions import, DimOptions{{}, options.dims.shapes}.parse());
  TRY_STATUS(check_shapes(ports, import.shapes));
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(ports, name, &InputPort::name) == ports.end()) {
      return invalid_argument("input '", name, "': the model has no input of that name");
    }
  }
  const bool at_random =
      options.seed.has_value() || (given.empty() && (!sizes.empty() || !import.shapes.empty()));
  Random random(options.seed.value_or(0));
  std::vector<HostTensor> tensors;
  for (const InputPort& port : ports) {
    if (const auto found = given.find(port.name); found != given.end()) {
      TRY_STATUS(check_input(port, found->second, sizes));
      tensors.push_back(std::move(found->second));
      continue;
    }
    if (!at_random) {
      return invalid_argument("input '", port.name, "': expected --input ", port.name,
                              "=FILE, --inputs or --random; the model wants ", shape_text(port));
    }
    std::vector<int64_t> dims;
    int64_t elements = 1;
    const auto shape = import.shapes.find(port.name);
    for (const auto& [size, symbol] : port.dims) {
      const auto named = sizes.find(symbol);
      const auto wanted = shape != import.shapes.end() ? shape->second[dims.size()] : std::nullopt;
      dims.push_back(size >= 0              ? size
                     : wanted               ? *wanted
                     : named != sizes.end() ? named->second
                                            : 1);
      if (__builtin_mul_overflow(elements, dims.back(), &elements) ||
          elements > most_random_elements()) {
        return resource_exhausted("input '", port.name, "': its random values do not fit memory");
      }
    }
    tensors.push_back(random_tensor(port.dtype, std::move(dims), random));
    if (interrupted()) return cancelled("input '", port.name, "': interrupted");
  }
  return tensors;
}

std::vector<ingot_tensor> views_of(std::span<const HostTensor> tensors) {
  std::vector<ingot_tensor> views;
  for (const HostTensor& tensor : tensors) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = onnx_number(tensor.dtype);
    view.rank = static_cast<int32_t>(tensor.dims.size());
    view.dims = const_cast<int64_t*>(tensor.dims.data());
    view.data = const_cast<std::byte*>(tensor.bytes.data());
    views.push_back(view);
  }
  return views;
}

Result<std::vector<HostTensor>> execute(const LoadedModel& model,
                                        std::span<const HostTensor> inputs,
                                        const ingot_run_options& options) {
  const std::vector<ingot_tensor> views = views_of(inputs);
  const uint32_t count = model.description().output_count;
  std::vector<ingot_tensor> outputs;
  std::vector<std::vector<int64_t>> dims(count);
  for (uint32_t k = 0; k < count; ++k) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = model.output(k).dtype;
    view.rank = model.output(k).rank;
    dims[k].resize(static_cast<size_t>(view.rank));
    view.dims = dims[k].data();
    outputs.push_back(view);
  }
  TRY_STATUS(model.run(views, outputs, options));
  std::vector<HostTensor> results;
  for (uint32_t k = 0; k < count; ++k) {
    HostTensor tensor;
    tensor.dtype = dtype_from_onnx(outputs[k].dtype).value_or(DType::f32);
    dims[k].resize(static_cast<size_t>(outputs[k].rank));
    tensor.dims = dims[k];
    const auto* data = static_cast<const std::byte*>(outputs[k].data);
    const size_t bytes = size_bytes(tensor.dtype, static_cast<uint64_t>(count_of(tensor.dims)));
    if (bytes > 0) tensor.bytes.assign(data, data + bytes);
    model.api().free_output(model.handle(), outputs[k].data);
    results.push_back(std::move(tensor));
  }
  return results;
}

}  // namespace ingot::cli
