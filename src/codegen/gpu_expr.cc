// codegen/gpu_expr.cc: expressions of the loop IR as text of GPU kernels.
#include "codegen/gpu_expr.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

bool is_leaf(ExprKind kind) {
  switch (kind) {
    case ExprKind::constant:
    case ExprKind::symbol:
    case ExprKind::index:
    case ExprKind::local:
      return true;
    default:
      return false;
  }
}

std::string_view infix(ExprKind kind) {
  switch (kind) {
    case ExprKind::add:
      return " + ";
    case ExprKind::sub:
      return " - ";
    case ExprKind::mul:
      return " * ";
    case ExprKind::div:
    case ExprKind::floordiv:
      return " / ";
    case ExprKind::floormod:
      return " % ";
    case ExprKind::eq:
      return " == ";
    case ExprKind::ne:
      return " != ";
    case ExprKind::lt:
      return " < ";
    case ExprKind::le:
      return " <= ";
    case ExprKind::logical_and:
      return " && ";
    case ExprKind::logical_or:
      return " || ";
    case ExprKind::logical_xor:
      return " != ";
    default:
      return "";
  }
}

bool has_known_range(Expr expr) {
  const Range range = range_of(expr);
  const Range all;
  return range.lo != all.lo && range.hi != all.hi;
}

/// Whether C++'s own operator means the same. Floats: what IEEE defines. Index arithmetic (i64
/// whose range is known) cannot wrap around; its divisions of what is never negative round down.
bool is_plain_operator(Expr expr) {
  if (arity(expr.kind()) == 0) return false;
  const DType dtype = expr.operand(0).dtype();
  switch (expr.kind()) {
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul:
    case ExprKind::neg:
      return is_float(dtype) || (dtype == DType::i64 && has_known_range(expr));
    case ExprKind::div:
      return is_float(dtype);
    case ExprKind::floordiv:
    case ExprKind::floormod:
      return dtype == DType::i64 && range_of(expr.operand(0)).lo >= 0 &&
             range_of(expr.operand(1)).lo > 0;
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::lt:
    case ExprKind::le:
    case ExprKind::logical_and:
    case ExprKind::logical_or:
    case ExprKind::logical_xor:
      return true;
    default:
      return false;
  }
}

/// Whether the text of an expression, if it is not a name, has an operator outside of brackets.
bool is_operator(Expr expr) {
  switch (expr.kind()) {
    case ExprKind::constant:
      return is_float(expr.dtype()) ? *expr.as_real() < 0 : *expr.as_int() < 0;
    case ExprKind::symbol:
    case ExprKind::index:
    case ExprKind::param:
    case ExprKind::local:
    case ExprKind::reduce:
      return false;
    case ExprKind::load:
      return expr.operand(1) || expr.dtype() == DType::b8;
    case ExprKind::cast:
      return expr.dtype() == DType::b8;
    case ExprKind::select:
    case ExprKind::logical_not:
      return true;
    default:
      return is_plain_operator(expr);
  }
}

/// A small i64 constant as a plain decimal.
std::optional<std::string> index_literal(Expr expr) {
  if (expr.dtype() != DType::i64) return std::nullopt;
  const auto value = expr.as_int();
  if (!value || *value < 0 || *value > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return concat(*value);
}

std::string cast_call(std::string_view type, const std::string& value) {
  return concat("static_cast<", type, ">(", value, ")");
}

/// The prelude's conversion of a float to an integer type.
std::string_view saturating(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return "gpu::to_i8";
    case DType::u8:
      return "gpu::to_u8";
    case DType::i16:
      return "gpu::to_i16";
    case DType::u16:
      return "gpu::to_u16";
    case DType::i32:
      return "gpu::to_i32";
    case DType::u32:
      return "gpu::to_u32";
    case DType::i64:
      return "gpu::to_i64";
    case DType::u64:
      return "gpu::to_u64";
    default:
      CHECK(false, "no conversion to ", to_text(dtype));
  }
  INGOT_UNREACHABLE();
}

}  // namespace

std::string gpu_literal(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::b8:
      return value != 0 ? "true" : "false";
    case DType::i64:
      if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
      return concat(value, "ll");
    case DType::u64:
      return concat(static_cast<uint64_t>(value), "ull");
    case DType::u32:
      return concat(value, "u");
    case DType::i32:
      if (value == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
      return concat(value);
    default:
      return cast_call(value_type(dtype), concat(value));
  }
}

