// kernel/expr.cc: the pool that interns expressions, their constructors and their order.
#include "kernel/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>

#include "base/check.h"
#include "kernel/mistakes.h"
#include "kernel/rules.h"
#include "kernel/scalar.h"

namespace ingot {
namespace {

enum class Group : uint8_t { leaf, arithmetic, float_math, compare, logic, bits, special };

struct KindInfo {
  std::string_view name;
  int arity;
  Group group;
};

constexpr std::array kKinds = {
#define X(name, arity, group) KindInfo{#name, arity, Group::group},
#include "kernel/expr.def"
#undef X
};

constexpr const KindInfo& kind_info(ExprKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

struct HashNode {
  size_t operator()(const ExprPool::Node& node) const {
    uint64_t hash = node.payload * 0x9E3779B97F4A7C15;
    hash ^= static_cast<uint64_t>(node.kind) << 8 | static_cast<uint64_t>(node.dtype);
    for (const uint32_t operand : node.operands) {
      hash = (std::rotl(hash, 23) ^ operand) * 0xD6E8FEB86659FD93;
    }
    return hash ^ hash >> 32;
  }
};

bool is_computed(DType dtype) {
  return is_integral(dtype) || dtype == DType::f32 || dtype == DType::f64;
}

ExprPool::Leaves leaves_of(const ExprPool& pool, const ExprPool::Node& node) {
  switch (node.kind) {
    case ExprKind::constant:
    case ExprKind::symbol:
      return {true, true};
    case ExprKind::index:
      return {false, true};
    case ExprKind::param:
    case ExprKind::local:
    case ExprKind::load:
    case ExprKind::reduce:
      return {false, false};
    default:
      break;
  }
  ExprPool::Leaves result = {true, true};
  if (node.dtype != DType::i64 && node.dtype != DType::b8) return {false, false};
  for (const uint32_t operand : node.operands) {
    if (operand == ExprPool::kNone) continue;
    const DType dtype = pool.node(operand).dtype;
    const ExprPool::Leaves leaves = pool.leaves(operand);
    const bool fits = dtype == DType::i64 || dtype == DType::b8;
    result.only_dims &= fits && leaves.only_dims;
    result.only_index &= fits && leaves.only_index;
  }
  return result;
}

template <class T>
int order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int rank_of(ExprKind kind) {
  switch (kind) {
    case ExprKind::index:
      return 0;
    case ExprKind::symbol:
      return 1;
    case ExprKind::param:
      return 2;
    case ExprKind::local:
      return 3;
    case ExprKind::constant:
      return 100;
    default:
      return 4 + static_cast<int>(kind);
  }
}

}  // namespace

std::string_view name(ExprKind kind) {
  return kind_info(kind).name;
}

int arity(ExprKind kind) {
  return kind_info(kind).arity;
}

std::string_view name(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return "sum";
    case ReduceKind::product:
      return "product";
    case ReduceKind::min:
      return "min";
    case ReduceKind::max:
      return "max";
    case ReduceKind::any:
      return "any";
    case ReduceKind::all:
      return "all";
  }
  INGOT_UNREACHABLE();
}

DType compute_dtype(DType storage) {
  if (storage == DType::str) return DType::i64;
  return is_float(storage) && bits(storage) < 32 ? DType::f32 : storage;
}

// ---- handles ---------------------------------------------------------------------------------

ExprKind Expr::kind() const {
  return pool_->node(id_).kind;
}

DType Expr::dtype() const {
  return pool_->node(id_).dtype;
}

uint64_t Expr::payload() const {
  return pool_->node(id_).payload;
}

Expr Expr::operand(int k) const {
  const uint32_t id = pool_->node(id_).operands[k];
  return id == ExprPool::kNone ? Expr() : Expr(pool_, id);
}

std::optional<int64_t> Expr::as_int() const {
  const ExprPool::Node& node = pool_->node(id_);
  if (node.kind != ExprKind::constant || !is_integral(node.dtype)) return std::nullopt;
  return static_cast<int64_t>(node.payload);
}

std::optional<double> Expr::as_real() const {
  const ExprPool::Node& node = pool_->node(id_);
  if (node.kind != ExprKind::constant || !is_float(node.dtype)) return std::nullopt;
  return std::bit_cast<double>(node.payload);
}

VarId Expr::var() const {
  CHECK(kind() == ExprKind::index || kind() == ExprKind::reduce, "var() of ", name(kind()));
  return VarId(static_cast<uint32_t>(payload()));
}

SymbolId Expr::symbol() const {
  CHECK(kind() == ExprKind::symbol, "symbol() of ", name(kind()));
  return SymbolId(static_cast<uint32_t>(payload()));
}

ReduceKind Expr::reduce_kind() const {
  CHECK(kind() == ExprKind::reduce, "reduce_kind() of ", name(kind()));
  return static_cast<ReduceKind>(payload() >> 32);
}

uint32_t Expr::buffer() const {
  CHECK(kind() == ExprKind::load, "buffer() of ", name(kind()));
  return static_cast<uint32_t>(payload());
}

// ---- the pool --------------------------------------------------------------------------------

struct ExprPool::State {
  struct Known {
    Range range;
    uint32_t epoch = 0;
  };

