// frontend/onnx/forest.h: ensembles of decision trees as tables, walked level by level.
#pragma once

#include <vector>

#include "frontend/onnx/op_context.h"

namespace ingot::onnx {

/// How a node compares a feature with its value.
enum class Branch : uint8_t { le, lt, ge, gt, eq, ne };

enum class Aggregate : uint8_t { average, sum, min, max };

/// Trees as one list of nodes. A leaf is its own successor and has a row of the weights.
struct Forest {
  struct Node {
    int64_t feature = 0;
    Branch branch = Branch::le;
    double value = 0;
    bool nan_is_true = false;
    int64_t yes = 0, no = 0;  // nodes
    bool is_leaf = false;
  };
  /// What a leaf adds to a target.
  struct Weight {
    int64_t target = 0;
    double value = 0;
  };

  std::vector<Node> nodes;
  std::vector<std::vector<Weight>> weights;  // of each node; of leaves alone
  std::vector<int64_t> roots;
  int64_t targets = 1;
};

/// The sums (or averages...) of what the leaves that rows x [N, F] reach add: [N, targets], in the
/// type of x. Errors: invalid_model for nodes that are not there or reach themselves, unsupported
/// for forests that are too deep or large to be tables.
Result<ValueId> apply_forest(OpContext& n, const Forest& forest, ValueId x, Aggregate how);

}  // namespace ingot::onnx
