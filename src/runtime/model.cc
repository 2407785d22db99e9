// runtime/model.cc: the loader with Result and RAII.
#include "runtime/model.h"

#include <utility>

#include "base/check.h"

namespace ingot {
namespace {

Status check_loader(ingot_status status) {
  if (status == INGOT_OK) return ok();
  return Error{code_from_abi_status(status), ingot_loader_error(), {}};
}

template <class T>
const T& checked(const T* info, uint32_t index) {
  CHECK(info != nullptr, "index ", index, " is out of range");
  return *info;
}

}  // namespace

LoadedModel::LoadedModel(LoadedModel&& other) noexcept
    : loaded_(std::exchange(other.loaded_, ingot_loaded{})) {}

LoadedModel& LoadedModel::operator=(LoadedModel&& other) noexcept {
  std::swap(loaded_, other.loaded_);
  return *this;
}

LoadedModel::~LoadedModel() {
  ingot_close(&loaded_);
}

Result<LoadedModel> LoadedModel::open(const std::string& path, const ingot_open_options& options) {
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  TRY_STATUS(check_loader(ingot_open_file(path.c_str(), &options, &loaded)));
  return LoadedModel(loaded);
}

Result<LoadedModel> LoadedModel::open(const std::string& path) {
  return open(path, INGOT_INIT(ingot_open_options));
}

Result<LoadedModel> LoadedModel::open_memory(std::span<const std::byte> bytes,
                                             const ingot_open_options& options) {
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  TRY_STATUS(check_loader(ingot_open_memory(bytes.data(), bytes.size(), &options, &loaded)));
  return LoadedModel(loaded);
}

const ingot_value_info& LoadedModel::input(uint32_t index) const {
  return checked(api().input(handle(), index), index);
}
const ingot_value_info& LoadedModel::output(uint32_t index) const {
  return checked(api().output(handle(), index), index);
}
const ingot_state_info& LoadedModel::state(uint32_t index) const {
  return checked(api().state(handle(), index), index);
}
const ingot_symbol_info& LoadedModel::symbol(uint32_t index) const {
  return checked(api().symbol(handle(), index), index);
}
const ingot_constant_info& LoadedModel::constant(uint32_t index) const {
  return checked(api().constant(handle(), index), index);
}

Status LoadedModel::run(std::span<const ingot_tensor> inputs, std::span<ingot_tensor> outputs,
                        const ingot_run_options& options) const {
  return check(api().run(handle(), inputs.data(), static_cast<uint32_t>(inputs.size()),
                         outputs.data(), static_cast<uint32_t>(outputs.size()), &options));
}

Status LoadedModel::run(std::span<const ingot_tensor> inputs,
                        std::span<ingot_tensor> outputs) const {
  return run(inputs, outputs, INGOT_INIT(ingot_run_options));
}

Result<uint64_t> LoadedModel::workspace_bytes(std::span<const int64_t> symbols, int threads) const {
  uint64_t bytes = 0;
  TRY_STATUS(check(api().workspace_bytes(handle(), symbols.data(),
                                         static_cast<uint32_t>(symbols.size()), threads, &bytes)));
  return bytes;
}

Status LoadedModel::verify_weights() const {
  return check(api().verify_weights(handle()));
}

Status LoadedModel::check(ingot_status status) const {
  if (status == INGOT_OK) return ok();
  return Error{code_from_abi_status(status), api().last_error(), {}};
}

Status check_artifact(const std::string& path) {
  return check_loader(ingot_check_file(path.c_str()));
}

}  // namespace ingot
