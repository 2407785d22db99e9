// codegen/emit_cpu.cc: loop nests as C++ text on codegen/prelude/cpu.
#include "codegen/emit_cpu.h"

#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace ingot {
namespace {

/// An expression longer than this gets a name, so that lines stay readable.
constexpr size_t kLongText = 44;
/// Blocks of lanes that every level's vectors divide: W is 4, 8 or 16.
constexpr int64_t kMostLanes = 16;

bool is_leaf(Expr e) {
  return arity(e.kind()) == 0;
}

bool is_narrow_int(DType dtype) {
  return (is_int(dtype) && bits(dtype) < 32);
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

std::string combine(ReduceKind kind, DType dtype, const std::string& a, const std::string& b) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::product: {
      const std::string_view op = kind == ReduceKind::sum ? " + " : " * ";
      const std::string text = concat(a, op, b);
      return is_narrow_int(dtype) ? concat("decltype(", a, ")(", text, ")") : text;
    }
    case ReduceKind::min:
      return concat("min(", a, ", ", b, ")");
    case ReduceKind::max:
      return concat("max(", a, ", ", b, ")");
    case ReduceKind::any:
      return concat("mask_or(", a, ", ", b, ")");
    case ReduceKind::all:
      return concat("mask_and(", a, ", ", b, ")");
  }
  return {};
}

