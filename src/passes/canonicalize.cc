// passes/canonicalize.cc: one form for what can be said in several.
#include <algorithm>
#include <numeric>

#include "kernel/range.h"
#include "ops/broadcast_to.h"
#include "ops/concat.h"
#include "ops/indexing.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "passes/passes.h"

namespace ingot {
namespace {

using ops::BroadcastTo;
using ops::Concat;
using ops::Pad;
using ops::Pointwise;
using ops::Reduce;
using ops::Reshape;
using ops::Slice;
using ops::Transpose;

bool have_one_type(Rewriter& r, ValueId a, ValueId b) {
  return is_compatible(r.graph().type(a), r.graph().type(b));
}

template <class Op>
std::optional<ValueId> drop_if_same_type(Rewriter& r, NodeId root) {
  if (r.op<Op>(root) == nullptr) return std::nullopt;
  const ValueId x = r.input(root, 0);
  return have_one_type(r, x, r.output(root)) ? std::optional(x) : std::nullopt;
}

std::optional<ValueId> merge_reshapes(Rewriter& r, NodeId root) {
  const auto* outer = r.op<Reshape>(root);
  if (outer == nullptr || r.producer<Reshape>(r.input(root, 0)) == nullptr) return std::nullopt;
  return r.add(Reshape{outer->dims}, {r.source(r.input(root, 0))});
}

bool is_identity(const std::vector<int64_t>& order) {
  for (size_t a = 0; a < order.size(); ++a) {
    if (order[a] != static_cast<int64_t>(a)) return false;
  }
  return true;
}

std::optional<ValueId> drop_transpose(Rewriter& r, NodeId root) {
  const auto* op = r.op<Transpose>(root);
  if (op == nullptr || !is_identity(op->order)) return std::nullopt;
  return r.input(root, 0);
}

std::optional<ValueId> merge_transposes(Rewriter& r, NodeId root) {
  const auto* outer = r.op<Transpose>(root);
  if (outer == nullptr) return std::nullopt;
  const auto* inner = r.producer<Transpose>(r.input(root, 0));
  if (inner == nullptr) return std::nullopt;
  std::vector<int64_t> order;
  for (const int64_t axis : outer->order) order.push_back(inner->order[static_cast<size_t>(axis)]);
  const ValueId x = r.source(r.input(root, 0));
  return is_identity(order) ? x : r.add(Transpose{order}, {x});
}

std::optional<ValueId> merge_slices(Rewriter& r, NodeId root) {
  const auto* outer = r.op<Slice>(root);
  if (outer == nullptr) return std::nullopt;
  const auto* inner = r.producer<Slice>(r.input(root, 0));
  if (inner == nullptr) return std::nullopt;
  Slice merged{{}, outer->sizes, {}};
  for (size_t a = 0; a < outer->steps.size(); ++a) {
    merged.starts.push_back(inner->starts[a] + outer->starts[a] * inner->steps[a]);
    int64_t step = 0;
    if (__builtin_mul_overflow(inner->steps[a], outer->steps[a], &step)) return std::nullopt;
    if (step <= -kMaxDim || step >= kMaxDim) return std::nullopt;
    merged.steps.push_back(step);
  }
  return r.add(std::move(merged), {r.source(r.input(root, 0))});
}

std::optional<ValueId> drop_slice(Rewriter& r, NodeId root) {
  const auto* op = r.op<Slice>(root);
  if (op == nullptr || !have_one_type(r, r.input(root, 0), r.output(root))) return std::nullopt;
  for (size_t a = 0; a < op->steps.size(); ++a) {
    const bool whole = op->steps[a] == 1 && op->starts[a].is_int(0);
    if (!whole && !op->sizes[a].is_int(1)) return std::nullopt;
  }
  return r.input(root, 0);
}

/// Whether the elements start, start + step, ... start + reach of an axis lie within its dim. If
/// there are none, start may be one off.
bool lies_within(Prover& prover, Expr start, Expr reach, int64_t step, Expr dim) {
  if (range_of(start).lo > range_of(dim).hi) return false;  // without a proof
  const Expr zero = start.pool().integer(0);
  if (!prover.is_at_most(zero - 1, start) || !prover.is_at_most(start, dim)) return false;
  const Expr last = start + reach;  // cannot wrap around any more
  return prover.is_at_most(zero, step > 0 ? start : last) &&
         prover.is_less(step > 0 ? last : start, dim);
}

/// Where more are concatenated, the starts of slices are sums too long to compute with.
constexpr int64_t kMostUnknownParts = 16;

std::optional<ValueId> slice_of_concat(Rewriter& r, NodeId root) {
  const auto* op = r.op<Slice>(root);
  if (op == nullptr) return std::nullopt;
  const ValueId whole = r.input(root, 0);
  const auto* concat = r.producer<Concat>(whole);
  if (concat == nullptr) return std::nullopt;
  const size_t a = ops::front_axis(concat->axis, op->steps.size());
  const std::vector<ValueId>& parts = r.node(r.graph().value(whole).producer).inputs;
  const auto is_unknown = [&](ValueId part) { return !r.type(part).dims[a].as_int(); };
  if (std::ranges::count_if(parts, is_unknown) > kMostUnknownParts) return std::nullopt;

  const Expr reach = (op->sizes[a] - 1) * op->steps[a];
  Exprs dims = r.type(whole).dims;
  Slice inner = *op;
  Expr& start = inner.starts[a];
  Prover prover{start};
  for (const ValueId part : parts) {
    dims[a] = r.type(part).dims[a];
    if (r.type(part).dims == dims && lies_within(prover, start, reach, op->steps[a], dims[a])) {
      return r.add(std::move(inner), {part});
    }
    start = start - dims[a];
    if (range_of(start).hi < -1) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ValueId> drop_pad(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pad>(root);
  if (op == nullptr) return std::nullopt;
  const auto is_zero = [](Expr e) { return e.is_int(0); };
  if (!std::ranges::all_of(op->begin, is_zero) || !std::ranges::all_of(op->end, is_zero)) {
    return std::nullopt;
  }
  return r.input(root, 0);
}

std::optional<ValueId> simplify_concat(Rewriter& r, NodeId root) {
  const auto* op = r.op<Concat>(root);
  if (op == nullptr) return std::nullopt;
  const TensorType& type = r.type(r.output(root));
  const int64_t rank = type.rank();
  const int64_t axis = op->axis < 0 ? op->axis + rank : op->axis;
  std::vector<ValueId> parts;
  for (const ValueId input : r.node(root).inputs) {
    if (r.type(input).dims[static_cast<size_t>(axis)].is_int(0)) continue;
    const auto* inner = r.producer<Concat>(input);
    const bool same_axis =
        inner != nullptr && (inner->axis < 0 ? inner->axis + rank : inner->axis) == axis;
    if (same_axis && r.has_one_use(input)) {
      const auto& nested = r.node(r.graph().value(input).producer).inputs;
      parts.insert(parts.end(), nested.begin(), nested.end());
    } else {
      parts.push_back(input);
    }
  }
  if (parts.empty() || parts == r.node(root).inputs) {
    return r.node(root).inputs.size() == 1 ? std::optional(r.input(root, 0)) : std::nullopt;
  }
  if (parts.size() == 1)
    return have_one_type(r, parts[0], r.output(root)) ? std::optional(parts[0]) : std::nullopt;
  return r.add(Concat{axis}, std::move(parts));
}

std::optional<ValueId> drop_reduce(Rewriter& r, NodeId root) {
  const auto* op = r.op<Reduce>(root);
  if (op == nullptr || !op->axes.empty()) return std::nullopt;
  return have_one_type(r, r.input(root, 0), r.output(root)) ? std::optional(r.input(root, 0))
                                                            : std::nullopt;
}

std::optional<ValueId> drop_pointwise(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr || op->value.kind() != ExprKind::param) return std::nullopt;
  const ValueId x = r.input(root, op->value.payload());
  return have_one_type(r, x, r.output(root)) ? std::optional(x) : std::nullopt;
}

/// Inputs that the expression does not mention go, if the others alone have the dims of the result;
/// inputs that occur twice become one.
std::optional<ValueId> tidy_operands(Rewriter& r, NodeId root) {
  const auto* op = r.op<Pointwise>(root);
  if (op == nullptr) return std::nullopt;
  const std::vector<ValueId>& inputs = r.node(root).inputs;
  std::vector<bool> mentioned(inputs.size(), false);
  for_each(op->value, [&](Expr e) {
    if (e.kind() == ExprKind::param) mentioned[e.payload()] = true;
  });
  std::vector<ValueId> kept;
  std::vector<size_t> renamed(inputs.size());
  std::vector<Exprs> shapes;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!mentioned[k]) continue;
    const auto known = std::ranges::find(kept, inputs[k]);
    renamed[k] = static_cast<size_t>(known - kept.begin());
    if (known != kept.end()) continue;
    kept.push_back(inputs[k]);
    shapes.push_back(r.type(inputs[k]).dims);
  }
  if (kept.size() == inputs.size()) return std::nullopt;
  const auto dims = broadcast(shapes, nullptr);
  const TensorType& type = r.type(r.output(root));
  if (!dims || !is_compatible(Type(TensorType{type.dtype, *dims}), Type(type))) {
    return std::nullopt;
  }
  const Expr value = substitute(op->value, r.pool(), [&](Expr e) -> std::optional<Expr> {
    if (e.kind() != ExprKind::param) return std::nullopt;
    return r.pool().param(static_cast<uint32_t>(renamed[e.payload()]), e.dtype());
  });
  return r.add(Pointwise{value, op->dtype}, std::move(kept));
}

constexpr std::array kRules = {
    Rule{"drop_reshape", drop_if_same_type<Reshape>, "reshape to the dims there are -> x"},
    Rule{"merge_reshapes", merge_reshapes, "reshape(reshape(x)) -> reshape(x)"},
    Rule{"drop_transpose", drop_transpose, "transpose in the same order -> x"},
    Rule{"merge_transposes", merge_transposes, "transpose(transpose(x)) -> transpose(x) or x"},
    Rule{"drop_slice", drop_slice, "slice of everything -> x"},
    Rule{"merge_slices", merge_slices, "slice(slice(x)) -> slice(x)"},
    Rule{"slice_of_concat", slice_of_concat,
         "slice(concat(x, y)) -> slice(x), if it lies within x"},
    Rule{"drop_broadcast", drop_if_same_type<BroadcastTo>, "broadcast to the dims there are -> x"},
    Rule{"drop_pad", drop_pad, "pad by nothing -> x"},
    Rule{"simplify_concat", simplify_concat,
         "concat(x) -> x; concat(concat(x, y), z) -> concat(x, y, z); empty parts go"},
    Rule{"drop_reduce", drop_reduce, "reduce over no axes -> x"},
    Rule{"drop_pointwise", drop_pointwise, "cast to the type there is, or any p0 -> x"},
    Rule{"tidy_operands", tidy_operands, "operands not mentioned go, equal ones become one"},
};

// ---- Symbols -----------------------------------------------------------------------------------

/// Which symbols the assumptions equate with an older symbol or with a number.
class SymbolUnifier {
 public:
  explicit SymbolUnifier(ExprPool& pool) : pool_(pool), by_(pool.symbol_count()) {}

