// codegen/cpu_expr.cc: scalar expressions, and vectors of them, as C++ text.
#include <bit>

#include "base/check.h"
#include "base/text.h"
#include "codegen/emit_cpu.h"

namespace ingot {
namespace {

/// An expression longer than this gets a name, so that lines stay readable.
constexpr size_t kLongText = 44;

bool is_leaf(Expr e) {
  return arity(e.kind()) == 0;
}

/// `a op b` in C++ for kinds that have an operator.
std::string_view operator_of(ExprKind kind, DType dtype) {
  switch (kind) {
    case ExprKind::add:
      return "+";
    case ExprKind::sub:
      return "-";
    case ExprKind::mul:
      return "*";
    case ExprKind::bit_and:
      return "&";
    case ExprKind::bit_or:
      return "|";
    case ExprKind::bit_xor:
      return "^";
    case ExprKind::div:
      return is_float(dtype) ? "/" : "";
    default:
      return "";
  }
}

/// The prelude's name of a kind that is written as a call.
std::string_view function_of(ExprKind kind) {
  switch (kind) {
    case ExprKind::eq:
      return "equal";
    case ExprKind::ne:
      return "not_equal";
    case ExprKind::lt:
      return "less";
    case ExprKind::le:
      return "less_equal";
    case ExprKind::logical_and:
      return "mask_and";
    case ExprKind::logical_or:
      return "mask_or";
    case ExprKind::logical_xor:
      return "mask_xor";
    case ExprKind::logical_not:
      return "mask_not";
    default:
      return name(kind);
  }
}

}  // namespace

void CpuExprWriter::name_buffer(uint32_t buffer, std::string name, DType dtype) {
  buffers_[buffer] = {std::move(name), dtype, false};
}
void CpuExprWriter::name_local(LocalId local, std::string name, bool vector) {
  locals_[local] = {std::move(name), DType::f32, vector};
  vector_memo_.clear();
}
void CpuExprWriter::name_param(uint32_t param, std::string name, bool vector) {
  params_[param] = {std::move(name), DType::f32, vector};
}

void CpuExprWriter::enter_vector(VarId var, std::string lanes) {
  vector_var_ = var;
  lanes_ = std::move(lanes);
  vector_memo_.clear();
}
void CpuExprWriter::leave_vector() {
  vector_var_ = VarId();
  lanes_.clear();
  vector_memo_.clear();
}

bool CpuExprWriter::is_vector(Expr e) {
  if (as_scalar_) return false;
  if (e.kind() == ExprKind::local)
    return locals_.at(LocalId(static_cast<uint32_t>(e.payload()))).vector;
  if (e.kind() == ExprKind::param) return params_.at(static_cast<uint32_t>(e.payload())).vector;
  if (e.kind() == ExprKind::index) return in_vector() && e.var() == vector_var_;
  if (is_leaf(e)) return false;
  if (const auto at = vector_memo_.find(e.id()); at != vector_memo_.end()) return at->second;
  bool vector = false;
  for (int k = 0; k < 3 && !vector; ++k) {
    if (const Expr operand = e.operand(k)) vector = is_vector(operand);
  }
  return vector_memo_[e.id()] = vector;
}

void CpuExprWriter::begin_statement(std::initializer_list<Expr> roots) {
  uses_.clear();
  for (const Expr& root : roots) {
    if (!root) continue;
    ++uses_[root.id()];
    for_each(root, [&](Expr e) {
      for (int k = 0; k < 3; ++k) {
        if (const Expr operand = e.operand(k)) ++uses_[operand.id()];
      }
    });
  }
}

std::string CpuExprWriter::constant_of(Expr e, const std::string& value) {
  std::string name = fresh("t");
  out_.line("const auto ", name, " = ", value, ";");
  named_[e.id() * 2 + (as_scalar_ ? 1 : 0)] = name;
  return name;
}

std::string CpuExprWriter::write(Expr e) {
  if (const auto at = named_.find(e.id() * 2 + (as_scalar_ ? 1 : 0)); at != named_.end()) {
    return at->second;
  }
  std::string result = text(e);
  if (is_leaf(e)) return result;
  const auto uses = uses_.find(e.id());
  const bool shared = uses != uses_.end() && uses->second > 1;
  return shared || result.size() > kLongText ? constant_of(e, result) : result;
}

std::string CpuExprWriter::operand(Expr e, bool vector) {
  std::string inner = write(e);
  if (!vector || is_vector(e)) return inner;
  if (e.dtype() == DType::b8) return concat("splat<W>(", inner, " ? i32(-1) : i32(0))");
  if (e.dtype() == DType::i64) return concat("splat<W>(i64(", inner, "))");
  return concat("splat<W>(", inner, ")");
}

std::string CpuExprWriter::write_lanes(Expr e) {
  return operand(e, true);
}

std::string CpuExprWriter::literal(Expr e) {
  const DType dtype = compute_dtype(e.dtype());
  if (dtype == DType::i64 && e.as_int() != std::numeric_limits<int64_t>::min()) {
    return std::to_string(*e.as_int());
  }
  return cpu_literal(dtype, e.as_real().value_or(0), e.as_int().value_or(0));
}

std::string CpuExprWriter::leaf(Expr e) {
  switch (e.kind()) {
    case ExprKind::constant:
      return literal(e);
    case ExprKind::symbol:
      return cpu_symbol(e);
    case ExprKind::index: {
      const std::string& var = vars_.at(e.var());
      return is_vector(e) ? concat("iota<W>(", var, ")") : var;
    }
    case ExprKind::param:
      return params_.at(static_cast<uint32_t>(e.payload())).name;
    case ExprKind::local:
      return locals_.at(LocalId(static_cast<uint32_t>(e.payload()))).name;
    default:
      break;
  }
  CHECK(false, "not a leaf: ", to_text(e));
  return {};
}

std::string CpuExprWriter::first_lane(Expr offset) {
  const bool before = std::exchange(as_scalar_, true);
  std::string result = write(offset);
  as_scalar_ = before;
  return result;
}

std::optional<Expr> CpuExprWriter::lane_stride(Expr offset) {
  // Lanes may also depend on the variable through a load or a local, which no stride describes.
  bool by_data = false;
  for_each(offset, [&](Expr e) {
    by_data |= (e.kind() == ExprKind::load || e.kind() == ExprKind::local) && is_vector(e);
  });
  if (by_data) return std::nullopt;
  if (!depends_on(offset, vector_var_)) return pool_.integer(0);
  if (auto stride = stride_of(offset, vector_var_); stride && !is_vector(*stride)) return stride;
  // Because a block of lanes starts at a multiple of W, which divides 16, a division by a multiple
  // of 16 gives the same in all lanes.
  const Expr lane = pool_.fresh_index(pool_.integer(kMostLanes));
  const Expr block = pool_.fresh_index(ceildiv(pool_.extent(vector_var_), kMostLanes));
  const Expr split = substitute(offset, pool_, [&](Expr e) -> std::optional<Expr> {
    if (e.kind() == ExprKind::index && e.var() == vector_var_) return block * kMostLanes + lane;
    return std::nullopt;
  });
  if (auto stride = stride_of(split, lane.var()); stride && stride->as_int()) return stride;
  return std::nullopt;
}

std::optional<CpuExprWriter::LaneRange> CpuExprWriter::lanes_where(Expr condition) {
  const Expr none = pool_.integer(0), all = pool_.integer(kMostLanes);
  if (!is_vector(condition)) return LaneRange{none, select(condition, all, none)};
  switch (condition.kind()) {
    case ExprKind::logical_and: {
      const auto a = lanes_where(condition.operand(0)), b = lanes_where(condition.operand(1));
      if (!a || !b) return std::nullopt;
      return LaneRange{max(a->first, b->first), min(a->end, b->end)};
    }
    case ExprKind::logical_not: {
      const Expr inner = condition.operand(0);
      const Expr a = inner.operand(0), b = inner.operand(1);
      if (inner.kind() == ExprKind::lt) return lanes_where(less_equal(b, a));
      if (inner.kind() == ExprKind::le) return lanes_where(less(b, a));
      return std::nullopt;
    }
    case ExprKind::lt:
    case ExprKind::le: {
      const Expr a = condition.operand(0), b = condition.operand(1);
      if (a.dtype() != DType::i64) return std::nullopt;
      // Holds where `slack` is positive, which grows or shrinks by a constant from lane to lane.
      const Expr slack = condition.kind() == ExprKind::lt ? b - a : b - a + 1;
      const auto stride = lane_stride(slack);
      const auto step = stride ? stride->as_int() : std::nullopt;
      if (!step || *step == 0) return std::nullopt;
      if (*step < 0) return LaneRange{none, ceildiv(slack, -*step)};
      return LaneRange{floordiv(-slack, *step) + 1, all};
    }
    default:
      return std::nullopt;
  }
}

std::string CpuExprWriter::load(Expr e) {
  const Named& buffer = buffers_.at(e.buffer());
  const Expr offset = e.operand(0), predicate = e.operand(1), otherwise = e.operand(2);
  const bool plain = compute_dtype(buffer.dtype) == buffer.dtype;
  const auto as_value = [&](const std::string& loaded) {
    return buffer.dtype == DType::b8 ? concat("to_mask(", loaded, ")") : loaded;
  };
  const std::string fill = !predicate                   ? ""
                           : buffer.dtype == DType::b8  ? concat("u8(", write(otherwise), ")")
                           : buffer.dtype == DType::i64 ? concat("i64(", write(otherwise), ")")
                                                        : write(otherwise);
  if (!is_vector(e)) {
    const std::string at = write(offset);
    const std::string loaded =
        plain ? concat(buffer.name, "[", at, "]") : concat("load<1>(", buffer.name, " + ", at, ")");
    if (!predicate) return as_value(loaded);
    return as_value(concat("(", write(predicate), " ? ", loaded, " : ", fill, ")"));
  }
  if (predicate && is_vector(predicate)) {
    const auto stride = lane_stride(offset);
    const auto range = stride ? lanes_where(predicate) : std::nullopt;
    if (range) {
      std::string end = first_lane(range->end);
      if (!lanes_.empty()) end = concat("min(i64(", end, "), i64(", lanes_, "))");
      return as_value(concat("load_between(", buffer.name, " + ", first_lane(offset), ", ",
                             first_lane(*stride), ", ", first_lane(range->first), ", ", end, ", ",
                             fill, ")"));
    }
    std::string mask = write(predicate);
    if (!lanes_.empty()) mask = concat("mask_and(", mask, ", first_lanes(", lanes_, "))");
    return as_value(concat("gather_if(", buffer.name, ", ", operand(offset, true), ", ", mask, ", ",
                           fill, ")"));
  }
  const auto stride = lane_stride(offset);
  std::string loaded;
  if (stride && stride->is_int(0)) {
    loaded = plain ? concat("splat<W>(", buffer.name, "[", first_lane(offset), "])")
                   : concat("splat<W>(load<1>(", buffer.name, " + ", first_lane(offset), "))");
  } else if (stride && stride->is_int(1)) {
    const std::string at = concat(buffer.name, " + ", first_lane(offset));
    loaded =
        lanes_.empty() ? concat("load(", at, ")") : concat("load_partial(", at, ", ", lanes_, ")");
  } else if (stride) {
    const std::string at =
        concat(buffer.name, " + ", first_lane(offset), ", ", first_lane(*stride));
    loaded = lanes_.empty() ? concat("load_strided(", at, ")")
                            : concat("load_strided_partial(", at, ", ", lanes_, ")");
  } else {
    const std::string at = concat(buffer.name, ", ", operand(offset, true));
    loaded = lanes_.empty() ? concat("gather(", at, ")")
                            : concat("gather_partial(", at, ", ", lanes_, ")");
  }
  if (!predicate) return as_value(loaded);
  return as_value(concat("(", write(predicate), " ? ", loaded, " : splat<W>(", fill, "))"));
}

std::string CpuExprWriter::call(Expr e) {
  const bool vector = is_vector(e);
  std::string arguments;
  const int count = arity(e.kind());
  // A comparison has lanes if an operand has, and all operands of a call have the same type.
  for (int k = 0; k < count; ++k) {
    if (k > 0) arguments += ", ";
    std::string argument = operand(e.operand(k), vector);
    if (!vector && e.operand(k).dtype() == DType::i64) argument = concat("i64(", argument, ")");
    arguments += argument;
  }
  return concat(function_of(e.kind()), "(", arguments, ")");
}

std::string CpuExprWriter::text(Expr e) {
  std::string whole = register_text(e);
  // Registers are wider than packed integers: what is computed wraps as they do.
  const bool computed = !is_leaf(e) && e.kind() != ExprKind::load && e.kind() != ExprKind::cast &&
                        e.kind() != ExprKind::select;
  if (!computed || !is_int(e.dtype()) || !is_packed(e.dtype())) return whole;
  return concat("convert<", cpu_type(e.dtype()), ">(", whole, ")");
}

std::string CpuExprWriter::register_text(Expr e) {
  const bool vector = is_vector(e);
  const DType dtype = e.dtype();
  if (vector && dtype == DType::b8) {
    // A comparison of indices is a range of lanes, which is cheaper than vectors of i64.
    if (const auto range = lanes_where(e)) {
      if (range_of(range->first).hi <= 0)
        return concat("first_lanes(", first_lane(range->end), ")");
      return concat("lanes_between(", first_lane(range->first), ", ", first_lane(range->end), ")");
    }
  }
  switch (e.kind()) {
    case ExprKind::constant:
    case ExprKind::symbol:
    case ExprKind::index:
    case ExprKind::param:
    case ExprKind::local:
      return leaf(e);
    case ExprKind::load:
      return load(e);
    case ExprKind::reduce:
      CHECK(false, "reductions are loops by now");
      return {};
    case ExprKind::cast: {
      const Expr from = e.operand(0);
      std::string inner = write(from);
      if (dtype == from.dtype()) return inner;
      const DType held = compute_dtype(dtype);
      if (from.dtype() == DType::b8) {
        return concat("from_mask<", cpu_register(held), ">(", inner, ")");
      }
      if (dtype == DType::b8) return concat("to_mask(", inner, ")");
      // Narrower floats are held as f32, so widening them is nothing.
      if (held == compute_dtype(from.dtype()) && held == dtype) return inner;
      const std::string typed =
          !vector && from.dtype() == DType::i64 ? concat("i64(", inner, ")") : inner;
      return concat("convert<", cpu_type(dtype), ">(", typed, ")");
    }
    case ExprKind::select: {
      const Expr condition = e.operand(0);
      const std::string a = operand(e.operand(1), vector), b = operand(e.operand(2), vector);
      if (!is_vector(condition)) {
        if (!vector && dtype == DType::i64) {
          return concat("(", write(condition), " ? i64(", a, ") : i64(", b, "))");
        }
        return concat("(", write(condition), " ? ", a, " : ", b, ")");
      }
      return concat("select(", write(condition), ", ", a, ", ", b, ")");
    }
    case ExprKind::neg: {
      const std::string value = concat("-", operand(e.operand(0), vector));
      if (vector) return concat("(", value, ")");
      return is_narrow_int(dtype) ? concat(cpu_register(dtype), "(", value, ")")
                                  : concat("(", value, ")");
    }
    case ExprKind::bit_not: {
      const std::string value = concat("~", operand(e.operand(0), vector));
      return !vector && is_narrow_int(dtype) ? concat(cpu_register(dtype), "(", value, ")")
                                             : concat("(", value, ")");
    }
    case ExprKind::floordiv:
    case ExprKind::floormod:
      if (const auto by = e.operand(1).as_int();
          vector && by && *by > 0 && (*by & (*by - 1)) == 0) {
        // Exact for negative numbers, too: both round towards minus infinity.
        const bool divide = e.kind() == ExprKind::floordiv;
        return concat("(", operand(e.operand(0), true), divide ? " >> " : " & ",
                      cpu_register(dtype), "(",
                      divide ? std::countr_zero(static_cast<uint64_t>(*by)) : *by - 1, "))");
      }
      if (!vector && dtype == DType::i64 && range_of(e.operand(0)).lo >= 0 &&
          range_of(e.operand(1)).lo >= 1) {
        return concat("(", write(e.operand(0)), e.kind() == ExprKind::floordiv ? " / " : " % ",
                      write(e.operand(1)), ")");
      }
      return call(e);
    default:
      break;
  }
  const std::string_view op = operator_of(e.kind(), dtype);
  if (op.empty()) return call(e);
  const std::string value =
      concat("(", operand(e.operand(0), vector), " ", op, " ", operand(e.operand(1), vector), ")");
  return !vector && is_narrow_int(dtype) ? concat(cpu_register(dtype), value) : value;
}

void CpuExprWriter::lanes_loop(VarId var, const std::string& name, Expr extent,
                               const std::string& extent_text, const std::function<void()>& body) {
  const auto constant = extent.as_int();
  const bool has_full = !constant || *constant >= 4;
  const bool has_rest = !constant || *constant % kMostLanes != 0;
  if (has_full && !has_rest) {
    out_.block(concat("for (i64 ", name, " = 0; ", name, " < ", extent_text, "; ", name, " += W)"),
               [&] { in_lanes(var, "", body); });
    return;
  }
  out_.line("i64 ", name, " = 0;");
  if (has_full) {
    out_.block(concat("for (; ", name, " + W <= ", extent_text, "; ", name, " += W)"),
               [&] { in_lanes(var, "", body); });
  }
  out_.block(concat("if (", name, " < ", extent_text, ")"), [&] {
    const std::string rest = fresh("count");
    out_.line("const i64 ", rest, " = ", extent_text, " - ", name, ";");
    in_lanes(var, rest, body);
  });
}

void CpuExprWriter::in_lanes(VarId var, std::string rest, const std::function<void()>& body) {
  const auto scope = save();
  enter_vector(var, std::move(rest));
  body();
  leave_vector();
  restore(scope);
}

void CpuExprWriter::store(uint32_t number, Expr offset, Expr value, Expr predicate) {
  const Named& buffer = buffers_.at(number);
  // Storing rounds to narrower floats itself.
  if (value.kind() == ExprKind::cast && compute_dtype(value.dtype()) != value.dtype() &&
      value.operand(0).dtype() == compute_dtype(value.dtype())) {
    value = value.operand(0);
  }
  begin_statement({offset, value, predicate});
  const bool lanes = in_vector() && (depends_on(offset, vector_var_) || is_vector(value));
  std::string what = operand(value, lanes);
  if (buffer.dtype == DType::b8) what = concat("from_mask<u8>(", what, ")");
  if (!lanes) {
    const std::string at = concat(buffer.name, " + ", write(offset));
    const std::string_view guard = predicate ? "if (" : "";
    const std::string condition = predicate ? write(predicate) : "";
    out_.line(guard, condition, predicate ? ") " : "", "store(", at, ", ",
              buffer.dtype == DType::i64 ? concat("i64(", what, ")") : what, ");");
    return;
  }
  const auto stride = lane_stride(offset);
  const std::string rest = lanes_.empty() ? "" : concat(", ", lanes_);
  const std::string_view partial = lanes_.empty() ? "" : "_partial";
  if (predicate && is_vector(predicate)) {
    std::string mask = write(predicate);
    if (!lanes_.empty()) mask = concat("mask_and(", mask, ", first_lanes(", lanes_, "))");
    out_.line("scatter_if(", buffer.name, ", ", operand(offset, true), ", ", what, ", ", mask,
              ");");
    return;
  }
  const std::string guard = predicate ? concat("if (", write(predicate), ") ") : "";
  if (stride && stride->is_int(1)) {
    out_.line(guard, "store", partial, "(", buffer.name, " + ", first_lane(offset), ", ", what,
              rest, ");");
  } else if (stride && !stride->is_int(0)) {
    out_.line(guard, "store_strided", partial, "(", buffer.name, " + ", first_lane(offset), ", ",
              first_lane(*stride), ", ", what, rest, ");");
  } else {
    out_.line(guard, "scatter", partial, "(", buffer.name, ", ", operand(offset, true), ", ", what,
              rest, ");");
  }
}

}  // namespace ingot
