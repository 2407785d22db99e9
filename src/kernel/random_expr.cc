// kernel/random_expr.cc: random expressions for tests.
#include "kernel/random_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

int64_t random_integer(Random& random, DType dtype) {
  if (dtype == DType::b8) return random.range(0, 1);
  const int64_t top = is_signed(dtype) ? wrap(-1, DType::u64) : -1;
  const uint64_t high = static_cast<uint64_t>(top) >> (64 - bits(dtype) + is_signed(dtype));
  switch (random.range(0, 5)) {
    case 0:
      return 0;
    case 1:
      return random.range(-2, 2);
    case 2:
      return static_cast<int64_t>(high) - random.range(0, 1);
    case 3:
      return static_cast<int64_t>(~high) + random.range(0, 1);
    case 4:
      return static_cast<int64_t>(random.bits());
    default:
      return random.range(-20, 20);
  }
}

double random_real(Random& random) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kEdges[] = {0.0,       -0.0,     1.0,
                               -1.0,      kInf,     -kInf,
                               0.5,       2.0,      std::numeric_limits<double>::quiet_NaN(),
                               0x1p-1074, 0x1p1023, -0x1p-130,
                               0x1p127};
  switch (random.range(0, 3)) {
    case 0:
      return random.pick(kEdges);
    case 1:
      return static_cast<double>(random.range(-20, 20)) / 4;
    default:
      return random.normal(0, 4);
  }
}

Expr intern(ExprPool& pool, ExprKind kind, const Exprs& operands, std::optional<DType> dtype = {}) {
  const auto mistake = find_type_error(kind, operands, dtype);
  CHECK(!mistake, *mistake);
  ExprPool::Node node = {kind,
                         result_dtype(kind, operands, dtype),
                         {ExprPool::kNone, ExprPool::kNone, ExprPool::kNone},
                         0};
  for (size_t k = 0; k < operands.size(); ++k) node.operands[k] = operands[k].id();
  return pool.intern(node);
}

constexpr ExprKind kIntegerBinary[] = {
    ExprKind::add,        ExprKind::sub,        ExprKind::mul,    ExprKind::add,
    ExprKind::sub,        ExprKind::mul,        ExprKind::div,    ExprKind::fmod,
    ExprKind::floordiv,   ExprKind::floormod,   ExprKind::min,    ExprKind::max,
    ExprKind::pow,        ExprKind::bit_and,    ExprKind::bit_or, ExprKind::bit_xor,
    ExprKind::shift_left, ExprKind::shift_right};
constexpr ExprKind kIntegerUnary[] = {ExprKind::neg, ExprKind::abs, ExprKind::sign,
                                      ExprKind::bit_not};
constexpr ExprKind kFloatBinary[] = {
    ExprKind::add,      ExprKind::sub,  ExprKind::mul, ExprKind::div, ExprKind::floordiv,
    ExprKind::floormod, ExprKind::fmod, ExprKind::min, ExprKind::max, ExprKind::pow};
constexpr ExprKind kFloatUnary[] = {
    ExprKind::neg,   ExprKind::abs,  ExprKind::sign,  ExprKind::exp,  ExprKind::log,
    ExprKind::sqrt,  ExprKind::sin,  ExprKind::tanh,  ExprKind::erf,  ExprKind::sigmoid,
    ExprKind::floor, ExprKind::ceil, ExprKind::round, ExprKind::trunc};
constexpr ExprKind kCompare[] = {ExprKind::eq, ExprKind::ne, ExprKind::lt, ExprKind::le};
constexpr ExprKind kLogic[] = {ExprKind::logical_and, ExprKind::logical_or, ExprKind::logical_xor,
                               ExprKind::min,         ExprKind::max,        ExprKind::eq,
                               ExprKind::ne};

class Generator {
 public:
  Generator(Random& random, ExprPool& pool, const RandomExprOptions& options)
      : random_(random), pool_(pool), options_(options) {}