  std::deque<Node> nodes;
  std::vector<Leaves> leaves;
  std::vector<Known> known;
  std::unordered_map<Node, uint32_t, HashNode> ids;
  std::unordered_map<Node, uint32_t, HashNode> simplified;
  uint32_t epoch_of_simplified = 0;
  std::deque<Symbol> symbols;
  std::unordered_map<std::string, uint32_t> symbol_ids;
  std::vector<Expr> extents;  // by VarId; none where the number is free
  uint32_t epoch = 1;         // of the symbols' ranges
};

ExprPool::ExprPool() : state_(std::make_unique<State>()) {}
ExprPool::~ExprPool() = default;

const ExprPool::Node& ExprPool::node(uint32_t id) const {
  DCHECK(id < state_->nodes.size());
  return state_->nodes[id];
}

ExprPool::Leaves ExprPool::leaves(uint32_t id) const {
  return state_->leaves[id];
}

std::optional<Range> ExprPool::known_range(uint32_t id) const {
  const State::Known& known = state_->known[id];
  if (known.epoch != state_->epoch) return std::nullopt;
  return known.range;
}

void ExprPool::remember_range(uint32_t id, Range range) {
  state_->known[id] = {range, state_->epoch};
}

std::optional<Expr> ExprPool::known_simplification(const Node& node) {
  if (state_->epoch_of_simplified != state_->epoch) {
    state_->simplified.clear();
    state_->epoch_of_simplified = state_->epoch;
  }
  const auto place = state_->simplified.find(node);
  if (place == state_->simplified.end()) return std::nullopt;
  return Expr(this, place->second);
}

void ExprPool::remember_simplification(const Node& node, Expr result) {
  state_->simplified.insert_or_assign(node, result.id());
}

Expr ExprPool::intern(const Node& node) {
  const auto [place, is_new] =
      state_->ids.try_emplace(node, static_cast<uint32_t>(state_->nodes.size()));
  if (is_new) {
    state_->leaves.push_back(leaves_of(*this, node));
    state_->known.emplace_back();
    state_->nodes.push_back(node);
  }
  return Expr(this, place->second);
}

namespace {

ExprPool::Node leaf(ExprKind kind, DType dtype, uint64_t payload) {
  return {kind, dtype, {ExprPool::kNone, ExprPool::kNone, ExprPool::kNone}, payload};
}

}  // namespace

Expr ExprPool::integer(int64_t value, DType dtype) {
  CHECK(is_integral(dtype), "integer(): expected an integer type, got ", dtype);
  return intern(leaf(ExprKind::constant, dtype, static_cast<uint64_t>(wrap(value, dtype))));
}

Expr ExprPool::real(double value, DType dtype) {
  if (!is_float(dtype) && TypeMistakes::current() != nullptr) {
    TypeMistakes::current()->add(fmt::format("expected floats, got {}", to_text(dtype)));
    return integer(0, is_integral(dtype) ? dtype : DType::i64);
  }
  CHECK(is_float(dtype), "real(): expected a floating-point type, got ", dtype);
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (bits(dtype) < 32) {
    value = decode_float(dtype, encode_float(dtype, value, Overflow::kIeee));
  }
  return intern(leaf(ExprKind::constant, dtype, std::bit_cast<uint64_t>(value)));
}

Expr ExprPool::symbol(std::string_view name) {
  const auto [place, is_new] = state_->symbol_ids.try_emplace(
      std::string(name), static_cast<uint32_t>(state_->symbols.size()));
  if (is_new) state_->symbols.push_back({.name = std::string(name)});
  return intern(leaf(ExprKind::symbol, DType::i64, place->second));
}

Expr ExprPool::fresh_symbol(std::string_view prefix, bool data_dependent) {
  std::string name(prefix);
  for (size_t i = 1; state_->symbol_ids.contains(name); ++i) name = fmt::format("{}_{}", prefix, i);
  const Expr result = symbol(name);
  symbol_info(result.symbol()).data_dependent = data_dependent;
  return result;
}

Symbol& ExprPool::symbol_info(SymbolId id) {
  CHECK(id.index() < state_->symbols.size(), "no symbol ", id);
  ++state_->epoch;
  return state_->symbols[id.index()];
}

const Symbol& ExprPool::symbol_info(SymbolId id) const {
  CHECK(id.index() < state_->symbols.size(), "no symbol ", id);
  return state_->symbols[id.index()];
}

size_t ExprPool::symbol_count() const {
  return state_->symbols.size();
}

std::optional<SymbolId> ExprPool::find_symbol(std::string_view name) const {
  const auto place = state_->symbol_ids.find(std::string(name));
  if (place == state_->symbol_ids.end()) return std::nullopt;
  return SymbolId(place->second);
}

Expr ExprPool::fresh_index(Expr extent) {
  return numbered_index(VarId(state_->extents.size()), extent);
}

Expr ExprPool::numbered_index(VarId var, Expr extent) {
  CHECK(extent && &extent.pool() == this && extent.dtype() == DType::i64,
        "a loop variable needs an i64 extent of its own pool");
  CHECK(!has_index(var), "the loop variable i", var, " exists already");
  if (var.index() >= state_->extents.size()) state_->extents.resize(var.index() + 1);
  state_->extents[var.index()] = extent;
  return index(var);
}

bool ExprPool::has_index(VarId var) const {
  return var.index() < state_->extents.size() && state_->extents[var.index()];
}

Expr ExprPool::index(VarId var) {
  CHECK(has_index(var), "no loop variable i", var);
  return intern(leaf(ExprKind::index, DType::i64, var.value));
}

Expr ExprPool::extent(VarId var) const {
  CHECK(has_index(var), "no loop variable i", var);
  return state_->extents[var.index()];
}

Expr ExprPool::param(uint32_t number, DType dtype) {
  return intern(leaf(ExprKind::param, dtype, number));
}

Expr ExprPool::local(LocalId id, DType dtype) {
  return intern(leaf(ExprKind::local, dtype, id.value));
}

Expr ExprPool::load(uint32_t buffer, DType dtype, Expr offset, Expr predicate, Expr otherwise) {
  CHECK(offset && offset.dtype() == DType::i64, "load: the offset must be i64");
  const auto zero = [&] { return is_float(dtype) ? real(0, dtype) : integer(0, dtype); };
  if (predicate) {
    CHECK(predicate.dtype() == DType::b8, "load: the predicate must be b8");
    if (!otherwise) otherwise = zero();
    CHECK(otherwise.dtype() == dtype, "load: expected a fallback of type ", dtype, ", got ",
          otherwise.dtype());
    if (predicate.is_int(0)) return otherwise;
    if (predicate.is_int(1)) predicate = {};
  }
  if (!predicate) return intern({ExprKind::load, dtype, {offset.id(), kNone, kNone}, buffer});
  return intern({ExprKind::load, dtype, {offset.id(), predicate.id(), otherwise.id()}, buffer});
}

Expr ExprPool::reduce(ReduceKind kind, Expr index, Expr body) {
  CHECK(index && index.kind() == ExprKind::index, "reduce: expected a loop variable");
  CHECK(body, "reduce: the body is missing");
  const std::optional<std::string> mistake = find_reduce_error(kind, body.dtype());
  CHECK(!mistake, *mistake);
  const Expr count = extent(index.var());
  if (count.is_int(0)) {
    const Scalar value = neutral(kind, body.dtype());
    return is_float(value.dtype) ? real(value.real, value.dtype)
                                 : integer(value.integer, value.dtype);
  }
  const uint64_t payload = static_cast<uint64_t>(kind) << 32 | index.var().value;
  return intern({ExprKind::reduce, body.dtype(), {body.id(), count.id(), kNone}, payload});
}

std::optional<std::string> find_reduce_error(ReduceKind kind, DType dtype) {
  const bool is_logical = kind == ReduceKind::any || kind == ReduceKind::all;
  if (is_computed(dtype) && (dtype == DType::b8) == is_logical) return std::nullopt;
  return fmt::format("reduce_{}: expected {}, got {}", name(kind),
                     is_logical ? "b8" : "f32, f64 or integers", to_text(dtype));
}

DType result_dtype(ExprKind kind, std::span<const Expr> operands, std::optional<DType> dtype) {
  if (kind_info(kind).group == Group::compare) return DType::b8;
  if (kind == ExprKind::select) return operands[1].dtype();
  return kind == ExprKind::cast ? *dtype : operands[0].dtype();
}

std::optional<std::string> find_type_error(ExprKind kind, std::span<const Expr> operands,
                                           std::optional<DType> dtype) {
  const KindInfo& info = kind_info(kind);
  if (info.group == Group::leaf || kind == ExprKind::load || kind == ExprKind::reduce) {
    return fmt::format("{} is not built from operands alone", info.name);
  }
  if (operands.size() != static_cast<size_t>(info.arity)) {
    return fmt::format("{}: expected {} operands, got {}", info.name, info.arity, operands.size());
  }
  for (const Expr& operand : operands) {
    if (!operand) return fmt::format("{}: an operand is missing", info.name);
    if (&operand.pool() != &operands[0].pool()) {
      return fmt::format("{}: operands of different pools", info.name);
    }
  }
  const DType type = operands[0].dtype();
  const auto wrong = [&](std::string_view expected) {
    return fmt::format("{}: expected {}, got {}", info.name, expected, to_text(type));
  };
  if (kind == ExprKind::cast) {
    if (!dtype) return "cast: the type to cast to is missing";
    const auto castable = [](DType t) { return is_integral(t) || is_float(t); };
    if (!castable(type) || !castable(*dtype)) return wrong("numbers");
    return std::nullopt;
  }
  if (kind == ExprKind::select) {
    if (type != DType::b8) return wrong("a b8 condition");
    if (operands[1].dtype() == operands[2].dtype()) return std::nullopt;
    return fmt::format("select: expected two values of one type, got {} and {}",
                       to_text(operands[1].dtype()), to_text(operands[2].dtype()));
  }
  if (operands.size() == 2 && operands[1].dtype() != type) {
    return fmt::format("{}: expected operands of one type, got {} and {}", info.name, to_text(type),
                       to_text(operands[1].dtype()));
  }
  const bool ordered = kind == ExprKind::min || kind == ExprKind::max;
  switch (info.group) {
    case Group::arithmetic:
      if (!is_computed(type) || (type == DType::b8 && !ordered)) {
        return wrong("f32, f64 or integers (cast storage types first)");
      }
      break;
    case Group::compare:
      if (kind == ExprKind::is_nan || kind == ExprKind::is_inf) {
        if (!is_float(type) || !is_computed(type)) return wrong("f32 or f64");
      } else if (!is_computed(type)) {
        return wrong("f32, f64, integers or b8 (cast storage types first)");
      }
      break;
    case Group::float_math:
      if (!is_float(type) || !is_computed(type)) return wrong("f32 or f64");
      break;
    case Group::logic:
      if (type != DType::b8) return wrong("b8");
      break;
    case Group::bits:
      if (!is_int(type)) return wrong("integers");
      break;
    case Group::leaf:
    case Group::special:
      INGOT_UNREACHABLE();
  }
  return std::nullopt;
}

Expr ExprPool::make(ExprKind kind, std::span<const Expr> operands, std::optional<DType> dtype) {
  const std::optional<std::string> mistake = find_type_error(kind, operands, dtype);
  if (mistake && TypeMistakes::current() != nullptr) {
    TypeMistakes::current()->add(*mistake);
    const DType type = compute_dtype(result_dtype(kind, operands, dtype));
    return is_float(type) ? real(0, type) : integer(0, type);
  }
  CHECK(!mistake, *mistake);
  CHECK(&operands[0].pool() == this, name(kind), ": operands of another pool");
  Node node = leaf(kind, result_dtype(kind, operands, dtype), 0);
  for (size_t k = 0; k < operands.size(); ++k) node.operands[k] = operands[k].id();
  return simplify(*this, node);
}

int compare(Expr a, Expr b) {
  // Walks down the first operands that differ: expressions are shared, so no branching.
  while (true) {
    if (a == b) return 0;
    if (!a || !b) return a ? 1 : -1;
    const ExprPool::Node& x = a.pool().node(a.id());
    const ExprPool::Node& y = b.pool().node(b.id());
    if (const int c = order(rank_of(x.kind), rank_of(y.kind))) return c;
    if (const int c = order(x.dtype, y.dtype)) return c;
    if (x.kind == ExprKind::symbol) {
      const ExprPool& of_a = a.pool();
      const ExprPool& of_b = b.pool();
      return of_a.symbol_info(a.symbol()).name.compare(of_b.symbol_info(b.symbol()).name);
    }
    if (const int c = order(x.payload, y.payload)) return c;
    int k = 0;
    while (k < 3 && a.operand(k) == b.operand(k)) ++k;
    if (k == 3) return 0;
    const Expr next_a = a.operand(k);
    b = b.operand(k);
    a = next_a;
  }
}

// ---- notation --------------------------------------------------------------------------------

Expr binary(ExprKind kind, Expr a, Expr b) {
  CHECK(a && b, name(kind), ": an operand is missing");
  const Expr operands[] = {a, b};
  return a.pool().make(kind, operands);
}

Expr unary(ExprKind kind, Expr a) {
  CHECK(a, name(kind), ": the operand is missing");
  const Expr operands[] = {a};
  return a.pool().make(kind, operands);
}

namespace {

Expr number_like(Expr a, int64_t value) {
  if (is_float(a.dtype())) return a.pool().real(static_cast<double>(value), a.dtype());
  return a.pool().integer(value, a.dtype());
}

}  // namespace

Expr operator+(Expr a, Expr b) {
  return binary(ExprKind::add, a, b);
}
Expr operator-(Expr a, Expr b) {
  return binary(ExprKind::sub, a, b);
}
Expr operator*(Expr a, Expr b) {
  return binary(ExprKind::mul, a, b);
}
Expr operator/(Expr a, Expr b) {
  return binary(ExprKind::div, a, b);
}
Expr operator-(Expr a) {
  return unary(ExprKind::neg, a);
}
Expr operator+(Expr a, int64_t b) {
  return a + number_like(a, b);
}
Expr operator-(Expr a, int64_t b) {
  return a - number_like(a, b);
}
Expr operator*(Expr a, int64_t b) {
  return a * number_like(a, b);
}
Expr floordiv(Expr a, Expr b) {
  return binary(ExprKind::floordiv, a, b);
}
Expr floordiv(Expr a, int64_t b) {
  return floordiv(a, number_like(a, b));
}
Expr floormod(Expr a, Expr b) {
  return binary(ExprKind::floormod, a, b);
}
Expr floormod(Expr a, int64_t b) {
  return floormod(a, number_like(a, b));
}
Expr ceildiv(Expr a, int64_t b) {
  return floordiv(a + (b - 1), b);
}
Expr min(Expr a, Expr b) {
  return binary(ExprKind::min, a, b);
}
Expr max(Expr a, Expr b) {
  return binary(ExprKind::max, a, b);
}
Expr pow(Expr a, Expr b) {
  return binary(ExprKind::pow, a, b);
}
Expr equal(Expr a, Expr b) {
  return binary(ExprKind::eq, a, b);
}
Expr less(Expr a, Expr b) {
  return binary(ExprKind::lt, a, b);
}
Expr less_equal(Expr a, Expr b) {
  return binary(ExprKind::le, a, b);
}
Expr logical_and(Expr a, Expr b) {
  return binary(ExprKind::logical_and, a, b);
}
Expr logical_or(Expr a, Expr b) {
  return binary(ExprKind::logical_or, a, b);
}
Expr logical_not(Expr a) {
  return unary(ExprKind::logical_not, a);
}

Expr select(Expr condition, Expr a, Expr b) {
  CHECK(condition, "select: the condition is missing");
  const Expr operands[] = {condition, a, b};
  return condition.pool().make(ExprKind::select, operands);
}

Expr cast(Expr a, DType dtype) {
  CHECK(a, "cast: the operand is missing");
  const Expr operands[] = {a};
  return a.pool().make(ExprKind::cast, operands, dtype);
}

Expr exp(Expr a) {
  return unary(ExprKind::exp, a);
}
Expr log(Expr a) {
  return unary(ExprKind::log, a);
}
Expr sqrt(Expr a) {
  return unary(ExprKind::sqrt, a);
}
Expr tanh(Expr a) {
  return unary(ExprKind::tanh, a);
}
Expr erf(Expr a) {
  return unary(ExprKind::erf, a);
}

}  // namespace ingot
