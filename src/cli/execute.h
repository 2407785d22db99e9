// cli/execute.h: inputs of a compiled model from the command line, and one run of it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/host_tensor.h"
#include "cli/model_options.h"
#include "runtime/model.h"

namespace ingot::cli {

/// Options that say what a model is run on; `run`, `bench` and `verify` share them.
struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE
  std::string set;                  // FILE.npz, or a folder of input_I.pb or NAME.npy
  std::optional<uint64_t> seed;     // --random
  DimOptions dims;

  void add_to(CLI::App& app);
};

/// What an input is called and may be.
struct InputPort {
  std::string name;
  DType dtype = DType::f32;
  HostTensor::Kind kind = HostTensor::Kind::tensor;
  std::optional<DType> key = {};  // of maps
  /// Per dim: a size, or -1 and the name of the symbol.
  std::vector<std::pair<int64_t, std::string>> dims = {};
};

/// Inputs of an open artefact, and of a graph.
std::vector<InputPort> input_ports(const LoadedModel& model);
std::vector<InputPort> input_ports(const Graph& graph);

/// A tensor for every port. Without any --input or --inputs the values are random (seed 0) where
/// --random or --dim is given; dims that --dim does not name are 1 then.
/// Errors: invalid_argument that names the input, what was expected and what was given; io.
Result<std::vector<HostTensor>> gather_inputs(std::span<const InputPort> ports,
                                              const InputOptions& options);

/// One run. Outputs are copies. `run_ms`: where to write how long the model itself took, without
/// the copies; may be null. Errors: those of ingot_model_api::run.
Result<std::vector<HostTensor>> execute(const LoadedModel& model,
                                        std::span<const HostTensor> inputs,
                                        const ingot_run_options& options, double* run_ms = nullptr);

/// Views of host tensors for the C interface; they live as long as this and `tensors`.
class HostViews {
 public:
  explicit HostViews(std::span<const HostTensor> tensors);
  HostViews(HostViews&&) = default;  // what was allocated stays where it is
  HostViews& operator=(HostViews&&) = default;
  std::span<const ingot_tensor> get() const { return views_; }

 private:
  ingot_tensor view(const HostTensor& tensor);

  std::vector<ingot_tensor> views_;
  std::deque<std::vector<ingot_tensor>> items_;  // of containers
  std::deque<std::vector<ingot_string>> strings_;
  std::deque<ingot_container> containers_;
};

}  // namespace ingot::cli
