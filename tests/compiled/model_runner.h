// tests/compiled/model_runner.h: compiles a graph, opens what comes out and runs it on tensors.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "base/file.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "runtime/model.h"

namespace ingot {

/// Tensors as the C interface takes them. A container becomes a sequence.
class TensorViews {
 public:
  explicit TensorViews(std::span<const Tensor> tensors);
  std::vector<ingot_tensor> views;

 private:
  ingot_tensor view(const Tensor& tensor);

  std::deque<std::vector<int64_t>> dims_;
  std::deque<std::vector<std::byte>> bytes_;
  std::deque<std::vector<ingot_string>> strings_;
  std::deque<std::vector<ingot_tensor>> items_;
  std::deque<ingot_container> containers_;
};

/// A copy of what the C interface shows.
Result<Tensor> tensor_from(const ingot_tensor& view);

/// Views that ask for all outputs of a model, which it allocates; `dims` takes their dims.
std::vector<ingot_tensor> asked_outputs(const LoadedModel& model,
                                        std::vector<std::vector<int64_t>>& dims);
Result<std::vector<Tensor>> run_model(const LoadedModel& model, std::span<const Tensor> inputs);
/// Whether the values are the same bit for bit.
bool is_same(std::span<const Tensor> a, std::span<const Tensor> b);

/// A model compiled for this machine, verified behind every pass.
Result<LoadedModel> compile_and_open(const Graph& graph);

}  // namespace ingot
