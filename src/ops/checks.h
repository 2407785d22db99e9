// ops/checks.h: the constraints that many operators share, each with its message.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace ingot::ops {

/// No tensor has more elements: the bytes of any dtype still fit an int64_t.
inline constexpr int64_t kMaxElements = int64_t{1} << 56;

/// Every required port is there, nothing is there beyond the ports, and each input is a tensor,
/// except that ports before `states` are states. Errors: invalid_argument naming op and port.
Status expect_inputs(std::string_view op, std::span<const Port> ports, const InferContext& ctx,
                     size_t states = 0);
template <class T>
Status expect_inputs(const InferContext& ctx, size_t states = 0) {
  return expect_inputs(T::kName, T::kInputs, ctx, states);
}

/// Each is an i64 expression of symbols and constants alone, as dims and offsets have to be.
Status expect_dim_exprs(std::string_view op, std::string_view what, std::span<const Expr> exprs);

/// Dims that a tensor may have: i64 expressions of symbols, constants in [0, kMaxDim], at most
/// kMaxElements elements as far as they are known.
Status expect_dims(std::string_view op, std::span<const Expr> dims);

/// The only output: a tensor of that type. Errors: those of expect_dims.
Result<Types> one_tensor(std::string_view op, DType dtype, Exprs dims);

/// `axis` counted from the front. Errors: outside [-rank, rank).
Result<int64_t> expect_axis(std::string_view op, int64_t axis, int64_t rank);

Status expect_float(std::string_view op, std::string_view port, DType dtype);
/// A float or an integer: something with an order and arithmetic.
Status expect_number(std::string_view op, std::string_view port, DType dtype);
Status expect_same_dtype(std::string_view op, std::string_view a, DType a_dtype, std::string_view b,
                         DType b_dtype);
Status expect_rank(std::string_view op, std::string_view port, const TensorType& type,
                   int64_t rank);
Status expect_rank_at_least(std::string_view op, std::string_view port, const TensorType& type,
                            int64_t rank);
/// Takes a == b to hold. Errors: it cannot. `what` names both, such as "K of a and K of b".
Status expect_equal(InferContext& ctx, std::string_view op, std::string_view what, Expr a, Expr b);

/// The dims of several shapes broadcast as NumPy does; equalities it relies on become assumptions.
Result<Exprs> broadcast_dims(InferContext& ctx, std::string_view op, std::span<const Exprs> shapes);

}  // namespace ingot::ops
