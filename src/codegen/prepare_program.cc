// codegen/prepare_program.cc: compiles, loads and runs the preparation program.
#include "codegen/prepare_program.h"

#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "codegen/weights_file.h"
#include "ingot/ingot.h"

namespace ingot {
namespace {

/// A library of ours that this process opened, and closes.
class OpenLibrary {
 public:
  static Result<OpenLibrary> open(const std::filesystem::path& path) {
    OpenLibrary library;
    library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ == nullptr) return toolchain_error("preparing weights: ", ::dlerror());
    const auto entry =
        reinterpret_cast<const ingot_model_api* (*)()>(::dlsym(library.handle_, "ingot_model_v1"));
    if (entry == nullptr) return internal_error("preparing weights: no entry point");
    library.api_ = entry();
    if (library.api_->open(nullptr, &library.model_) != INGOT_OK) {
      return internal_error("preparing weights: ", library.api_->last_error());
    }
    return library;
  }
  OpenLibrary(OpenLibrary&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        api_(other.api_),
        model_(std::exchange(other.model_, nullptr)) {}
  OpenLibrary& operator=(OpenLibrary&&) = delete;
  ~OpenLibrary() {
    if (model_ != nullptr) api_->close(model_);
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  const ingot_model_api& api() const { return *api_; }
  ingot_model* model() const { return model_; }

 private:
  OpenLibrary() = default;
  void* handle_ = nullptr;
  const ingot_model_api* api_ = nullptr;
  ingot_model* model_ = nullptr;
};

ingot_tensor tensor_of(DType dtype, std::vector<int64_t>& dims, std::byte* data) {
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.dtype = info(dtype).onnx;
  tensor.rank = static_cast<int32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = data;
  return tensor;
}

}  // namespace

Status PrepareProgram::add_jobs(Jobs& jobs) {
  ModelDescription model;
  model.name = "prepare";
  model.toolchain = options_.toolchain.version;
  model.levels = {host_level()};
  model.main = &plan_;
  const auto bytes = static_cast<uint64_t>(place_constants(plan_, Placed::all));
  if (bytes > 0) {
    const auto path = options_.directory / "prepare.bin";
    TRY(WeightsFile file, WeightsFile::create(path, bytes));
    for (const PlannedConstant& c : plan_.constants) {
      std::memcpy(file.data() + c.offset, c.data.bytes.data(), c.data.bytes.size());
    }
    model.weights = {WeightsKind::embedded, bytes, "", file.hash(), 0};
    TRY(objects_.emplace_back(), build_.weights(model.weights.hash, path));
  }
  TRY_STATUS(build_.add_tiles({host_level()}, objects_));
  std::vector<SourceFile> units = write_whole(model, "prepare_");
  const size_t first = objects_.size();
  missing_ = units.size();
  objects_.resize(first + units.size());
  for (size_t k = 0; k < units.size(); ++k) {
    const double cost = units[k].cost;
    jobs.add(cost, [this, at = first + k, unit = std::move(units[k])]() -> Status {
      TRY(objects_[at], build_.compile(unit, host_level(), Effort::light));
      return --missing_ == 0 ? link() : ok();
    });
  }
  return ok();
}

Status PrepareProgram::link() {
  return build_.link(objects_, options_.directory / "prepare.so");
}

Status PrepareProgram::run(std::span<const ConstantData> constants,
                           std::span<std::byte* const> outputs) const {
  TRY(const OpenLibrary library, OpenLibrary::open(options_.directory / "prepare.so"));
  std::vector<std::vector<int64_t>> input_dims, output_dims;
  for (const ConstantData& c : constants) input_dims.push_back(c.dims);
  for (const GraphOutput& output : plan_.graph.outputs()) {
    output_dims.push_back(*static_dims(plan_.graph.tensor(output.value)));
  }
  std::vector<ingot_tensor> inputs, results;
  // Constants of a model file may lie at any address; kernels want them aligned to an element.
  std::vector<std::vector<std::byte>> aligned;
  for (size_t k = 0; k < constants.size(); ++k) {
    const ConstantData& c = constants[k];
    auto* data = const_cast<std::byte*>(c.bytes.data());
    if (reinterpret_cast<uintptr_t>(data) % 8 != 0) {
      data = aligned.emplace_back(c.bytes.begin(), c.bytes.end()).data();
    }
    inputs.push_back(tensor_of(c.dtype, input_dims[k], data));
  }
  for (size_t k = 0; k < output_dims.size(); ++k) {
    const DType dtype = plan_.graph.tensor(plan_.graph.outputs()[k].value).dtype;
    results.push_back(tensor_of(dtype, output_dims[k], outputs[k]));
  }
  const ingot_status status =
      library.api().run(library.model(), inputs.data(), static_cast<uint32_t>(inputs.size()),
                        results.data(), static_cast<uint32_t>(results.size()), nullptr);
  if (status == INGOT_OK) return ok();
  return internal_error("preparing weights: ", library.api().last_error());
}

}  // namespace ingot
