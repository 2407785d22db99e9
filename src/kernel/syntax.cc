// kernel/syntax.cc: reading the text of expressions by precedence, and building them.
#include "kernel/syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

struct Operator {
  ExprKind kind;
  std::string_view text;
  int strength;
};

// Longer signs stand before their beginnings.
constexpr std::array kOperators = {
    Operator{ExprKind::logical_or, "||", 1},  Operator{ExprKind::logical_and, "&&", 2},
    Operator{ExprKind::eq, "==", 3},          Operator{ExprKind::ne, "!=", 3},
    Operator{ExprKind::le, "<=", 3},          Operator{ExprKind::shift_left, "<<", 7},
    Operator{ExprKind::lt, "<", 3},           Operator{ExprKind::bit_or, "|", 4},
    Operator{ExprKind::bit_xor, "^", 5},      Operator{ExprKind::bit_and, "&", 6},
    Operator{ExprKind::shift_right, ">>", 7}, Operator{ExprKind::add, "+", 8},
    Operator{ExprKind::sub, "-", 8},          Operator{ExprKind::mul, "*", 9},
    Operator{ExprKind::floordiv, "//", 9},    Operator{ExprKind::div, "/", 9},
    Operator{ExprKind::floormod, "%", 9},
};

constexpr int kDeepest = 200;
constexpr int kHighest = 1000;  // of a tree: "a * a * a * ..." is as high as it is long

void add_operand(Syntax& syntax, Syntax operand) {
  syntax.height = std::max(syntax.height, operand.height + 1);
  syntax.operands.push_back(std::move(operand));
}

std::optional<ExprKind> function_of(std::string_view word) {
  for (int k = 0; k <= static_cast<int>(ExprKind::reduce); ++k) {
    const ExprKind kind = static_cast<ExprKind>(k);
    const bool is_callable = arity(kind) > 0 && kind != ExprKind::cast && kind != ExprKind::load &&
                             kind != ExprKind::reduce;
    if (is_callable && name(kind) == word) return kind;
  }
  return std::nullopt;
}

