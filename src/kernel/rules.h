// kernel/rules.h: simplification: one table of rewrite rows, and the arithmetic of index
// expressions.
#pragma once

#include <span>
#include <string_view>

#include "kernel/expr.h"

namespace ingot {

/// The simplest known equal of a node whose operands are simple already. Called by
/// ExprPool::make; returns an interned expression.
Expr simplify(ExprPool& pool, const ExprPool::Node& node);

/// The dtypes for which a row holds.
enum class RuleTypes : uint8_t { any, integers, floats, booleans };

/// What the variables x, y, w, the condition z and the constants c, d of a pattern stand for.
struct Match {
  Expr x, y, w, z, c, d;
};

/// pattern -> result, written in the language of to_text. x, y and w match values of the row's
/// types (twice the same name: the same expression), z matches a b8, c and d match constants.
struct Rule {
  std::string_view name;
  RuleTypes types;
  std::string_view pattern;
  std::string_view result;
  bool (*when)(const Match&) = nullptr;
};

/// All rows, in the order in which they are tried.
std::span<const Rule> rules();

/// The expression that a row's pattern or result stands for; `simplified` says whether it is built
/// with make() or as it is written.
Expr instantiate(std::string_view text, ExprPool& pool, const Match& match, bool simplified);

/// The match of a row against the root of an expression, if there is one and the condition holds.
std::optional<Match> match(const Rule& rule, Expr root);

}  // namespace ingot
