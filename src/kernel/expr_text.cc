// kernel/expr_text.cc: the text form of expressions.
//
//   i0 * 4 + min(batch // 2, 7)      signs as in Python: // and % round down, / is div
//   x, "any name"                     symbols
//   i3, p0, t5                        loop variables, params, locals (typed behind: t5:f32)
//   3, 3:i32, 1.5, 1.5:f64, true      constants; plain ones are i64 and f32
//   f16(x)                            cast
//   b2:f32[i0 if i0 < 3 else 0.0]     load with predicate; without: b2:f32[i0]
//   reduce_sum(i4 < n, b0:f32[i4])    reduction
#include "kernel/expr_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

constexpr int kSumStrength = 8;
constexpr int kWeakest = 0;

class Printer {
 public:
  explicit Printer(ExprTextOptions options) : options_(options) {}

  std::string text() && { return std::move(out_); }

  void print(Expr expr, int least_strength) {
    if (depth_ >= kDeepest || out_.size() >= kLongest) {
      out_ += "...";
      return;
    }
    ++depth_;
    print_in_place(expr, least_strength);
    --depth_;
  }

 private:
  // Sharing makes expressions whose text would be exponentially long; "..." stands for the rest,
  // and does not parse.
  static constexpr int kDeepest = 1000;
  static constexpr size_t kLongest = size_t{1} << 20;

  void print_in_place(Expr expr, int least_strength) {
    const int strength = strength_of(expr);
    if (strength < least_strength) out_ += '(';
    print_bare(expr);
    if (strength < least_strength) out_ += ')';
  }

  static int strength_of(Expr expr) {
    if (const auto sign = sign_of(expr.kind())) return sign->strength;
    switch (expr.kind()) {
      case ExprKind::neg:
      case ExprKind::logical_not:
      case ExprKind::bit_not:
        return kUnaryStrength;
      case ExprKind::constant:
        return is_negative(expr) ? kUnaryStrength : kLeafStrength;
      default:
        return kLeafStrength;
    }
  }

  static bool is_negative(Expr constant) {
    if (const auto real = constant.as_real()) return std::signbit(*real) && !std::isnan(*real);
    return *constant.as_int() < 0 && constant.dtype() != DType::u64;
  }

  void print_bare(Expr expr) {
    if (const auto sign = sign_of(expr.kind())) {
      print(expr.operand(0), sign->strength);
      out_ += fmt::format(" {} ", sign->text);
      print(expr.operand(1), sign->strength + 1);
      return;
    }
    switch (expr.kind()) {
      case ExprKind::constant:
        return print_constant(expr);
      case ExprKind::symbol:
        return print_symbol(expr);
      case ExprKind::index:
        out_ += fmt::format("i{}", expr.payload());
        return;
      case ExprKind::param:
        out_ += fmt::format("p{}", expr.payload());
        return;
      case ExprKind::local:
        out_ += fmt::format("t{}", expr.payload());
        return print_dtype(expr);
      case ExprKind::neg:
        return print_prefix("-", expr);
      case ExprKind::logical_not:
        return print_prefix("!", expr);
      case ExprKind::bit_not:
        return print_prefix("~", expr);
      case ExprKind::cast:
        return print_call(to_text(expr.dtype()), expr);
      case ExprKind::load:
        return print_load(expr);
      case ExprKind::reduce:
        return print_reduce(expr);
      default:
        return print_call(name(expr.kind()), expr);
    }
  }

  void print_dtype(Expr expr) {
    if (options_.typed) out_ += fmt::format(":{}", to_text(expr.dtype()));
  }

  void print_prefix(std::string_view sign, Expr expr) {
    out_ += sign;
    // -(-x) and -(3) keep their parentheses: "--" reads badly, and -3 is a constant.
    const Expr operand = expr.operand(0);
    const bool is_leaf_number = operand.kind() == ExprKind::constant;
    print(operand, is_leaf_number ? kLeafStrength + 1 : kUnaryStrength + 1);
  }

  void print_call(std::string_view function, Expr expr) {
    out_ += function;
    out_ += '(';
    for (int k = 0; k < arity(expr.kind()); ++k) {
      if (k > 0) out_ += ", ";
      print(expr.operand(k), kWeakest);
    }
    out_ += ')';
  }

