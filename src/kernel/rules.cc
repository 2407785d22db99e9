// kernel/rules.cc: the table of rewrite rows, and how ExprPool::make simplifies.
//
// Order of work on a node whose operands are simple: constants fold; sums and products of integers
// take their canonical form (linear.cc); quotients and remainders follow the identities of index
// arithmetic (divide.cc); operands of commutative kinds are sorted, constants last; then the first
// row that matches is applied, and its result is made in the same way. Every row makes the node
// smaller, or moves constants outwards, or replaces its kind by one further down the list
// `div -> floordiv`, `not (a < b) -> b <= a`, so the rewriting ends; a cap on nested rewriting
// guards the claim.
#include "kernel/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "kernel/linear.h"
#include "kernel/range.h"
#include "kernel/scalar.h"
#include "kernel/syntax.h"

namespace ingot {
namespace {

bool is_at_most(Expr a, Expr b) {
  return Prover({a, b}).is_at_most(a, b);
}

bool x_at_most_y(const Match& m) {
  return is_at_most(m.x, m.y);
}
bool y_at_most_x(const Match& m) {
  return is_at_most(m.y, m.x);
}
bool x_below_y(const Match& m) {
  return Prover({m.x, m.y}).is_less(m.x, m.y);
}
Match swapped(Match m) {
  std::swap(m.x, m.y);
  return m;
}
bool y_below_x(const Match& m) {
  return x_below_y(swapped(m));
}
bool x_differs_from_y(const Match& m) {
  return x_below_y(m) || y_below_x(m);
}
bool both_nonnegative(const Match& m) {
  return range_of(m.x).lo >= 0 && range_of(m.y).lo >= 0;
}
bool x_nonnegative(const Match& m) {
  return range_of(m.x).lo >= 0;
}
bool x_nonpositive(const Match& m) {
  const Range range = range_of(m.x);
  return range.hi <= 0 && range.lo > all_values(m.x.dtype()).lo;
}
bool x_positive(const Match& m) {
  return range_of(m.x).lo > 0;
}
bool x_negative(const Match& m) {
  return range_of(m.x).hi < 0;
}

/// A float c whose reciprocal is exact and as far from the ends of f32 as it is itself.
bool c_is_power_of_two(const Match& m) {
  int exponent = 0;
  return std::abs(std::frexp(*m.c.as_real(), &exponent)) == 0.5 && std::abs(exponent) <= 64;
}

// For floats only what holds for NaN, infinities and -0: not x + 0, x - x, x * 0.
constexpr std::array kRules = {
    // Floats: neutral elements and signs.
    Rule{"x * 1", RuleTypes::floats, "x * 1", "x"},
    Rule{"x * -1", RuleTypes::floats, "x * -1", "-x"},
    Rule{"x / 1", RuleTypes::floats, "x / 1", "x"},
    Rule{"x / -1", RuleTypes::floats, "x / -1", "-x"},
    Rule{"x / 2^n", RuleTypes::floats, "x / c", "x * (1 / c)", c_is_power_of_two},
    Rule{"x - +0", RuleTypes::floats, "x - 0", "x"},
    Rule{"x + -0", RuleTypes::floats, "x + -0", "x"},
    Rule{"negate twice", RuleTypes::floats, "-(-x)", "x"},
    Rule{"negated difference of signs", RuleTypes::floats, "(-x) * (-y)", "x * y"},
    Rule{"negation times constant", RuleTypes::floats, "(-x) * c", "x * -c"},
    Rule{"subtract negation", RuleTypes::floats, "x - -y", "x + y"},
    Rule{"add negation", RuleTypes::floats, "x + -y", "x - y"},
    Rule{"add to negation", RuleTypes::floats, "-x + y", "y - x"},
    Rule{"pow 1", RuleTypes::floats, "pow(x, 1)", "x"},
    Rule{"pow 2", RuleTypes::floats, "pow(x, 2)", "x * x"},
    Rule{"pow 3", RuleTypes::floats, "pow(x, 3)", "x * x * x"},
    Rule{"pow -1", RuleTypes::floats, "pow(x, -1)", "1 / x"},
    Rule{"abs of abs", RuleTypes::any, "abs(abs(x))", "abs(x)"},
    Rule{"abs of negation", RuleTypes::floats, "abs(-x)", "abs(x)"},
    Rule{"x differs from itself", RuleTypes::floats, "x != x", "is_nan(x)"},
    Rule{"floor of floor", RuleTypes::floats, "floor(floor(x))", "floor(x)"},
    Rule{"floor of ceil", RuleTypes::floats, "floor(ceil(x))", "ceil(x)"},
    Rule{"floor of round", RuleTypes::floats, "floor(round(x))", "round(x)"},
    Rule{"floor of trunc", RuleTypes::floats, "floor(trunc(x))", "trunc(x)"},
    Rule{"ceil of floor", RuleTypes::floats, "ceil(floor(x))", "floor(x)"},
    Rule{"ceil of ceil", RuleTypes::floats, "ceil(ceil(x))", "ceil(x)"},
    Rule{"ceil of round", RuleTypes::floats, "ceil(round(x))", "round(x)"},
    Rule{"ceil of trunc", RuleTypes::floats, "ceil(trunc(x))", "trunc(x)"},
    Rule{"round of floor", RuleTypes::floats, "round(floor(x))", "floor(x)"},
    Rule{"round of ceil", RuleTypes::floats, "round(ceil(x))", "ceil(x)"},
    Rule{"round of round", RuleTypes::floats, "round(round(x))", "round(x)"},
    Rule{"round of trunc", RuleTypes::floats, "round(trunc(x))", "trunc(x)"},
    Rule{"trunc of floor", RuleTypes::floats, "trunc(floor(x))", "floor(x)"},
    Rule{"trunc of ceil", RuleTypes::floats, "trunc(ceil(x))", "ceil(x)"},
    Rule{"trunc of round", RuleTypes::floats, "trunc(round(x))", "round(x)"},
    Rule{"trunc of trunc", RuleTypes::floats, "trunc(trunc(x))", "trunc(x)"},

    // Integers: division without signs, powers, signs by ranges. Sums are not here: see linear.cc.
    Rule{"div of naturals", RuleTypes::integers, "x / y", "x // y", both_nonnegative},
    Rule{"fmod of naturals", RuleTypes::integers, "fmod(x, y)", "x % y", both_nonnegative},
    Rule{"div by 1", RuleTypes::integers, "x / 1", "x"},
    Rule{"div by 0", RuleTypes::integers, "x / 0", "0"},
    Rule{"fmod 1", RuleTypes::integers, "fmod(x, 1)", "0"},
    Rule{"fmod 0", RuleTypes::integers, "fmod(x, 0)", "0"},
    Rule{"pow 0", RuleTypes::any, "pow(x, 0)", "1"},
    Rule{"pow 1", RuleTypes::integers, "pow(x, 1)", "x"},
    Rule{"pow 2", RuleTypes::integers, "pow(x, 2)", "x * x"},
    Rule{"abs of a natural", RuleTypes::integers, "abs(x)", "x", x_nonnegative},
    Rule{"abs of a negative", RuleTypes::integers, "abs(x)", "-x", x_nonpositive},
    Rule{"sign of a positive", RuleTypes::integers, "sign(x)", "1", x_positive},
    Rule{"sign of a negative", RuleTypes::integers, "sign(x)", "-1", x_negative},

    // min and max.
    Rule{"min of equals", RuleTypes::any, "min(x, x)", "x"},
    Rule{"max of equals", RuleTypes::any, "max(x, x)", "x"},
    Rule{"min of two constants", RuleTypes::any, "min(min(x, c), d)", "min(x, min(c, d))"},
    Rule{"max of two constants", RuleTypes::any, "max(max(x, c), d)", "max(x, max(c, d))"},
    Rule{"min absorbs left", RuleTypes::any, "min(x, min(x, y))", "min(x, y)"},
    Rule{"min absorbs right", RuleTypes::any, "min(y, min(x, y))", "min(x, y)"},
    Rule{"max absorbs left", RuleTypes::any, "max(x, max(x, y))", "max(x, y)"},
    Rule{"max absorbs right", RuleTypes::any, "max(y, max(x, y))", "max(x, y)"},
    Rule{"min absorbs left, turned", RuleTypes::any, "min(min(x, y), x)", "min(x, y)"},
    Rule{"min absorbs right, turned", RuleTypes::any, "min(min(x, y), y)", "min(x, y)"},
    Rule{"max absorbs left, turned", RuleTypes::any, "max(max(x, y), x)", "max(x, y)"},
    Rule{"max absorbs right, turned", RuleTypes::any, "max(max(x, y), y)", "max(x, y)"},
    Rule{"min is left", RuleTypes::integers, "min(x, y)", "x", x_at_most_y},
    Rule{"min is right", RuleTypes::integers, "min(x, y)", "y", y_at_most_x},
    Rule{"max is left", RuleTypes::integers, "max(x, y)", "x", y_at_most_x},
    Rule{"max is right", RuleTypes::integers, "max(x, y)", "y", x_at_most_y},
    Rule{"min of booleans", RuleTypes::booleans, "min(x, y)", "x && y"},
    Rule{"max of booleans", RuleTypes::booleans, "max(x, y)", "x || y"},

    // Comparisons.
    Rule{"x equals itself", RuleTypes::integers, "x == x", "true"},
    Rule{"x is not unequal to itself", RuleTypes::integers, "x != x", "false"},
    Rule{"x is not below itself", RuleTypes::any, "x < x", "false"},
    Rule{"x is at most itself", RuleTypes::integers, "x <= x", "true"},
    Rule{"below by range", RuleTypes::integers, "x < y", "true", x_below_y},
    Rule{"not below by range", RuleTypes::integers, "x < y", "false", y_at_most_x},
    Rule{"at most by range", RuleTypes::integers, "x <= y", "true", x_at_most_y},
    Rule{"not at most by range", RuleTypes::integers, "x <= y", "false", y_below_x},
    Rule{"never equal by range", RuleTypes::integers, "x == y", "false", x_differs_from_y},
    Rule{"always unequal by range", RuleTypes::integers, "x != y", "true", x_differs_from_y},
    Rule{"x is true", RuleTypes::booleans, "x == true", "x"},
    Rule{"x is false", RuleTypes::booleans, "x == false", "!x"},
    Rule{"x is not true", RuleTypes::booleans, "x != true", "!x"},
    Rule{"x is not false", RuleTypes::booleans, "x != false", "x"},
    Rule{"boolean equals itself", RuleTypes::booleans, "x == x", "true"},
    Rule{"boolean differs from itself", RuleTypes::booleans, "x != x", "false"},
    Rule{"boolean at most itself", RuleTypes::booleans, "x <= x", "true"},

    // Logic.
    Rule{"not not", RuleTypes::booleans, "!(!x)", "x"},
    Rule{"not equal", RuleTypes::any, "!(x == y)", "x != y"},
    Rule{"not unequal", RuleTypes::any, "!(x != y)", "x == y"},
    Rule{"not below", RuleTypes::integers, "!(x < y)", "y <= x"},
    Rule{"not at most", RuleTypes::integers, "!(x <= y)", "y < x"},
    Rule{"and true", RuleTypes::booleans, "x && true", "x"},
    Rule{"and false", RuleTypes::booleans, "x && false", "false"},
    Rule{"and itself", RuleTypes::booleans, "x && x", "x"},
    Rule{"and its opposite", RuleTypes::booleans, "x && !x", "false"},
    Rule{"or true", RuleTypes::booleans, "x || true", "true"},
    Rule{"or false", RuleTypes::booleans, "x || false", "x"},
    Rule{"or itself", RuleTypes::booleans, "x || x", "x"},
    Rule{"or its opposite", RuleTypes::booleans, "x || !x", "true"},
    Rule{"and absorbs left", RuleTypes::booleans, "x && (x && y)", "x && y"},
    Rule{"and absorbs right", RuleTypes::booleans, "y && (x && y)", "x && y"},
    Rule{"or absorbs left", RuleTypes::booleans, "x || (x || y)", "x || y"},
    Rule{"or absorbs right", RuleTypes::booleans, "y || (x || y)", "x || y"},
    Rule{"xor true", RuleTypes::booleans, "logical_xor(x, true)", "!x"},
    Rule{"xor false", RuleTypes::booleans, "logical_xor(x, false)", "x"},
    Rule{"xor itself", RuleTypes::booleans, "logical_xor(x, x)", "false"},

    // Bits.
    Rule{"bit and itself", RuleTypes::integers, "x & x", "x"},
    Rule{"bit and 0", RuleTypes::integers, "x & 0", "0"},
    Rule{"bit and ones", RuleTypes::integers, "x & -1", "x"},
    Rule{"bit or itself", RuleTypes::integers, "x | x", "x"},
    Rule{"bit or 0", RuleTypes::integers, "x | 0", "x"},
    Rule{"bit or ones", RuleTypes::integers, "x | -1", "-1"},
    Rule{"bit xor itself", RuleTypes::integers, "x ^ x", "0"},
    Rule{"bit xor 0", RuleTypes::integers, "x ^ 0", "x"},
    Rule{"bit xor ones", RuleTypes::integers, "x ^ -1", "~x"},
    Rule{"bit not not", RuleTypes::integers, "~(~x)", "x"},
    Rule{"shift left by 0", RuleTypes::integers, "x << 0", "x"},
    Rule{"shift right by 0", RuleTypes::integers, "x >> 0", "x"},
    Rule{"shift 0 left", RuleTypes::integers, "0 << x", "0"},
    Rule{"shift 0 right", RuleTypes::integers, "0 >> x", "0"},

    // Selection. The condition is a comparison or a boolean z.
    Rule{"select true", RuleTypes::any, "select(true, x, y)", "x"},
    Rule{"select false", RuleTypes::any, "select(false, x, y)", "y"},
    Rule{"select equals", RuleTypes::any, "select(z, x, x)", "x"},
    Rule{"select by not", RuleTypes::any, "select(!z, x, y)", "select(z, y, x)"},
    Rule{"select itself", RuleTypes::booleans, "select(x, true, false)", "x"},
    Rule{"select its opposite", RuleTypes::booleans, "select(x, false, true)", "!x"},
    Rule{"select twice left", RuleTypes::any, "select(z, select(z, x, w), y)", "select(z, x, y)"},
    Rule{"select twice right", RuleTypes::any, "select(z, x, select(z, w, y))", "select(z, x, y)"},
};

// ---- patterns --------------------------------------------------------------------------------

/// A table row whose texts are parsed.
struct Compiled {
  const Rule* rule;
  Syntax pattern, result;
};

Syntax parse_row_text(std::string_view text) {
  Reader reader(text);
  Result<Syntax> syntax = parse_syntax(reader);
  CHECK(syntax && reader.at_end(), "the text of a rule does not parse: ", text);
  return *std::move(syntax);
}

/// Rows by the kind at the root of their pattern.
using Table = std::array<std::vector<Compiled>, static_cast<size_t>(ExprKind::reduce) + 1>;

const Table& table() {
  static const Table made = [] {
    Table rows;
    for (const Rule& rule : kRules) {
      Syntax pattern = parse_row_text(rule.pattern);
      const size_t root = static_cast<size_t>(pattern.kind);
      rows[root].push_back({&rule, std::move(pattern), parse_row_text(rule.result)});
    }
    return rows;
  }();
  return made;
}

Expr* find_variable(Match& match, std::string_view name) {
  if (name == "x") return &match.x;
  if (name == "y") return &match.y;
  if (name == "w") return &match.w;
  if (name == "z") return &match.z;
  if (name == "c") return &match.c;
  if (name == "d") return &match.d;
  return nullptr;
}

bool fits(RuleTypes types, DType dtype) {
  switch (types) {
    case RuleTypes::any:
      return true;
    case RuleTypes::integers:
      return is_int(dtype);
    case RuleTypes::floats:
      return is_float(dtype);
    case RuleTypes::booleans:
      return dtype == DType::b8;
  }
  INGOT_UNREACHABLE();
}

bool is_number(const Syntax& pattern, Expr expr, bool negative) {
  if ((expr.dtype() == DType::b8) != (pattern.dtype == DType::b8)) return false;
  const double value =
      pattern.is == Syntax::Is::real ? pattern.real : static_cast<double>(pattern.number);
  if (const auto real = expr.as_real()) {
    return *real == (negative ? -value : value) && std::signbit(*real) == negative;
  }
  const auto integer = expr.as_int();
  if (!integer || pattern.is != Syntax::Is::integer) return false;
  const int64_t plain = static_cast<int64_t>(pattern.number);
  return *integer == wrap(negative ? -plain : plain, expr.dtype());
}

Expr instantiate(const Syntax& syntax, ExprPool& pool, const Match& match, bool simplified) {
  Scope scope;
  scope.pool = &pool;
  scope.simplified = simplified;
  scope.number_dtype = (match.x ? match.x : match.c).dtype();
  scope.name = [&](const Syntax& leaf) -> Result<Expr> {
    return *find_variable(const_cast<Match&>(match), leaf.name);
  };
  Result<Expr> result = build(syntax, scope);
  CHECK(result, "a rule's text does not fit its operands: ", result.error().message);
  return *result;
}

bool matches(const Syntax& pattern, Expr expr, RuleTypes types, Match& match) {
  if (pattern.is == Syntax::Is::integer || pattern.is == Syntax::Is::real) {
    return is_number(pattern, expr, false);
  }
  if (pattern.is == Syntax::Is::name) {
    Expr* variable = find_variable(match, pattern.name);
    const bool wants_constant = pattern.name == "c" || pattern.name == "d";
    const bool is_condition = pattern.name == "z";
    if (is_condition ? expr.dtype() != DType::b8 : !fits(types, expr.dtype())) return false;
    if (wants_constant && expr.kind() != ExprKind::constant) return false;
    if (*variable) return *variable == expr;
    *variable = expr;
    return true;
  }
  if (pattern.kind == ExprKind::neg && pattern.operands[0].is != Syntax::Is::operation &&
      pattern.operands[0].is != Syntax::Is::name) {
    return is_number(pattern.operands[0], expr, true);
  }
  if (pattern.is != Syntax::Is::operation || pattern.kind != expr.kind()) return false;
  for (size_t k = 0; k < pattern.operands.size(); ++k) {
    if (!matches(pattern.operands[k], expr.operand(static_cast<int>(k)), types, match))
      return false;
  }
  return true;
}

// ---- simplification --------------------------------------------------------------------------

/// Rewriting nested deeper than this stops: a guard against rows that undo each other.
constexpr int kDeepestRewriting = 100;

bool is_commutative(ExprKind kind) {
  switch (kind) {
    case ExprKind::add:
    case ExprKind::mul:
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::logical_and:
    case ExprKind::logical_or:
    case ExprKind::logical_xor:
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor:
      return true;
    default:
      return false;
  }
}

Scalar to_scalar(Expr constant) {
  if (const auto real = constant.as_real()) return make_real(*real, constant.dtype());
  return make_integer(*constant.as_int(), constant.dtype());
}

Expr to_constant(ExprPool& pool, const Scalar& value) {
  return is_float(value.dtype) ? pool.real(value.real, value.dtype)
                               : pool.integer(value.integer, value.dtype);
}

std::optional<Expr> fold(ExprPool& pool, const ExprPool::Node& node,
                         std::span<const Expr> operands) {
  std::vector<Scalar> values;
  for (const Expr& operand : operands) {
    if (operand.kind() != ExprKind::constant) return std::nullopt;
    values.push_back(to_scalar(operand));
  }
  return to_constant(pool, apply(node.kind, node.dtype, values));
}

std::optional<Expr> simplify_integers(const ExprPool::Node& node, std::span<const Expr> operands) {
  switch (node.kind) {
    case ExprKind::add:
      return to_expr(merge_remainders(to_sum(operands[0]) + to_sum(operands[1])));
    case ExprKind::sub:
      return to_expr(merge_remainders(to_sum(operands[0]) - to_sum(operands[1])));
    case ExprKind::mul:
      return to_expr(merge_remainders(to_sum(operands[0]) * to_sum(operands[1])));
    case ExprKind::neg:
      return to_expr(scale(to_sum(operands[0]), -1));
    case ExprKind::floordiv:
      return simplify_floordiv(operands[0], operands[1]);
    case ExprKind::floormod:
      return simplify_floormod(operands[0], operands[1]);
    default:
      return std::nullopt;
  }
}

/// Whether every value of `from` exists in `to`, NaN, infinities and -0 included.
bool holds_every_value(DType to, DType from) {
  if (from == to) return true;
  if (is_float(from)) {
    if (to == DType::f64) return true;
    return to == DType::f32 && bits(from) < 32;
  }
  if (!is_integral(from)) return false;
  const int digits = from == DType::b8 ? 1 : bits(from) - (is_signed(from) ? 1 : 0);
  if (is_float(to)) return digits <= (to == DType::f64 ? 53 : to == DType::f32 ? 24 : 0);
  if (!is_int(to)) return false;
  if (is_signed(from) && !is_signed(to)) return false;
  return digits <= bits(to) - (is_signed(to) ? 1 : 0);
}

std::optional<Expr> simplify_cast(Expr operand, DType to) {
  if (operand.dtype() == to) return operand;
  if (operand.kind() != ExprKind::cast) return std::nullopt;
  const Expr inner = operand.operand(0);
  const DType from = inner.dtype();
  const DType between = operand.dtype();
  // Integers keep their low bits, so a wider step between changes nothing.
  const bool is_truncation =
      is_int(to) && is_int(between) && is_integral(from) && bits(to) <= bits(between);
  // From a float, integers saturate; from an integer they wrap: the step may not change which.
  const bool changes_rounding = is_integral(from) && is_float(between) && is_int(to);
  const bool is_harmless = changes_rounding ? holds_every_value(to, from) : true;
  if ((holds_every_value(between, from) && is_harmless) || is_truncation) return cast(inner, to);
  return std::nullopt;
}

std::optional<Expr> apply_rows(Expr plain) {
  for (const Compiled& row : table()[static_cast<size_t>(plain.kind())]) {
    Match match;
    if (!matches(row.pattern, plain, row.rule->types, match)) continue;
    if (row.rule->when != nullptr && !row.rule->when(match)) continue;
    return instantiate(row.result, plain.pool(), match, true);
  }
  return std::nullopt;
}

Expr simplify_new(ExprPool& pool, ExprPool::Node node) {
  std::vector<Expr> operands;
  for (int k = 0; k < arity(node.kind); ++k) operands.emplace_back(&pool, node.operands[k]);
  if (const auto constant = fold(pool, node, operands)) return *constant;
  if (node.kind == ExprKind::cast) {
    if (const auto simpler = simplify_cast(operands[0], node.dtype)) return *simpler;
  }
  if (is_int(node.dtype)) {
    if (const auto simpler = simplify_integers(node, operands)) return *simpler;
  }
  if (is_commutative(node.kind) && compare(operands[0], operands[1]) > 0) {
    std::swap(node.operands[0], node.operands[1]);
  }
  const Expr plain = pool.intern(node);
  return apply_rows(plain).value_or(plain);
}

}  // namespace

Expr simplify(ExprPool& pool, const ExprPool::Node& node) {
  if (const auto known = pool.known_simplification(node)) return *known;
  static thread_local int depth = 0;
  static thread_local bool was_cut = false;  // by the cap, somewhere inside the outermost call
  if (depth >= kDeepestRewriting) {
    was_cut = true;
    return pool.intern(node);
  }
  struct Level {
    Level() {
      if (depth++ == 0) was_cut = false;
    }
    ~Level() { --depth; }
  };
  const Level level;
  const Expr result = simplify_new(pool, node);
  if (!was_cut) pool.remember_simplification(node, result);
  return result;
}

std::span<const Rule> rules() {
  return kRules;
}

std::optional<Match> match(const Rule& rule, Expr root) {
  const Syntax pattern = parse_row_text(rule.pattern);
  Match found;
  if (!matches(pattern, root, rule.types, found)) return std::nullopt;
  if (rule.when != nullptr && !rule.when(found)) return std::nullopt;
  return found;
}

Expr instantiate(std::string_view text, ExprPool& pool, const Match& match, bool simplified) {
  return instantiate(parse_row_text(text), pool, match, simplified);
}

}  // namespace ingot
