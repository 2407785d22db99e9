// codegen/cpu_dim.cc: dimensions, symbols and literals as C++ text.
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "codegen/emit_cpu.h"

namespace ingot {
namespace {

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
      return cpu_literal(e.dtype(), *e.as_real(), 0);
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
      return cpu_symbol(e);
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
        const bool is_product = e.operand(1).kind() == ExprKind::mul;
        return concat("(", sub(0), divide ? " / " : " % ", is_product ? "(" : "", sub(1),
                      is_product ? "))" : ")");
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

std::string no_leaf(Expr e) {
  CHECK(false, "a dimension is made of symbols: ", to_text(e));
  return {};
}

}  // namespace

std::string_view cpu_type(DType dtype) {
  return dtype == DType::b8 ? "u8" : to_text(dtype);
}

std::string_view cpu_register(DType dtype) {
  if (is_int(dtype) && is_packed(dtype)) return is_signed(dtype) ? "i8" : "u8";
  return cpu_type(compute_dtype(dtype));
}

std::string cpu_pointer(DType dtype, bool written) {
  const std::string_view constness = written ? "" : "const ";
  if (is_packed(dtype)) return concat("Packed<", cpu_type(dtype), ", ", constness, "u8>");
  return concat(constness, cpu_type(dtype), "*");
}

std::string declare_operand(std::string_view name, uint32_t k, DType dtype, bool written) {
  const std::string_view constness = written ? "" : "const ";
  if (is_packed(dtype)) {
    return concat("[[maybe_unused]] const auto ", name, " = packed<", cpu_type(dtype), ">(operand<",
                  constness, "u8>(args, ", k, "));");
  }
  return concat("[[maybe_unused]] auto* ", name, " = operand<", constness, cpu_type(dtype),
                ">(args, ", k, ");");
}

std::string cpu_literal(DType dtype, double real, int64_t integer) {
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
      return concat(cpu_register(dtype), "(", integer, ")");
  }
}

std::string cpu_symbol(Expr symbol) {
  const std::string_view text = symbol.pool().symbol_info(symbol.symbol()).name;
  return concat(to_identifier(text), "_s", symbol.symbol().value);
}

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

}  // namespace ingot
