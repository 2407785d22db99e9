// tests/op_planes.cc
#include "tests/op_planes.h"

#include "kernel/stmt.h"

namespace ingot {

std::vector<TensorType> plane_types(const Type& type) {
  if (!type.is_state()) return {type.tensor};
  const StateType& state = type.state;
  ExprPool& pool = state.batch.pool();
  TensorType data{state.dtype, {state.batch, state.capacity}};
  const TensorType lengths{DType::i64, {state.batch}};
  if (state.layout == StateLayout::paged) {
    data.dims = {state.capacity, pool.integer(state.block_size)};
  }
  data.dims.insert(data.dims.end(), state.token.begin(), state.token.end());
  if (state.layout == StateLayout::contiguous) return {data, lengths};
  return {data, TensorType{DType::i64, {state.batch, state.max_blocks}}, lengths};
}

size_t plane_number(const Type& type, StatePlane plane) {
  switch (plane) {
    case StatePlane::data:
      return 0;
    case StatePlane::table:
      return 1;
    case StatePlane::lengths:
      return type.state.layout == StateLayout::paged ? 2 : 1;
  }
  INGOT_UNREACHABLE();
}

std::vector<int64_t> concrete(std::span<const Expr> dims, std::span<const int64_t> symbols) {
  std::vector<int64_t> result;
  for (const Expr dim : dims) result.push_back(evaluate_dim(dim, symbols));
  return result;
}

Tensor rounded(const Tensor& tensor) {
  if (tensor.is_container()) {
    std::vector<Tensor> items;
    for (const Tensor& item : tensor.items()) items.push_back(rounded(item));
    return Tensor::container(std::move(items));
  }
  if (tensor.dtype() == DType::str) return tensor;
  auto result = Tensor::from_bytes(tensor.dtype(), tensor.dims(), tensor.to_bytes());
  CHECK(result, "a tensor's own bytes do not fit it");
  return *std::move(result);
}

}  // namespace ingot