std::optional<ReduceKind> reduction_of(std::string_view word) {
  if (!word.starts_with("reduce_")) return std::nullopt;
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                ReduceKind::max, ReduceKind::any, ReduceKind::all}) {
    if (word.substr(7) == name(kind)) return kind;
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(Reader& reader) : reader_(reader) {}

  Result<Syntax> expression(int least_strength) {
    TRY(Syntax left, prefix());
    while (const Operator* op = next_operator(least_strength)) {
      reader_.accept(op->text);
      TRY(Syntax right, expression(op->strength + 1));
      left = operation(op->kind, std::move(left), std::move(right));
      if (left.height > kHighest) return reader_.mistake("an expression of less than 1000 levels");
    }
    return left;
  }

 private:
  static Syntax operation(ExprKind kind, Syntax a, Syntax b) {
    Syntax result;
    result.is = Syntax::Is::operation;
    result.kind = kind;
    add_operand(result, std::move(a));
    add_operand(result, std::move(b));
    return result;
  }

  const Operator* next_operator(int least_strength) {
    const size_t start = reader_.position();
    for (const Operator& op : kOperators) {
      if (!reader_.accept(op.text)) continue;
      reader_.rewind(start);
      return op.strength >= least_strength ? &op : nullptr;
    }
    return nullptr;
  }

  Result<Syntax> prefix() {
    if (depth_ >= kDeepest) return reader_.mistake("less nesting than 200 levels");
    ++depth_;
    Result<Syntax> result = prefix_unguarded();
    --depth_;
    return result;
  }

  Result<Syntax> prefix_unguarded() {
    for (const auto& [sign, kind] :
         {std::pair{"-", ExprKind::neg}, {"!", ExprKind::logical_not}, {"~", ExprKind::bit_not}}) {
      if (!reader_.accept(sign)) continue;
      TRY(Syntax operand, prefix());
      Syntax result;
      result.is = Syntax::Is::operation;
      result.kind = kind;
      add_operand(result, std::move(operand));
      return result;
    }
    if (reader_.accept("(")) {
      TRY(Syntax inner, expression(0));
      TRY_STATUS(reader_.expect(")"));
      return inner;
    }
    const std::string_view token = reader_.peek();
    if (token.empty()) return reader_.mistake("an expression");
    if (token[0] >= '0' && token[0] <= '9') return number();
    if (token[0] == '"') return symbol();
    if (!is_word(token)) return reader_.mistake("an expression");
    return word();
  }

  Result<Syntax> number() {
    const size_t start = reader_.position();
    const std::string token(reader_.next());
    Syntax result;
    const char* end = token.data() + token.size();
    if (token.find_first_of(".e") == std::string::npos) {
      const auto [stop, error] = std::from_chars(token.data(), end, result.number);
      if (error == std::errc() && stop == end) return dtype_behind(std::move(result));
    } else {
      result.is = Syntax::Is::real;
      const auto [stop, error] = std::from_chars(token.data(), end, result.real);
      if (error == std::errc() && stop == end) return dtype_behind(std::move(result));
    }
    reader_.rewind(start);
    return reader_.mistake("a number");
  }

  /// "3:i32".
  Result<Syntax> dtype_behind(Syntax syntax) {
    if (!reader_.accept(":")) return syntax;
    const auto dtype = dtype_from_name(reader_.peek());
    if (!dtype) return reader_.mistake("a type such as f32");
    reader_.next();
    syntax.dtype = dtype;
    return syntax;
  }

  Result<Syntax> symbol() {
    Syntax result;
    result.is = Syntax::Is::name;
    result.was_quoted = true;
    TRY(result.name, reader_.quoted("a name"));
    return result;
  }

  Result<Syntax> word() {
    const std::string word(reader_.next());
    Syntax result;
    if (word == "true" || word == "false") {
      result.number = word == "true";
      result.dtype = DType::b8;
      return result;
    }
    if (word == "inf" || word == "nan") {
      result.is = Syntax::Is::real;
      result.real = word == "inf" ? std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::quiet_NaN();
      return dtype_behind(std::move(result));
    }
    if (const auto kind = function_of(word)) return call(*kind, std::nullopt);
    // i8(x) is a cast, i8 alone a loop variable.
    const auto dtype = dtype_from_name(word);
    if (dtype && reader_.peek() == "(") return call(ExprKind::cast, dtype);
    if (const auto kind = reduction_of(word)) return reduction(*kind);
    if (const auto buffer = number_after('b', word)) return load(*buffer);
    result.is = Syntax::Is::name;
    result.name = word;
    return dtype_behind(std::move(result));
  }

  Result<Syntax> call(ExprKind kind, std::optional<DType> dtype) {
    Syntax result;
    result.is = Syntax::Is::operation;
    result.kind = kind;
    result.dtype = dtype;
    TRY_STATUS(reader_.expect("("));
    for (int k = 0; k < arity(kind); ++k) {
      if (k > 0) TRY_STATUS(reader_.expect(","));
      TRY(Syntax operand, expression(0));
      add_operand(result, std::move(operand));
    }
    TRY_STATUS(reader_.expect(")"));
    return result;
  }

  /// b2[offset] or b2[offset if predicate else otherwise], with b2:f32 where the type is needed.
  Result<Syntax> load(uint32_t buffer) {
    Syntax result;
    result.is = Syntax::Is::load;
    result.number = buffer;
    TRY(result, dtype_behind(std::move(result)));
    TRY_STATUS(reader_.expect("["));
    TRY(Syntax offset, expression(0));
    add_operand(result, std::move(offset));
    if (reader_.accept("if")) {
      TRY(Syntax predicate, expression(0));
      TRY_STATUS(reader_.expect("else"));
      TRY(Syntax otherwise, expression(0));
      add_operand(result, std::move(predicate));
      add_operand(result, std::move(otherwise));
    }
    TRY_STATUS(reader_.expect("]"));
    return result;
  }

  /// reduce_sum(i3 < extent, body).
  Result<Syntax> reduction(ReduceKind kind) {
    Syntax result;
    result.is = Syntax::Is::reduce;
    result.reduce_kind = kind;
    TRY_STATUS(reader_.expect("("));
    TRY(result.number, reader_.numbered('i', "a loop variable such as i0"));
    TRY_STATUS(reader_.expect("<"));
    TRY(Syntax extent, expression(0));
    TRY_STATUS(reader_.expect(","));
    TRY(Syntax body, expression(0));
    TRY_STATUS(reader_.expect(")"));
    add_operand(result, std::move(extent));
    add_operand(result, std::move(body));
    return result;
  }

  Reader& reader_;
  int depth_ = 0;
};

class Builder {
 public:
  explicit Builder(const Scope& scope) : scope_(scope), pool_(*scope.pool) {}

  Result<Expr> build(const Syntax& syntax) {
    switch (syntax.is) {
      case Syntax::Is::integer:
        return number(syntax, static_cast<double>(syntax.number));
      case Syntax::Is::real:
        return number(syntax, syntax.real);
      case Syntax::Is::name:
        return scope_.name(syntax);
      case Syntax::Is::operation:
        return operation(syntax);
      case Syntax::Is::load:
        return load(syntax);
      case Syntax::Is::reduce:
        return reduce(syntax);
    }
    INGOT_UNREACHABLE();
  }