  /// The expression that stands for a symbol or constant so far.
  Expr find(Expr expr) const {
    while (expr.kind() == ExprKind::symbol && by_[expr.symbol().value]) {
      expr = by_[expr.symbol().value];
    }
    return expr;
  }

  void unify(Expr left, Expr right) {
    if (!is_simple(left) || !is_simple(right)) return;
    Expr a = find(left);
    Expr b = find(right);
    if (a == b || (a.as_int() && b.as_int())) return;
    if (a.as_int() || (b.kind() == ExprKind::symbol && b.symbol() > a.symbol())) std::swap(a, b);
    // Now a is a symbol, and b is a number or an older symbol. A contradiction stays for the run.
    const Symbol& info = std::as_const(pool_).symbol_info(a.symbol());
    if (const auto value = b.as_int()) {
      if (*value < info.range.lo || *value > info.range.hi || *value % info.divisor != 0) return;
    } else if (!narrow(pool_.symbol_info(b.symbol()), info)) {
      return;
    }
    by_[a.symbol().value] = b;
    any = true;
  }

  std::vector<Expr> resolved() const {
    std::vector<Expr> result(by_.size());
    for (size_t k = 0; k < by_.size(); ++k) {
      if (by_[k]) result[k] = find(by_[k]);
    }
    return result;
  }

