// passes/constants.h: which values are known before the model runs.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Knows which values are computed from constants alone, whatever the symbols are: those that the
/// weight-preparation program can compute. Random numbers and values of unknown size are not.
class ConstantValues {
 public:
  explicit ConstantValues(const Graph& graph) : graph_(graph) {}

  /// Whether `value` is one; follows producers it has not seen. Nodes may be added meanwhile.
  bool contains(ValueId value);

 private:
  const Graph& graph_;
  enum class Known : uint8_t { unknown, no, yes };
  std::vector<Known> known_;  // by node
};

/// True if an op mentions a symbol in an attribute, so that its result depends on run-time dims.
bool depends_on_symbols(const OpRef& op);

/// The one value that all elements of a numeric constant have, in its dtype, if they do.
std::optional<Tensor> uniform_value(const ConstantData& data);

}  // namespace ingot