  Expr make(DType dtype, int depth) {
    if (depth <= 0 || random_.chance(0.1)) return leaf(dtype);
    if (options_.index_arithmetic && dtype == DType::i64) return index_operation(depth);
    if (dtype == DType::b8) return condition(depth);
    if (random_.chance(0.1)) {
      return intern(pool_, ExprKind::select,
                    {make(DType::b8, depth - 1), make(dtype, depth - 1), make(dtype, depth - 1)});
    }
    if (random_.chance(0.1)) return cast_to(dtype, depth);
    if (random_.chance(0.25)) {
      return intern(pool_,
                    is_float(dtype) ? random_.pick(kFloatUnary) : random_.pick(kIntegerUnary),
                    {make(dtype, depth - 1)});
    }
    return intern(pool_,
                  is_float(dtype) ? random_.pick(kFloatBinary) : random_.pick(kIntegerBinary),
                  {make(dtype, depth - 1), make(dtype, depth - 1)});
  }

 private:
  Expr leaf(DType dtype) {
    std::vector<Expr> fitting;
    for (const Expr& each : options_.leaves) {
      if (each.dtype() == dtype) fitting.push_back(each);
    }
    if (!fitting.empty() && !random_.chance(0.3)) return random_.pick(fitting);
    if (is_float(dtype)) return pool_.real(random_real(random_), dtype);
    if (options_.index_arithmetic) return pool_.integer(random_.range(-9, 33), dtype);
    return pool_.integer(random_integer(random_, dtype), dtype);
  }

  DType some_dtype() { return random_.pick(options_.leaves).dtype(); }

  Expr condition(int depth) {
    if (random_.chance(0.2))
      return intern(pool_, ExprKind::logical_not, {make(DType::b8, depth - 1)});
    if (random_.chance(0.4)) {
      return intern(pool_, random_.pick(kLogic),
                    {make(DType::b8, depth - 1), make(DType::b8, depth - 1)});
    }
    const DType dtype = some_dtype();
    return intern(pool_, random_.pick(kCompare), {make(dtype, depth - 1), make(dtype, depth - 1)});
  }

  Expr cast_to(DType dtype, int depth) {
    Expr inner = make(some_dtype(), depth - 1);
    if (random_.chance(0.5)) {
      constexpr DType kSteps[] = {DType::f16, DType::bf16, DType::f64, DType::f32,     DType::i8,
                                  DType::u8,  DType::i32,  DType::i64, DType::f8e4m3fn};
      inner = intern(pool_, ExprKind::cast, {inner}, random_.pick(kSteps));
    }
    return intern(pool_, ExprKind::cast, {inner}, dtype);
  }

  Expr index_operation(int depth) {
    const auto sub = [&] { return make(DType::i64, depth - 1); };
    const auto positive = [&] {
      std::vector<Expr> symbols;
      for (const Expr& each : options_.leaves) {
        if (each.kind() == ExprKind::symbol) symbols.push_back(each);
      }
      if (!symbols.empty() && random_.chance(0.6)) return random_.pick(symbols);
      return pool_.integer(random_.range(1, 17));
    };
    switch (random_.range(0, 9)) {
      case 0:
        return intern(pool_, ExprKind::sub, {sub(), sub()});
      case 1:
        return intern(pool_, ExprKind::mul, {sub(), positive()});
      case 2:
        return intern(pool_, ExprKind::floordiv, {sub(), positive()});
      case 3:
        return intern(pool_, ExprKind::floormod, {sub(), positive()});
      case 4: {
        // A remainder and its quotient, as when an index is taken apart and put together.
        const Expr x = sub();
        const Expr c = positive();
        const Expr high =
            intern(pool_, ExprKind::mul, {intern(pool_, ExprKind::floordiv, {x, c}), c});
        return intern(pool_, ExprKind::add, {high, intern(pool_, ExprKind::floormod, {x, c})});
      }
      case 5:
        return intern(pool_, ExprKind::min, {sub(), sub()});
      case 6:
        return intern(pool_, ExprKind::max, {sub(), sub()});
      case 7:
        return intern(pool_, ExprKind::select,
                      {intern(pool_, random_.pick(kCompare), {sub(), sub()}), sub(), sub()});
      default:
        return intern(pool_, ExprKind::add, {sub(), sub()});
    }
  }