  bool any = false;

 private:
  bool is_simple(Expr e) const {
    if (e.as_int()) return true;
    return e.kind() == ExprKind::symbol && e.symbol().value < by_.size() &&
           !std::as_const(pool_).symbol_info(e.symbol()).data_dependent;
  }

  static bool narrow(Symbol& kept, const Symbol& gone) {
    const Range range{std::max(kept.range.lo, gone.range.lo),
                      std::min(kept.range.hi, gone.range.hi)};
    const int64_t common = std::gcd(kept.divisor, gone.divisor);
    int64_t divisor = 0;
    if (range.lo > range.hi ||
        __builtin_mul_overflow(kept.divisor / common, gone.divisor, &divisor)) {
      return false;
    }
    kept.range = range;
    kept.divisor = divisor;
    return true;
  }

  ExprPool& pool_;
  std::vector<Expr> by_;
};

void unify_symbols(Graph& graph) {
  SymbolUnifier unifier(graph.pool());
  for (const Assumption& assumption : graph.assumptions()) {
    unifier.unify(assumption.a, assumption.b);
  }
  if (unifier.any) {
    // In dims that contradict each other a node may be impossible: then they stay for the run.
    Result<Graph> unified = replace_symbols(graph, unifier.resolved());
    if (!unified) return;
    graph = std::move(*unified);
  }
  std::erase_if(graph.assumptions(), [](const Assumption& assumption) {
    return provably_equal(assumption.a, assumption.b);
  });
}

}  // namespace

std::span<const Rule> canonical_rules() {
  return kRules;
}

std::vector<std::string_view> canonicalize_parts() {
  auto names = names_of(kRules);
  names.push_back("unify_symbols");
  return names;
}

void canonicalize(Graph& graph, const PassContext& context) {
  if (context.is_enabled("unify_symbols")) unify_symbols(graph);
  apply_rules(graph, kRules, context);
}

}  // namespace ingot
