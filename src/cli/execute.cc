// cli/execute.cc: gathers inputs, runs, copies outputs.
#include "cli/execute.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/random.h"
#include "base/text.h"

namespace ingot::cli {
namespace {

std::string shape_text(const InputPort& port) {
  if (port.kind == HostTensor::Kind::map) {
    return concat("a map from ", *port.key, " to ", port.dtype);
  }
  if (port.kind != HostTensor::Kind::tensor) {
    return concat(port.kind == HostTensor::Kind::sequence ? "a sequence of " : "an optional of ",
                  port.key ? concat("maps from ", *port.key, " to ") : "", port.dtype);
  }
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
      TRY(tensors[ports[k].name], read_pb(pb, ports[k].kind));
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
  // Nothing tells the dtype of an empty container.
  const bool is_empty = tensor.kind != HostTensor::Kind::tensor && tensor.items.empty();
  bool fits = tensor.kind == port.kind &&
              (is_empty || (tensor.dtype == port.dtype && tensor.key == port.key)) &&
              tensor.dims.size() == port.dims.size();
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
                          type_text(tensor));
}

HostTensor::Kind kind_of(int32_t kind) {
  switch (kind) {
    case INGOT_KIND_SEQUENCE:
      return HostTensor::Kind::sequence;
    case INGOT_KIND_OPTIONAL:
      return HostTensor::Kind::optional;
    case INGOT_KIND_MAP:
      return HostTensor::Kind::map;
    default:
      return HostTensor::Kind::tensor;
  }
}

int32_t kind_number(HostTensor::Kind kind) {
  switch (kind) {
    case HostTensor::Kind::tensor:
      return INGOT_KIND_TENSOR;
    case HostTensor::Kind::sequence:
      return INGOT_KIND_SEQUENCE;
    case HostTensor::Kind::optional:
      return INGOT_KIND_OPTIONAL;
    case HostTensor::Kind::map:
      return INGOT_KIND_MAP;
  }
  INGOT_UNREACHABLE();
}

/// Nothing in a file tells the type of the values of a map without keys.
void give_type(const InputPort& port, HostTensor& tensor) {
  const bool is_empty = tensor.kind == HostTensor::Kind::map && tensor.items[0].dims[0] == 0;
  if (is_empty && tensor.key == port.key) tensor.dtype = tensor.items[1].dtype = port.dtype;
}

/// The type of the keys of a map, or of a sequence of maps.
std::optional<DType> key_of(const Type& type) {
  if (!type.is_container()) return std::nullopt;
  if (type.container.kind == ContainerType::Kind::map) return type.container.key;
  return type.container.element ? key_of(*type.container.element) : std::nullopt;
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
    InputPort port{info.name, dtype_from_onnx(info.dtype).value_or(DType::f32), kind_of(info.kind)};
    port.key = dtype_from_onnx(info.key_dtype);
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
    if (graph.type(input.value).is_state()) continue;
    const Type* element = &graph.type(input.value);
    while (element->is_container()) element = element->container.element.get();
    const TensorType& type = graph.tensor(input.value);
    InputPort port{input.name, element->tensor.dtype, kind_of(graph.type(input.value))};
    port.key = key_of(graph.type(input.value));
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
    const auto port = std::ranges::find(ports, name, &InputPort::name);
    TRY(given[name], read_tensor_file(std::string_view(text).substr(at + 1), port->kind));
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
      give_type(port, found->second);
      TRY_STATUS(check_input(port, found->second, sizes));
      tensors.push_back(std::move(found->second));
      continue;
    }
    if (!at_random) {
      return invalid_argument("input '", port.name, "': expected --input ", port.name,
                              "=FILE, --inputs or --random; the model wants ", shape_text(port));
    }
    if (port.kind != HostTensor::Kind::tensor || port.dtype == DType::str) {
      return unsupported("input '", port.name, "': random values of ", shape_text(port));
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

HostViews::HostViews(std::span<const HostTensor> tensors) {
  for (const HostTensor& tensor : tensors) views_.push_back(view(tensor));
}

ingot_tensor HostViews::view(const HostTensor& tensor) {
  ingot_tensor view = INGOT_INIT(ingot_tensor);
  view.dtype = onnx_number(tensor.dtype);
  view.rank = static_cast<int32_t>(tensor.dims.size());
  view.dims = const_cast<int64_t*>(tensor.dims.data());
  if (tensor.kind != HostTensor::Kind::tensor) {
    view.kind = kind_number(tensor.kind);
    std::vector<ingot_tensor> items;
    for (const HostTensor& item : tensor.items) items.push_back(this->view(item));
    ingot_container& container = containers_.emplace_back();
    container.struct_size = sizeof container;
    container.count = static_cast<int64_t>(items.size());
    container.items = items_.emplace_back(std::move(items)).data();
    view.data = &container;
  } else if (tensor.dtype == DType::str) {
    std::vector<ingot_string>& strings = strings_.emplace_back();
    for (const std::string& text : tensor.strings) strings.push_back({text.data(), text.size()});
    view.data = strings.data();
  } else {
    view.data = const_cast<std::byte*>(tensor.bytes.data());
  }
  return view;
}

namespace {

/// A copy of what the C interface shows.
HostTensor copy_of(const ingot_tensor& view, std::vector<int64_t> dims) {
  HostTensor tensor;
  tensor.dtype = dtype_from_onnx(view.dtype).value_or(DType::f32);
  if (view.kind != INGOT_KIND_TENSOR) {
    tensor.kind = kind_of(view.kind);
    const auto& container = *static_cast<const ingot_container*>(view.data);
    for (int64_t k = 0; k < container.count; ++k) {
      const ingot_tensor& item = container.items[k];
      tensor.items.push_back(copy_of(item, {item.dims, item.dims + item.rank}));
    }
    if (tensor.kind == HostTensor::Kind::map) {
      tensor.key = tensor.items[0].dtype;
      tensor.dtype = tensor.items[1].dtype;
    }
    return tensor;
  }
  tensor.dims = std::move(dims);
  const auto count = static_cast<uint64_t>(count_of(tensor.dims));
  if (tensor.dtype == DType::str) {
    const auto* strings = static_cast<const ingot_string*>(view.data);
    for (size_t k = 0; k < count; ++k) {
      tensor.strings.emplace_back(strings[k].data, strings[k].length);
    }
    return tensor;
  }
  const auto* data = static_cast<const std::byte*>(view.data);
  const uint64_t bytes = size_bytes(tensor.dtype, count);
  if (bytes > 0) tensor.bytes.assign(data, data + bytes);
  return tensor;
}

}  // namespace

Result<std::vector<HostTensor>> execute(const LoadedModel& model,
                                        std::span<const HostTensor> inputs,
                                        const ingot_run_options& options, double* run_ms) {
  const HostViews views(inputs);
  const uint32_t count = model.description().output_count;
  std::vector<ingot_tensor> outputs;
  std::vector<std::vector<int64_t>> dims(count);
  for (uint32_t k = 0; k < count; ++k) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = model.output(k).dtype;
    view.kind = model.output(k).kind;
    view.rank = model.output(k).rank;
    dims[k].resize(static_cast<size_t>(view.rank));
    view.dims = dims[k].data();
    outputs.push_back(view);
  }
  const auto start = std::chrono::steady_clock::now();
  TRY_STATUS(model.run(views.get(), outputs, options));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (run_ms != nullptr) *run_ms = took.count();
  std::vector<HostTensor> results;
  for (uint32_t k = 0; k < count; ++k) {
    dims[k].resize(static_cast<size_t>(outputs[k].rank));
    results.push_back(copy_of(outputs[k], dims[k]));
    results.back().holds_sequences = model.output(k).element_kind == INGOT_KIND_SEQUENCE;
    results.back().key = dtype_from_onnx(model.output(k).key_dtype);
    model.api().free_output(model.handle(), outputs[k].data);
  }
  return results;
}

}  // namespace ingot::cli