std::string typed_literal(DType dtype, double real, int64_t integer) {
  switch (dtype) {
    case DType::f64:
    case DType::f32: {
      const bool single = dtype == DType::f32;
      if (std::isnan(real)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
      if (std::isinf(real)) {
        return concat(real < 0 ? "-" : "", single ? "__builtin_inff()" : "__builtin_inf()");
      }
      return single ? concat(format_number(static_cast<float>(real)), "f") : format_number(real);
    }
    case DType::b8:
      return integer != 0 ? "true" : "false";
    case DType::u64:
      return concat("u64(", static_cast<uint64_t>(integer), "u)");
    default:
      if (integer == std::numeric_limits<int64_t>::min()) return "i64(-9223372036854775807 - 1)";
      return concat(cpu_type(dtype), "(", integer, ")");
  }
}

/// The neutral element of a reduction.
std::string neutral(ReduceKind kind, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const int width = bits(dtype);
  const bool has_sign = is_signed(dtype);
  const int64_t lowest = has_sign ? -(int64_t{1} << (width - 2)) * 2 : 0;
  const int64_t highest = has_sign ? -(lowest + 1) : width == 64 ? -1 : (int64_t{1} << width) - 1;
  switch (kind) {
    case ReduceKind::sum:
      return typed_literal(dtype, 0, 0);
    case ReduceKind::product:
      return typed_literal(dtype, 1, 1);
    case ReduceKind::min:
      return typed_literal(dtype, inf, highest);
    case ReduceKind::max:
      return typed_literal(dtype, -inf, lowest);
    case ReduceKind::any:
      return "false";
    case ReduceKind::all:
      return "true";
  }
  return {};
}

std::string symbol_name(Expr symbol) {
  const std::string_view text = symbol.pool().symbol_info(symbol.symbol()).name;
  return concat(to_identifier(text), "_s", symbol.symbol().value);
}

enum class DimOverflow : uint8_t { wraps, saturates };

/// A floating-point expression inside a dimension, such as a size times a scale; `sub` writes its
/// operands. Empty if there is no way to write it.
template <class Sub>
std::string real_dim(Expr e, Sub sub) {
  const bool single = e.dtype() == DType::f32;
  const auto call = [&](std::string_view function, int arguments) {
    return concat("__builtin_", function, single ? "f(" : "(", sub(0),
                  arguments > 1 ? concat(", ", sub(1)) : std::string(), ")");
  };
  const auto infix = [&](std::string_view sign) {
    return concat("(", sub(0), " ", sign, " ", sub(1), ")");
  };
  switch (e.kind()) {
    case ExprKind::constant:
      return typed_literal(e.dtype(), *e.as_real(), 0);
    case ExprKind::cast:
      return concat(single ? "float(" : "double(", sub(0), ")");
    case ExprKind::add:
      return infix("+");
    case ExprKind::sub:
      return infix("-");
    case ExprKind::mul:
      return infix("*");
    case ExprKind::div:
      return infix("/");
    case ExprKind::neg:
      return concat("-(", sub(0), ")");
    case ExprKind::select:
      return concat("(", sub(0), " ? ", sub(1), " : ", sub(2), ")");
    case ExprKind::min:
      return call("fmin", 2);
    case ExprKind::max:
      return call("fmax", 2);
    case ExprKind::abs:
      return call("fabs", 1);
    case ExprKind::floor:
      return call("floor", 1);
    case ExprKind::ceil:
      return call("ceil", 1);
    case ExprKind::trunc:
      return call("trunc", 1);
    case ExprKind::round:
      return call("rint", 1);
    case ExprKind::sqrt:
      return call("sqrt", 1);
    default:
      return {};
  }
}

/// A scalar integer expression; `leaf` writes loop variables.
template <class Leaf>
std::string scalar_dim(Expr e, DimOverflow overflow, Leaf leaf) {
  const auto sub = [&](int k) { return scalar_dim(e.operand(k), overflow, leaf); };
  if (is_float(e.dtype())) {
    std::string text = real_dim(e, sub);
    return text.empty() ? leaf(e) : text;
  }
  const auto positive = [&](int k) { return range_of(e.operand(k)).lo >= (k == 0 ? 0 : 1); };
  switch (e.kind()) {
    case ExprKind::constant:
      return std::to_string(*e.as_int());
    case ExprKind::symbol:
      return symbol_name(e);
    case ExprKind::add:
      if (overflow == DimOverflow::saturates && range_of(e.operand(1)).lo >= 0) {
        return concat("add_size(", sub(0), ", ", sub(1), ")");
      }
      return concat("(", sub(0), " + ", sub(1), ")");
    case ExprKind::sub:
      return concat("(", sub(0), " - ", sub(1), ")");
    case ExprKind::mul:
      if (overflow == DimOverflow::saturates && range_of(e).lo >= 0) {
        return concat("multiply_size(", sub(0), ", ", sub(1), ")");
      }
      return concat(sub(0), " * ", sub(1));
    case ExprKind::floordiv:
    case ExprKind::floormod: {
      const bool divide = e.kind() == ExprKind::floordiv;
      if (positive(0) && positive(1)) {
        return concat("(", sub(0), divide ? " / " : " % ", sub(1), ")");
      }
      return concat(divide ? "floordiv" : "floormod", "(i64(", sub(0), "), i64(", sub(1), "))");
    }
    case ExprKind::cast:
      return concat("i64(", sub(0), ")");
    case ExprKind::neg:
      return concat("-(", sub(0), ")");
    case ExprKind::select:
      return concat("(", sub(0), " ? i64(", sub(1), ") : i64(", sub(2), "))");
    case ExprKind::eq:
      return concat("(", sub(0), " == ", sub(1), ")");
    case ExprKind::ne:
      return concat("(", sub(0), " != ", sub(1), ")");
    case ExprKind::lt:
      return concat("(", sub(0), " < ", sub(1), ")");
    case ExprKind::le:
      return concat("(", sub(0), " <= ", sub(1), ")");
    case ExprKind::logical_and:
      return concat("(", sub(0), " && ", sub(1), ")");
    case ExprKind::logical_or:
      return concat("(", sub(0), " || ", sub(1), ")");
    case ExprKind::logical_not:
      return concat("!", sub(0));
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::div:
    case ExprKind::fmod:
      return concat(name(e.kind()), "(i64(", sub(0), "), i64(", sub(1), "))");
    default:
      return leaf(e);
  }
}

}  // namespace

std::string_view cpu_type(DType dtype) {
  return dtype == DType::b8 ? "u8" : to_text(dtype);
}

namespace {
std::string no_leaf(Expr e) {
  CHECK(false, "a dimension is made of symbols: ", to_text(e));
  return {};
}
}  // namespace

std::string cpu_dim(Expr expr) {
  return scalar_dim(expr, DimOverflow::wraps, no_leaf);
}

std::string cpu_size(Expr expr) {
  return scalar_dim(expr, DimOverflow::saturates, no_leaf);
}

std::set<uint32_t> symbols_of(Expr expr) {
  std::set<uint32_t> found;
  for_each(expr, [&](Expr e) {
    if (e.kind() == ExprKind::symbol) found.insert(e.symbol().value);
  });
  return found;
}

void write_provenance(Writer& out, const std::vector<std::string>& provenance) {
  constexpr size_t kMost = 8;
  for (size_t k = 0; k < std::min(provenance.size(), kMost); ++k) {
    out.line("// ", to_comment(provenance[k]));
  }
  if (provenance.size() > kMost) out.line("// and ", provenance.size() - kMost, " more");
}