 private:
  Result<Expr> number(const Syntax& syntax, double real) {
    const DType usual = syntax.is == Syntax::Is::real ? DType::f32 : DType::i64;
    const DType dtype = syntax.dtype ? *syntax.dtype : scope_.number_dtype.value_or(usual);
    if (is_float(dtype)) return pool_.real(real, dtype);
    if (!is_integral(dtype) || syntax.is == Syntax::Is::real) {
      return invalid_argument("a number of type ", dtype, ": expected an integer or a float type");
    }
    return pool_.integer(static_cast<int64_t>(syntax.number), dtype);
  }

  Result<Expr> operation(const Syntax& syntax) {
    Exprs operands;
    for (const Syntax& operand : syntax.operands) {
      TRY(Expr expr, build(operand));
      operands.push_back(expr);
    }
    if (const auto mistake = find_type_error(syntax.kind, operands, syntax.dtype)) {
      return invalid_argument(*mistake);
    }
    if (scope_.simplified) return pool_.make(syntax.kind, operands, syntax.dtype);
    ExprPool::Node node = {
        syntax.kind, operands[0].dtype(), {ExprPool::kNone, ExprPool::kNone, ExprPool::kNone}, 0};
    for (size_t k = 0; k < operands.size(); ++k) node.operands[k] = operands[k].id();
    node.dtype = result_dtype(syntax.kind, operands, syntax.dtype);
    return pool_.intern(node);
  }

  Result<Expr> load(const Syntax& syntax) {
    std::optional<DType> dtype = syntax.dtype;
    const uint32_t buffer = static_cast<uint32_t>(syntax.number);
    if (!dtype && scope_.buffer_dtype) dtype = scope_.buffer_dtype(buffer);
    if (!dtype)
      return invalid_argument("b", buffer, ": a buffer of unknown type, write b0:f32[...]");
    if (!is_integral(*dtype) && !is_float(*dtype)) {
      return invalid_argument("b", buffer, ": expected numbers, got ", *dtype);
    }
    Exprs operands;
    for (const Syntax& operand : syntax.operands) {
      TRY(Expr expr, build(operand));
      operands.push_back(expr);
    }
    if (operands[0].dtype() != DType::i64) {
      return invalid_argument("b", buffer, ": expected an i64 offset, got ", operands[0].dtype());
    }
    if (operands.size() == 1) return pool_.load(buffer, *dtype, operands[0]);
    if (operands[1].dtype() != DType::b8 || operands[2].dtype() != *dtype) {
      return invalid_argument("b", buffer, ": expected a b8 predicate and a fallback of type ",
                              *dtype, ", got ", operands[1].dtype(), " and ", operands[2].dtype());
    }
    return pool_.load(buffer, *dtype, operands[0], operands[1], operands[2]);
  }

  Result<Expr> reduce(const Syntax& syntax) {
    TRY(Expr extent, build(syntax.operands[0]));
    if (extent.dtype() != DType::i64) {
      return invalid_argument("i", syntax.number, ": expected an i64 extent, got ", extent.dtype());
    }
    if (!scope_.bound_index) return invalid_argument("a reduction cannot stand here");
    TRY(Expr index, scope_.bound_index(static_cast<uint32_t>(syntax.number), extent));
    TRY(Expr body, build(syntax.operands[1]));
    if (const auto mistake = find_reduce_error(syntax.reduce_kind, body.dtype())) {
      return invalid_argument(*mistake);
    }
    return pool_.reduce(syntax.reduce_kind, index, body);
  }

  const Scope& scope_;
  ExprPool& pool_;
};

}  // namespace

std::optional<Sign> sign_of(ExprKind kind) {
  for (const Operator& op : kOperators) {
    if (op.kind == kind) return Sign{op.text, op.strength};
  }
  return std::nullopt;
}

bool is_reserved(std::string_view name) {
  constexpr std::string_view kWords[] = {"true", "false", "inf",    "nan",      "if",     "else",
                                         "for",  "in",    "where",  "kernel",   "alloc",  "reduce",
                                         "end",  "let",   "symbol", "parallel", "vector", "serial"};
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords)) return true;
  for (const char letter : {'i', 'p', 't', 'b'}) {
    if (number_after(letter, name)) return true;
  }
  return function_of(name) || dtype_from_name(name) || reduction_of(name);
}

Result<Syntax> parse_syntax(Reader& reader) {
  return Parser(reader).expression(0);
}

Result<Expr> build(const Syntax& syntax, const Scope& scope) {
  return Builder(scope).build(syntax);
}

}  // namespace ingot
