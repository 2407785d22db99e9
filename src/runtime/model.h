// runtime/model.h: a compiled model for the project's own C++: the loader with Result and RAII.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "ingot/loader.h"

namespace ingot {

/// An open artefact; closed when it goes out of scope. Safe for concurrent runs.
class LoadedModel {
 public:
  LoadedModel(LoadedModel&& other) noexcept;
  LoadedModel& operator=(LoadedModel&& other) noexcept;
  ~LoadedModel();

  /// Errors: io, invalid_model, wrong_target, and those of ingot_model_api::open.
  static Result<LoadedModel> open(const std::string& path, const ingot_open_options& options);
  /// With the default options.
  static Result<LoadedModel> open(const std::string& path);
  /// A copy of an artefact in memory.
  static Result<LoadedModel> open_memory(std::span<const std::byte> bytes,
                                         const ingot_open_options& options);

  const ingot_model_api& api() const { return *loaded_.api; }
  ingot_model* handle() const { return loaded_.model; }
  const ingot_description& description() const { return *loaded_.api->describe(loaded_.model); }
  /// The index must be in range.
  const ingot_value_info& input(uint32_t index) const;
  const ingot_value_info& output(uint32_t index) const;
  const ingot_state_info& state(uint32_t index) const;
  const ingot_symbol_info& symbol(uint32_t index) const;
  const ingot_constant_info& constant(uint32_t index) const;

  /// As ingot_model_api::run.
  Status run(std::span<const ingot_tensor> inputs, std::span<ingot_tensor> outputs,
             const ingot_run_options& options) const;
  Status run(std::span<const ingot_tensor> inputs, std::span<ingot_tensor> outputs) const;
  /// As ingot_model_api::workspace_bytes.
  Result<uint64_t> workspace_bytes(std::span<const int64_t> symbols, int threads) const;
  Status verify_weights() const;

  /// OK, or the model's last error in this thread.
  Status check(ingot_status status) const;

 private:
  explicit LoadedModel(const ingot_loaded& loaded) : loaded_(loaded) {}

  ingot_loaded loaded_;
};

/// Whether a file is an artefact that this machine could load, without loading it.
/// Errors: io, invalid_model, wrong_target.
Status check_artifact(const std::string& path);

}  // namespace ingot