// ---- expressions ------------------------------------------------------------------------------

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

std::string CpuExprWriter::constant_of(Expr e, std::string value) {
  const std::string name = fresh("t");
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
  return shared || result.size() > kLongText ? constant_of(e, std::move(result)) : result;
}

std::string CpuExprWriter::operand(Expr e, bool vector) {
  const std::string inner = write(e);
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
  return typed_literal(dtype, e.as_real().value_or(0), e.as_int().value_or(0));
}

std::string CpuExprWriter::leaf(Expr e) {
  switch (e.kind()) {
    case ExprKind::constant:
      return literal(e);
    case ExprKind::symbol:
      return symbol_name(e);
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
  if (!depends_on(offset, vector_var_)) return pool_.integer(0);
  // Lanes may also depend on the variable through a load or a local, which no stride describes.
  bool by_data = false;
  for_each(offset, [&](Expr e) { by_data |= e.kind() == ExprKind::load && is_vector(e); });
  if (by_data) return std::nullopt;
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

std::string CpuExprWriter::load(Expr e) {
  const Named& buffer = buffers_.at(e.buffer());
  const Expr offset = e.operand(0), predicate = e.operand(1), otherwise = e.operand(2);
  const bool plain = buffer.dtype != DType::f16 && buffer.dtype != DType::bf16;
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
  const bool vector = is_vector(e);
  const DType dtype = e.dtype();
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
      const std::string inner = write(from);
      if (dtype == from.dtype()) return inner;
      const DType held = compute_dtype(dtype);
      if (from.dtype() == DType::b8) {
        return concat("from_mask<", cpu_type(held), ">(", inner, ")");
      }
      if (dtype == DType::b8) return concat("to_mask(", inner, ")");
      // f16 and bf16 are held as f32, so widening them is nothing.
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
      return is_narrow_int(dtype) ? concat(cpu_type(dtype), "(", value, ")")
                                  : concat("(", value, ")");
    }
    case ExprKind::bit_not: {
      const std::string value = concat("~", operand(e.operand(0), vector));
      return !vector && is_narrow_int(dtype) ? concat(cpu_type(dtype), "(", value, ")")
                                             : concat("(", value, ")");
    }
    case ExprKind::floordiv:
    case ExprKind::floormod:
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
  return !vector && is_narrow_int(dtype) ? concat(cpu_type(dtype), value) : value;
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
  // Storing rounds to f16 and bf16 itself.
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

// ---- statements -------------------------------------------------------------------------------

namespace {

class KernelWriter {
 public:
  KernelWriter(Writer& out, const Kernel& kernel)
      : out_(out), kernel_(kernel), exprs_(out, *kernel.pool) {}

  void write() {
    write_provenance(out_, kernel_.provenance);
    out_.block(concat("void ", kernel_.name,
                      "([[maybe_unused]] const KernelArgs& args, i64 begin, i64 end)"),
               [&] { function_body(); });
  }

 private:
  void function_body() {
    for (uint32_t k = 0; k < kernel_.buffers.size(); ++k) {
      const BufferParam& buffer = kernel_.buffers[k];
      const std::string name = concat(to_identifier(buffer.name), "_", k);
      exprs_.name_buffer(k, name, buffer.dtype);
      const std::string_view constness = buffer.written ? "" : "const ";
      out_.line("[[maybe_unused]] auto* ", name, " = operand<", constness, cpu_type(buffer.dtype),
                ">(args, ", k, ");");
    }
    declare_symbols();
    // The parallel loops become one loop over units.
    std::vector<const Loop*> parallel;
    const Block* at = &kernel_.body;
    while (at->size() == 1) {
      const Loop* loop = std::get_if<Loop>(&(*at)[0].is);
      if (loop == nullptr || loop->mode != LoopMode::parallel) break;
      parallel.push_back(loop);
      at = &loop->body;
    }
    out_.block("for (i64 unit = begin; unit < end; ++unit)", [&] {
      for (const Loop* loop : parallel) name_var(loop->var, "i");
      std::string rest = "unit";
      for (size_t k = parallel.size(); k-- > 0;) {
        const std::string extent = write_scalar(parallel[k]->extent);
        const std::string value = k == 0 ? rest : concat(rest, " % ", extent);
        out_.line("[[maybe_unused]] const i64 ", vars_.at(parallel[k]->var), " = ", value, ";");
        if (k > 0) {
          const std::string next = exprs_.fresh("rest");
          out_.line("const i64 ", next, " = ", rest, " / ", extent, ";");
          rest = next;
        }
      }
      block(*at);
    });
  }

  void declare_symbols() {
    std::set<uint32_t> symbols;
    collect(kernel_.body, symbols);
    for (uint32_t id : symbols) {
      const Expr symbol = kernel_.pool->symbol(kernel_.pool->symbol_info(SymbolId(id)).name);
      out_.line("[[maybe_unused]] const i64 ", symbol_name(symbol), " = args.symbols[", id, "];");
    }
  }

  void collect(const Block& block, std::set<uint32_t>& symbols) {
    const auto add = [&](Expr e) {
      if (e) symbols.merge(symbols_of(e));
    };
    for (const Stmt& stmt : block) {
      std::visit(
          [&]<class T>(const T& s) {
            if constexpr (std::is_same_v<T, Loop>) {
              add(s.extent);
              collect(s.body, symbols);
            } else if constexpr (std::is_same_v<T, ReduceLoop>) {
              add(s.extent);
              collect(s.body, symbols);
              for (const Accumulator& a : s.accumulators) add(a.value);
            } else if constexpr (std::is_same_v<T, Let>) {
              add(s.value);
            } else if constexpr (std::is_same_v<T, Store>) {
              add(s.offset);
              add(s.value);
              add(s.predicate);
            } else if constexpr (std::is_same_v<T, Alloc>) {
              add(s.elements);
            } else {
              add(s.condition);
              collect(s.body, symbols);
            }
          },
          stmt.is);
    }
  }

  void name_var(VarId var, std::string_view prefix) {
    std::string name = exprs_.fresh(prefix);
    vars_[var] = name;
    exprs_.name_var(var, std::move(name));
  }

  std::string write_scalar(Expr e) {
    exprs_.begin_statement({e});
    return exprs_.write(e);
  }

  void block(const Block& statements) {
    const auto scope = exprs_.save();
    for (const Stmt& stmt : statements) {
      std::visit([&](const auto& s) { statement(s); }, stmt.is);
    }
    exprs_.restore(scope);
  }

  void statement(const Loop& loop) {
    name_var(loop.var, "i");
    const std::string& var = vars_.at(loop.var);
    const std::string extent = write_scalar(loop.extent);
    if (loop.mode != LoopMode::vector || exprs_.in_vector()) {
      out_.block(concat("for (i64 ", var, " = 0; ", var, " < ", extent, "; ++", var, ")"),
                 [&] { block(loop.body); });
      return;
    }
    exprs_.lanes_loop(loop.var, var, loop.extent, extent, [&] { block(loop.body); });
  }

  void statement(const ReduceLoop& loop) {
    name_var(loop.var, "r");
    const std::string var = vars_.at(loop.var);
    const std::string extent = write_scalar(loop.extent);
    const bool own_lanes = loop.mode == LoopMode::vector && !exprs_.in_vector();
    std::vector<std::string> names;
    std::vector<bool> in_lanes_of_outer;
    for (const Accumulator& a : loop.accumulators) {
      // Inside a vector loop every accumulator has lanes: a value that does not need them is rare.
      const bool lanes = own_lanes || exprs_.in_vector();
      names.push_back(exprs_.fresh(name(a.kind)));
      in_lanes_of_outer.push_back(lanes);
      const DType dtype = a.value.dtype();
      const std::string start = neutral(a.kind, dtype);
      if (lanes && dtype == DType::b8) {
        out_.line("vmask ", names.back(), " = splat<W>(i32(", start == "true" ? "-1" : "0", "));");
      } else if (lanes) {
        out_.line("v", cpu_type(compute_dtype(dtype)), " ", names.back(), " = splat<W>(", start,
                  ");");
      } else {
        const std::string_view type =
            dtype == DType::b8 ? std::string_view("bool") : cpu_type(compute_dtype(dtype));
        out_.line(type, " ", names.back(), " = ", start, ";");
      }
    }
    const auto gather = [&] {
      const auto scope = exprs_.save();
      block_without_scope(loop.body);
      for (size_t k = 0; k < loop.accumulators.size(); ++k) {
        accumulate(loop.accumulators[k], names[k], in_lanes_of_outer[k], own_lanes);
      }
      exprs_.restore(scope);
    };
    if (own_lanes) {
      exprs_.lanes_loop(loop.var, var, loop.extent, extent, gather);
    } else {
      out_.block(concat("for (i64 ", var, " = 0; ", var, " < ", extent, "; ++", var, ")"), gather);
    }
    for (size_t k = 0; k < loop.accumulators.size(); ++k) {
      const Accumulator& a = loop.accumulators[k];
      if (!own_lanes) {
        exprs_.name_local(a.local, names[k], in_lanes_of_outer[k]);
        continue;
      }
      const std::string joined = exprs_.fresh("joined");
      out_.line("const auto ", joined, " = ", join_lanes(a.kind), "(", names[k], ");");
      exprs_.name_local(a.local, joined, false);
    }
  }

  static std::string_view join_lanes(ReduceKind kind) {
    switch (kind) {
      case ReduceKind::sum:
        return "reduce_add";
      case ReduceKind::product:
        return "reduce_mul";
      case ReduceKind::min:
        return "reduce_min";
      case ReduceKind::max:
        return "reduce_max";
      case ReduceKind::any:
        return "any";
      case ReduceKind::all:
        return "all";
    }
    return {};
  }

  void accumulate(const Accumulator& a, const std::string& into, bool lanes, bool own_lanes) {
    const DType dtype = a.value.dtype();
    // Because one rounding is as good as two, a sum of products uses fused multiply-add.
    const bool fuse = a.kind == ReduceKind::sum && a.value.kind() == ExprKind::mul &&
                      is_float(dtype) && (!own_lanes || exprs_.lanes().empty());
    if (fuse) {
      exprs_.begin_statement({a.value.operand(0), a.value.operand(1)});
      const auto part = [&](int k) {
        return lanes ? exprs_.write_lanes(a.value.operand(k)) : exprs_.write(a.value.operand(k));
      };
      const std::string x = part(0), y = part(1);
      out_.line(into, " = fma(", x, ", ", y, ", ", into, ");");
      return;
    }
    exprs_.begin_statement({a.value});
    std::string value = lanes ? exprs_.write_lanes(a.value) : exprs_.write(a.value);
    if (own_lanes && !exprs_.lanes().empty()) {
      const std::string valid = concat("first_lanes(", exprs_.lanes(), ")");
      if (a.kind == ReduceKind::any) {
        value = concat("mask_and(", value, ", ", valid, ")");
      } else if (a.kind == ReduceKind::all) {
        value = concat("mask_or(", value, ", mask_not(", valid, "))");
      } else {
        value = concat("select(", valid, ", ", value, ", splat<W>(", neutral(a.kind, dtype), "))");
      }
    }
    out_.line(into, " = ", combine(a.kind, dtype, into, value), ";");
  }

  void block_without_scope(const Block& statements) {
    for (const Stmt& stmt : statements) {
      std::visit([&](const auto& s) { statement(s); }, stmt.is);
    }
  }

  void statement(const Let& let) {
    exprs_.begin_statement({let.value});
    const bool vector = exprs_.is_vector(let.value);
    const std::string value = exprs_.write(let.value);
    const std::string name = exprs_.fresh("v");
    out_.line("const auto ", name, " = ", value, ";");
    exprs_.name_local(let.local, name, vector);
  }

  void statement(const Store& store) {
    exprs_.store(store.buffer, store.offset, store.value, store.predicate);
  }

  void statement(const Alloc& alloc) {
    const std::string name = exprs_.fresh("row");
    // Whole vectors, so that a partial access of one never reaches past the array's end.
    const int64_t most = std::max<int64_t>(range_of(alloc.elements).hi, 1);
    const int64_t elements = (most + kMostLanes - 1) / kMostLanes * kMostLanes;
    out_.line("alignas(64) ", cpu_type(alloc.dtype), " ", name, "[", elements, "];");
    exprs_.name_buffer(alloc.buffer, name, alloc.dtype);
  }

  void statement(const If& branch) {
    exprs_.begin_statement({branch.condition});
    const std::string condition = exprs_.write(branch.condition);
    out_.block(concat("if (", condition, ")"), [&] { block(branch.body); });
  }

  Writer& out_;
  const Kernel& kernel_;
  CpuExprWriter exprs_;
  std::unordered_map<VarId, std::string> vars_;
};

}  // namespace

std::string emit_cpu(const Kernel& kernel) {
  Writer out;
  KernelWriter(out, kernel).write();
  return out.take();
}

}  // namespace ingot