  Random& random_;
  ExprPool& pool_;
  const RandomExprOptions& options_;
};

}  // namespace

Scalar random_scalar(Random& random, DType dtype) {
  if (!is_float(dtype)) return make_integer(random_integer(random, dtype), dtype);
  const double value = random_real(random);
  return bits(dtype) < 32 ? cast(make_real(value, DType::f64), dtype) : make_real(value, dtype);
}

bool RandomLeaves::draw(const std::vector<Expr>& expressions, int64_t largest_symbol) {
  values_.clear();
  for (const Expr& expr : expressions) {
    bool all = true;
    for_each(expr, [&](Expr part) { all = all && draw_leaf(part, largest_symbol); });
    if (!all) return false;
  }
  return true;
}

bool RandomLeaves::draw_leaf(Expr leaf, int64_t largest_symbol) {
  if (values_.contains(leaf.id())) return true;
  switch (leaf.kind()) {
    case ExprKind::symbol: {
      const Symbol& symbol = std::as_const(pool_).symbol_info(leaf.symbol());
      const int64_t hi = std::max(std::min(symbol.range.hi, largest_symbol), symbol.range.lo);
      const int64_t least = (symbol.range.lo + symbol.divisor - 1) / symbol.divisor;
      const int64_t most = std::max(hi / symbol.divisor, least);
      values_[leaf.id()] = make_integer(random_.range(least, most) * symbol.divisor, DType::i64);
      return true;
    }
    case ExprKind::index: {
      const Expr extent = pool_.extent(leaf.var());
      bool all = true;
      for_each(extent, [&](Expr part) { all = all && draw_leaf(part, largest_symbol); });
      const int64_t count = all ? run(extent).integer : 0;
      if (count < 1) return false;
      const int64_t value = random_.chance(0.3) ? count - 1 : random_.range(0, count - 1);
      values_[leaf.id()] = make_integer(value, DType::i64);
      return true;
    }
    case ExprKind::param:
    case ExprKind::local:
      values_[leaf.id()] = random_scalar(random_, leaf.dtype());
      return true;
    default:
      return true;
  }
}

Scalar RandomLeaves::value(Expr leaf) const {
  const auto found = values_.find(leaf.id());
  CHECK(found != values_.end(), "no value for ", to_text(leaf));
  return found->second;
}

Scalar RandomLeaves::run(Expr expr) const {
  return evaluate(expr, [this](Expr leaf) { return value(leaf); });
}

std::string RandomLeaves::text() const {
  std::string out;
  for (const auto& [id, scalar] : values_) {
    if (!out.empty()) out += ", ";
    out += to_text(Expr(&pool_, id)) + " = ";
    out +=
        is_float(scalar.dtype) ? fmt::format("{}", scalar.real) : fmt::format("{}", scalar.integer);
  }
  return out;
}

Expr simplify_again(Expr root) {
  std::unordered_map<uint32_t, Expr> done;
  for_each(root, [&](Expr expr) {
    Exprs operands;
    for (int k = 0; k < arity(expr.kind()); ++k) {
      if (const Expr operand = expr.operand(k)) operands.push_back(done.at(operand.id()));
    }
    ExprPool& pool = expr.pool();
    Expr result = expr;
    if (expr.kind() == ExprKind::load) {
      operands.resize(3);
      result = pool.load(expr.buffer(), expr.dtype(), operands[0], operands[1], operands[2]);
    } else if (expr.kind() == ExprKind::reduce) {
      result = pool.reduce(expr.reduce_kind(), pool.index(expr.var()), operands[0]);
    } else if (!operands.empty()) {
      result = pool.make(expr.kind(), operands, expr.dtype());
    }
    done.emplace(expr.id(), result);
  });
  return done.at(root.id());
}

Expr random_expr(Random& random, ExprPool& pool, const RandomExprOptions& options, DType dtype) {
  return Generator(random, pool, options).make(dtype, options.depth);
}

}  // namespace ingot