  void print_constant(Expr expr) {
    const DType dtype = expr.dtype();
    if (const auto real = expr.as_real()) {
      std::string text = std::isnan(*real) ? "nan" : fmt::format("{}", *real);
      if (text.find_first_of(".en") == std::string::npos) text += ".0";
      out_ += text;
      if (dtype != DType::f32) out_ += fmt::format(":{}", to_text(dtype));
      return;
    }
    const int64_t value = *expr.as_int();
    if (dtype == DType::b8) {
      out_ += value != 0 ? "true" : "false";
    } else if (dtype == DType::u64) {
      out_ += fmt::format("{}:u64", static_cast<uint64_t>(value));
    } else {
      out_ += fmt::format("{}", value);
      if (dtype != DType::i64) out_ += fmt::format(":{}", to_text(dtype));
    }
  }

  void print_symbol(Expr expr) {
    const std::string& name = std::as_const(expr.pool()).symbol_info(expr.symbol()).name;
    out_ += is_word(name) && !is_reserved(name) ? name : quote_text(name);
  }

  void print_load(Expr expr) {
    out_ += fmt::format("b{}", expr.buffer());
    print_dtype(expr);
    out_ += '[';
    print(expr.operand(0), kWeakest);
    if (expr.operand(1)) {
      out_ += " if ";
      print(expr.operand(1), kWeakest);
      out_ += " else ";
      print(expr.operand(2), kWeakest);
    }
    out_ += ']';
  }

  void print_reduce(Expr expr) {
    out_ += fmt::format("reduce_{}(i{} < ", name(expr.reduce_kind()), expr.var().value);
    print(expr.operand(1), kSumStrength);
    out_ += ", ";
    print(expr.operand(0), kWeakest);
    out_ += ')';
  }

  ExprTextOptions options_;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(Expr expr, ExprTextOptions options) {
  if (!expr) return "none";
  Printer printer(options);
  printer.print(expr, kWeakest);
  return std::move(printer).text();
}

std::string to_text(Expr expr) {
  return to_text(expr, ExprTextOptions{});
}

Result<Expr> parse_expr(std::string_view text, ExprPool& pool, std::span<const DType> param_dtypes,
                        std::span<const Expr> indices) {
  Reader reader(text);
  TRY(const Syntax syntax, parse_syntax(reader));
  if (!reader.at_end()) return reader.mistake("the end of the expression");
  std::vector<Expr> bound;
  const auto find_index = [&](uint32_t number) -> std::optional<Expr> {
    for (const Expr& index : bound) {
      if (index.var().value == number) return index;
    }
    for (const Expr& index : indices) {
      if (index.var().value == number) return index;
    }
    return std::nullopt;
  };
  Scope scope;
  scope.pool = &pool;
  scope.name = [&](const Syntax& leaf) -> Result<Expr> {
    if (leaf.was_quoted) return pool.symbol(leaf.name);
    if (const auto number = number_after('p', leaf.name)) {
      if (*number >= param_dtypes.size()) {
        return invalid_argument(leaf.name, ": expected one of ", param_dtypes.size(), " params");
      }
      return pool.param(*number, param_dtypes[*number]);
    }
    if (const auto number = number_after('t', leaf.name)) {
      if (!leaf.dtype) return invalid_argument(leaf.name, ": a local needs its type, as in t0:f32");
      return pool.local(LocalId(*number), *leaf.dtype);
    }
    if (const auto number = number_after('i', leaf.name)) {
      if (const auto index = find_index(*number)) return *index;
      return invalid_argument(leaf.name, ": no loop variable of that number is known here");
    }
    if (is_reserved(leaf.name)) return invalid_argument(leaf.name, ": expected a symbol's name");
    if (leaf.dtype) return invalid_argument(leaf.name, ": a symbol is always i64");
    return pool.symbol(leaf.name);
  };
  scope.bound_index = [&](uint32_t number, Expr extent) -> Result<Expr> {
    const VarId var{number};
    // A number far beyond those in use would make the pool's table of variables huge.
    constexpr uint32_t kLargest = 1 << 20;
    if (number > kLargest) return invalid_argument("i", number, ": expected a smaller number");
    if (!pool.has_index(var)) {
      bound.push_back(pool.numbered_index(var, extent));
    } else if (pool.extent(var) == extent) {
      bound.push_back(pool.index(var));
    } else {
      return invalid_argument("i", number, ": has another extent, ", to_text(pool.extent(var)));
    }
    return bound.back();
  };
  return build(syntax, scope);
}

}  // namespace ingot
