// ops/checks.cc: the constraints that many operators share, each with its message.
#include "ops/checks.h"

#include "base/text.h"

namespace ingot::ops {
namespace {

std::string_view kind_name(const Type& type) {
  switch (type.kind) {
    case Type::Kind::tensor:
      return "a tensor";
    case Type::Kind::state:
      return "a state";
    case Type::Kind::container:
      return "a sequence, optional or map";
  }
  INGOT_UNREACHABLE();
}

bool is_dim_expr(Expr root) {
  bool good = true;
  for_each(root, [&](Expr e) {
    switch (e.kind()) {
      case ExprKind::index:
      case ExprKind::param:
      case ExprKind::local:
      case ExprKind::load:
      case ExprKind::reduce:
        good = false;
        break;
      default:
        break;
    }
  });
  return good;
}

}  // namespace

Status expect_inputs(std::string_view op, std::span<const Port> ports, const InferContext& ctx,
                     size_t states) {
  const bool variadic = !ports.empty() && ports.back().kind == PortKind::variadic;
  if (ctx.count() > ports.size() && !variadic) {
    return invalid_argument(op, ": expected at most ", ports.size(), " inputs, got ", ctx.count());
  }
  for (size_t p = 0; p < ports.size(); ++p) {
    if (ports[p].kind == PortKind::required && !ctx.has(p)) {
      return invalid_argument(op, ": expected input '", ports[p].name, "', got none");
    }
  }
  for (size_t k = 0; k < ctx.count(); ++k) {
    const Port& port = ports[std::min(k, ports.size() - 1)];
    if (!ctx.has(k)) {
      if (port.kind == PortKind::optional) continue;
      return invalid_argument(op, ": expected input ", k, " of '", port.name, "', got none");
    }
    const Type::Kind wanted = k < states ? Type::Kind::state : Type::Kind::tensor;
    if (ctx.inputs[k].kind != wanted) {
      return invalid_argument(op, ": expected '", port.name, "' to be ",
                              k < states ? "a state" : "a tensor", ", got ",
                              kind_name(ctx.inputs[k]));
    }
  }
  return ok();
}

Status expect_dim_exprs(std::string_view op, std::string_view what, std::span<const Expr> exprs) {
  for (const Expr e : exprs) {
    if (!e) return invalid_argument(op, ": ", what, ": expected an expression, got none");
    if (e.dtype() != DType::i64) {
      return invalid_argument(op, ": ", what, ": expected i64 expressions, got ", e.dtype(), " ",
                              to_text(e));
    }
    if (!is_dim_expr(e)) {
      return invalid_argument(op, ": ", what, ": expected an expression of symbols, got ",
                              to_text(e));
    }
  }
  return ok();
}

Status expect_dims(std::string_view op, std::span<const Expr> dims) {
  TRY_STATUS(expect_dim_exprs(op, "dims", dims));
  int64_t elements = 1;
  bool empty = false;
  bool too_many = false;
  for (const Expr dim : dims) {
    if (range_of(dim).hi < 0 || (dim.as_int() && *dim.as_int() > kMaxDim)) {
      return invalid_argument(op, ": expected dims between 0 and ", kMaxDim, ", got ", dims);
    }
    const int64_t size = dim.as_int().value_or(1);
    if (size == 0) {
      empty = true;
    } else if (elements > kMaxElements / size) {
      too_many = true;
    } else {
      elements *= size;
    }
  }
  if (too_many && !empty) {
    return invalid_argument(op, ": expected at most 2^56 elements, got dims ", dims);
  }
  return ok();
}

Result<Types> one_tensor(std::string_view op, DType dtype, Exprs dims) {
  TRY_STATUS(expect_dims(op, dims));
  return Types{TensorType{dtype, std::move(dims)}};
}

Result<int64_t> expect_axis(std::string_view op, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return invalid_argument(op, ": expected an axis in [", -rank, ", ", rank, "), got ", axis);
  }
  return axis < 0 ? axis + rank : axis;
}

Status expect_float(std::string_view op, std::string_view port, DType dtype) {
  if (is_float(dtype)) return ok();
  return invalid_argument(op, ": expected a floating-point ", port, ", got ", dtype);
}

Status expect_number(std::string_view op, std::string_view port, DType dtype) {
  if (is_float(dtype) || is_int(dtype)) return ok();
  return invalid_argument(op, ": expected ", port, " of a float or integer type, got ", dtype);
}

Status expect_same_dtype(std::string_view op, std::string_view a, DType a_dtype, std::string_view b,
                         DType b_dtype) {
  if (a_dtype == b_dtype) return ok();
  return invalid_argument(op, ": expected ", a, " and ", b, " of one type, got ", a_dtype, " and ",
                          b_dtype);
}

Status expect_rank(std::string_view op, std::string_view port, const TensorType& type,
                   int64_t rank) {
  if (type.rank() == rank) return ok();
  return invalid_argument(op, ": expected ", port, " of rank ", rank, ", got ", to_text(type));
}

Status expect_rank_at_least(std::string_view op, std::string_view port, const TensorType& type,
                            int64_t rank) {
  if (type.rank() >= rank) return ok();
  return invalid_argument(op, ": expected ", port, " of rank ", rank, " or more, got ",
                          to_text(type));
}

Status expect_equal(InferContext& ctx, std::string_view op, std::string_view what, Expr a, Expr b) {
  if (provably_equal(a, b)) return ok();
  if (ctx.assume_equal(a, b, concat(op, ": ", what, " are equal"))) return ok();
  return invalid_argument(op, ": expected ", what, " to be equal, got ", to_text(a), " and ",
                          to_text(b));
}

Result<Exprs> broadcast_dims(InferContext& ctx, std::string_view op,
                             std::span<const Exprs> shapes) {
  std::vector<std::pair<Expr, Expr>> equal_pairs;
  TRY(Exprs dims, add_note(broadcast(shapes, &equal_pairs), op));
  for (const auto& [a, b] : equal_pairs) {
    TRY_STATUS(expect_equal(ctx, op, "broadcast dims", a, b));
  }
  return dims;
}

}  // namespace ingot::ops
