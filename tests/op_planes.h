// tests/op_planes.h: what the values of a graph consist of (op_harness.h).
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// Types of the planes that a value consists of.
std::vector<TensorType> plane_types(const Type& type);
size_t plane_number(const Type& type, StatePlane plane);

std::vector<int64_t> concrete(std::span<const Expr> dims, std::span<const int64_t> symbols);

/// The value as the storage type holds it.
Tensor rounded(const Tensor& tensor);

}  // namespace ingot