std::string gpu_literal(DType dtype, double value) {
  if (dtype == DType::f16 || dtype == DType::bf16) {
    return concat("gpu::from_f32<", value_type(dtype), ">(", gpu_literal(DType::f32, value), ")");
  }
  if (dtype == DType::f32) {
    const auto narrow = static_cast<float>(value);
    if (std::isfinite(narrow)) return format_number(narrow) + "f";
    return concat("gpu::f32_of(", std::bit_cast<uint32_t>(narrow), "u)");
  }
  if (std::isfinite(value)) return format_number(value);
  return concat("gpu::f64_of(", std::bit_cast<uint64_t>(value), "ull)");
}

void GpuExprWriter::name_buffer(uint32_t buffer, std::string name) {
  buffers_[buffer] = std::move(name);
}

void GpuExprWriter::name_symbol(SymbolId symbol, std::string name) {
  symbols_[symbol] = std::move(name);
}

std::string GpuExprWriter::var_name(VarId var) {
  return concat("i", var.value);
}
std::string GpuExprWriter::local_name(LocalId local) {
  return concat("v", local.value);
}

std::string GpuExprWriter::join(ReduceKind kind, DType dtype, const std::string& value,
                                const std::string& other) {
  switch (kind) {
    case ReduceKind::sum:
      if (is_float(dtype)) return concat(value, " += ", other);
      return concat(value, " = gpu::add(", value, ", ", other, ")");
    case ReduceKind::product:
      if (is_float(dtype)) return concat(value, " *= ", other);
      return concat(value, " = gpu::mul(", value, ", ", other, ")");
    case ReduceKind::min:
      return concat(value, " = gpu::min(", value, ", ", other, ")");
    case ReduceKind::max:
      return concat(value, " = gpu::max(", value, ", ", other, ")");
    case ReduceKind::any:
      return concat(value, " = ", value, " || ", other);
    case ReduceKind::all:
      return concat(value, " = ", value, " && ", other);
  }
  INGOT_UNREACHABLE();
}

std::string GpuExprWriter::neutral(ReduceKind kind, DType dtype) {
  const Scalar start = ingot::neutral(kind, dtype);
  return is_float(dtype) ? gpu_literal(dtype, start.real) : gpu_literal(dtype, start.integer);
}

std::vector<std::string> GpuExprWriter::write(const Exprs& roots) {
  uses_.clear();
  names_.clear();
  for (const Expr root : roots) {
    if (root) count_uses(root);
  }
  std::vector<std::string> texts;
  for (const Expr root : roots) texts.push_back(root ? text(root) : std::string());
  return texts;
}

void GpuExprWriter::count_uses(Expr root) {
  if (uses_[root.id()]++ > 0) return;
  for (int k = 0; k < 3; ++k) {
    if (const Expr operand = root.operand(k)) count_uses(operand);
  }
}

std::string GpuExprWriter::index(Expr expr) {
  const auto literal = index_literal(expr);
  return literal ? *literal : text(expr);
}

std::string GpuExprWriter::write_index(Expr root) {
  const auto literal = index_literal(root);
  return literal ? *literal : write(root);
}

std::string GpuExprWriter::text(Expr expr) {
  if (const auto known = names_.find(expr.id()); known != names_.end()) return known->second;
  std::string value = node_text(expr);
  const bool has_name = is_leaf(expr.kind()) || expr.kind() == ExprKind::reduce;
  if (has_name || uses_[expr.id()] < 2) return value;
  std::string name = concat("t", temporaries_++);
  out_.line("const ", value_type(expr.dtype()), " ", name, " = ", value, ";");
  names_[expr.id()] = name;
  return name;
}

/// As an operand of an operator: in parentheses unless it is a name, a literal, an element or a
/// call.
std::string GpuExprWriter::operand(Expr expr) {
  const std::string value = text(expr);
  const bool is_word = value.find(' ') == std::string::npos && value[0] != '-' && value[0] != '!';
  return is_word || !is_operator(expr) ? value : concat("(", value, ")");
}

/// Operand k of a plain operator. A product needs no parentheses in a sum, and an integer constant
/// no suffix beside something that has the type.
std::string GpuExprWriter::operand_of(Expr expr, int k) {
  const Expr at = expr.operand(k);
  const Expr other = expr.operand(1 - k);
  if (other.kind() != ExprKind::constant) {
    if (const auto number = index_literal(at)) return *number;
  }
  const bool is_sum = expr.kind() == ExprKind::add || expr.kind() == ExprKind::sub;
  if (is_sum && at.kind() == ExprKind::mul && is_plain_operator(at)) return text(at);
  if (is_sum && k == 0 && at.kind() == ExprKind::add && is_plain_operator(at)) return text(at);
  return operand(at);
}

std::string GpuExprWriter::node_text(Expr expr) {
  switch (expr.kind()) {
    case ExprKind::constant:
      return is_float(expr.dtype()) ? gpu_literal(expr.dtype(), *expr.as_real())
                                    : gpu_literal(expr.dtype(), *expr.as_int());
    case ExprKind::symbol:
      return symbols_.at(expr.symbol());
    case ExprKind::index:
      return var_name(expr.var());
    case ExprKind::local:
      return local_name(LocalId(static_cast<uint32_t>(expr.payload())));
    case ExprKind::param:
      CHECK(false, "a kernel holds no parameter");
    case ExprKind::load:
      return load_text(expr);
    case ExprKind::reduce:
      return reduce(expr);
    case ExprKind::cast:
      return cast_text(expr);
    case ExprKind::select: {
      const std::string condition = operand(expr.operand(0));
      const std::string yes = operand(expr.operand(1));
      return concat(condition, " ? ", yes, " : ", operand(expr.operand(2)));
    }
    case ExprKind::logical_not:
      return "!" + operand(expr.operand(0));
    default:
      return operator_text(expr);
  }
}

std::string GpuExprWriter::operator_text(Expr expr) {
  if (!is_plain_operator(expr)) return call(expr);
  if (expr.kind() == ExprKind::neg) return "-" + operand(expr.operand(0));
  const std::string left = operand_of(expr, 0);
  return concat(left, infix(expr.kind()), operand_of(expr, 1));
}

std::string GpuExprWriter::call(Expr expr) {
  std::string arguments;
  for (int k = 0; k < arity(expr.kind()); ++k) {
    arguments += (k > 0 ? ", " : "") + text(expr.operand(k));
  }
  return concat(function_name(expr.kind()), "(", arguments, ")");
}

std::string GpuExprWriter::cast_text(Expr expr) {
  const Expr from = expr.operand(0);
  const DType to = expr.dtype();
  const std::string value = text(from);
  const bool is_small_from = from.dtype() == DType::f16 || from.dtype() == DType::bf16;
  CHECK(from.dtype() != to, "a cast changes the type");
  if (is_float(to)) {
    const bool is_small = to == DType::f16 || to == DType::bf16;
    std::string wide = value;
    if (is_small_from) wide = concat("gpu::to_f32(", value, ")");
    if (is_small) {
      if (from.dtype() == DType::f64) wide = concat("gpu::odd_f32(", value, ")");
      if (!is_float(from.dtype())) wide = concat("gpu::odd_f32(", cast_call("double", value), ")");
      return concat("gpu::from_f32<", value_type(to), ">(", wide, ")");
    }
    return is_small_from && to == DType::f32 ? wide : cast_call(value_type(to), wide);
  }
  const std::string source = is_small_from ? concat("gpu::to_f32(", value, ")") : value;
  if (to == DType::b8) return concat(is_small_from ? source : operand(from), " != 0");
  if (is_float(from.dtype())) return concat(saturating(to), "(", source, ")");
  return cast_call(value_type(to), value);
}

std::string GpuExprWriter::load_text(Expr expr) {
  std::string condition;
  std::string otherwise;
  if (const Expr predicate = expr.operand(1)) {
    condition = operand(predicate);
    otherwise = operand(expr.operand(2));
  }
  std::string value = concat(buffers_.at(expr.buffer()), "[", index(expr.operand(0)), "]");
  if (expr.dtype() == DType::b8) value += " != 0";
  if (condition.empty()) return value;
  if (expr.dtype() == DType::b8) value = concat("(", value, ")");
  return concat(condition, " ? ", value, " : ", otherwise);
}

std::string GpuExprWriter::reduce(Expr expr) {
  std::string name = concat("t", temporaries_++);
  const std::string extent = index(expr.operand(1));
  const std::string var = var_name(expr.var());
  out_.line(value_type(expr.dtype()), " ", name, " = ", neutral(expr.reduce_kind(), expr.dtype()),
            ";");
  const std::map<uint32_t, std::string> outside = names_;
  out_.block(concat("for (gpu::i64 ", var, " = 0; ", var, " < ", extent, "; ++", var, ")"), [&] {
    const std::string value = text(expr.operand(0));
    out_.line(join(expr.reduce_kind(), expr.dtype(), name, value), ";");
  });
  names_ = outside;
  names_[expr.id()] = name;
  return name;
}

}  // namespace ingot
