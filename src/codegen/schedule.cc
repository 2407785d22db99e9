// codegen/schedule.cc: order of loops, where reductions run, what is vectorised and what parallel.
#include "codegen/schedule.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/check.h"

namespace ingot {
namespace {

/// Elements of one work unit of a kernel that is a single long loop: 4 KiB of f32 stays in L1
/// together with two inputs, and is some hundred nanoseconds of work.
constexpr int64_t kBlock = 1024;
/// The same for a loop whose every element runs a reduction.
constexpr int64_t kReducingBlock = 64;
/// Largest scratch row in elements: 64 KiB of f32, a quarter of a usual L2.
constexpr int64_t kMaxRow = 16384;

using VarSet = std::set<VarId>;

/// The loop variables an expression depends on, without those its reductions bind. Memoised.
class FreeVars {
 public:
  const VarSet& of(Expr expr) {
    const auto [at, fresh] = memo_.try_emplace(expr.id());
    if (!fresh) return at->second;
    VarSet vars;
    if (expr.kind() == ExprKind::index) vars.insert(expr.var());
    for (int k = 0; k < 3; ++k) {
      if (const Expr operand = expr.operand(k)) {
        const VarSet& more = of(operand);
        vars.insert(more.begin(), more.end());
      }
    }
    if (expr.kind() == ExprKind::reduce) vars.erase(expr.var());
    return memo_[expr.id()] = std::move(vars);
  }

 private:
  std::unordered_map<uint32_t, VarSet> memo_;
};

bool contains(const VarSet& outer, const VarSet& inner) {
  return std::ranges::includes(outer, inner);
}

/// Reduce nodes of an expression, those nested inside others first.
std::vector<Expr> reductions(std::span<const Expr> roots) {
  std::vector<Expr> found;
  std::set<uint32_t> seen;
  for (const Expr& root : roots) {
    for_each(root, [&](Expr e) {
      if (e.kind() == ExprKind::reduce && seen.insert(e.id()).second) found.push_back(e);
    });
  }
  return found;
}

/// One store of the nest.
struct Output {
  uint32_t buffer;
  Expr offset;
  Expr value;
  Expr predicate;
};

/// A loop of the output space.
struct Axis {
  Expr index;
  Expr extent;
};

bool is_transcendental(ExprKind kind) {
  switch (kind) {
    case ExprKind::exp:
    case ExprKind::log:
    case ExprKind::sin:
    case ExprKind::cos:
    case ExprKind::tan:
    case ExprKind::asin:
    case ExprKind::acos:
    case ExprKind::atan:
    case ExprKind::sinh:
    case ExprKind::cosh:
    case ExprKind::tanh:
    case ExprKind::asinh:
    case ExprKind::acosh:
    case ExprKind::atanh:
    case ExprKind::erf:
    case ExprKind::sigmoid:
    case ExprKind::pow:
      return true;
    default:
      return false;
  }
}

// ---- 1. merging dims --------------------------------------------------------------------------

/// Divisions and remainders that depend on a loop variable.
int64_t count_divisions(std::span<const Output> outputs) {
  FreeVars free;
  std::set<uint32_t> seen;
  int64_t count = 0;
  for (const Output& out : outputs) {
    for (const Expr& root : {out.offset, out.value, out.predicate}) {
      if (!root) continue;
      for_each(root, [&](Expr e) {
        const bool division = e.kind() == ExprKind::floordiv || e.kind() == ExprKind::floormod;
        if (division && e.dtype() == DType::i64 && seen.insert(e.id()).second &&
            !free.of(e).empty()) {
          ++count;
        }
      });
    }
  }
  return count;
}

class Space {
 public:
  /// The space of the outputs `numbers`, which have the same dims.
  Space(Region& region, std::vector<size_t> numbers)
      : region_(region), pool_(region.pool()), numbers_(std::move(numbers)) {
    const Graph& body = region.body();
    const ValueId first = body.outputs()[numbers_[0]].value;
    const NodeId producer = body.value(first).producer;
    CHECK(producer.valid(), "a region computes its outputs");
    const Node& node = body.node(producer);
    if (node.op.def().lower_scatter != nullptr) {
      scatter_ = producer;
      std::vector<Type> types;
      for (ValueId input : node.inputs) types.push_back(body.type(input));
      dims_ = node.op.def().scatter_domain(node.op.data(), types);
    } else {
      dims_ = body.tensor(first).dims;
    }
  }

  /// Merges neighbours from the inside out as long as that brings no division.
  void build(std::vector<Axis>& axes, std::vector<Output>& outputs) {
    for (size_t k = 0; k < dims_.size(); ++k) groups_.push_back({k, k + 1});
    evaluate(axes, outputs);
    int64_t divisions = count_divisions(outputs);
    for (size_t g = groups_.size(); g-- > 1;) {
      const auto before = groups_;
      groups_[g - 1].second = groups_[g].second;
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(g));
      std::vector<Axis> merged_axes;
      std::vector<Output> merged;
      evaluate(merged_axes, merged);
      if (const int64_t now = count_divisions(merged); now <= divisions) {
        divisions = now;
        axes = std::move(merged_axes);
        outputs = std::move(merged);
      } else {
        groups_ = before;
      }
    }
  }

 private:
  void evaluate(std::vector<Axis>& axes, std::vector<Output>& outputs) {
    axes.clear();
    outputs.clear();
    Exprs index(dims_.size(), pool_.integer(0));
    for (const auto& [first, last] : groups_) {
      Expr extent = pool_.integer(1);
      for (size_t k = first; k < last; ++k) extent = extent * dims_[k];
      if (extent.is_int(1)) continue;
      const Expr var = pool_.fresh_index(extent);
      axes.push_back({var, extent});
      Expr rest = var;
      for (size_t k = last; k-- > first;) {
        index[k] = k == first ? rest : floormod(rest, dims_[k]);
        rest = k == first ? rest : floordiv(rest, dims_[k]);
      }
    }
    if (scatter_.valid()) {
      const Scatter s = region_.scatter(scatter_, index);
      const uint32_t buffer = region_.output_buffer(numbers_[0]);
      outputs.push_back(
          {buffer, s.offset, cast(s.value, region_.buffers()[buffer].dtype), s.predicate});
      return;
    }
    for (size_t k : numbers_) {
      const TensorType& type = region_.body().tensor(region_.body().outputs()[k].value);
      outputs.push_back({region_.output_buffer(k), Region::offset(type, index, pool_),
                         region_.stored(k, index), Expr{}});
    }
  }

  Region& region_;
  ExprPool& pool_;
  std::vector<size_t> numbers_;
  NodeId scatter_;
  Exprs dims_;
  std::vector<std::pair<size_t, size_t>> groups_;
};

// ---- 3. what is contiguous --------------------------------------------------------------------

/// How many loads of an expression move by 0 or 1 with a variable, less those that jump.
int64_t contiguity(Expr root, VarId var) {
  int64_t score = 0;
  for_each(root, [&](Expr e) {
    if (e.kind() != ExprKind::load || !depends_on(e.operand(0), var)) return;
    const auto stride = stride_of(e.operand(0), var);
    score += stride && stride->is_int(1) ? 1 : -1;
  });
  return score;
}

// ---- the nest ---------------------------------------------------------------------------------

class Nest {
 public:
  /// `own_row`: a buffer that belongs to the innermost axis and may hold what is kept for it.
  Nest(ExprPool& pool, std::vector<Axis> axes, std::vector<Output> outputs, ScratchNumbers& numbers,
       std::optional<uint32_t> own_row = std::nullopt)
      : pool_(pool),
        axes_(std::move(axes)),
        outputs_(std::move(outputs)),
        numbers_(numbers),
        own_row_(own_row) {
    order_axes();
    choose_vector();
    find_rows();
  }

  Block build(const VarSet& known = {}) {
    Block block;
    open_axis(block, 0, known);
    return block;
  }

 private:
  // A loop that many reductions need runs outside; the order of the others is kept.
  void order_axes() {
    std::vector<Expr> roots;
    for (const Output& out : outputs_) roots.push_back(out.value);
    reductions_ = reductions(roots);
    if (!axes_.empty()) last_ = axes_.back().index.var();
    const auto weight = [&](const Axis& axis) {
      return std::ranges::count_if(reductions_,
                                   [&](Expr r) { return free_.of(r).contains(axis.index.var()); });
    };
    std::ranges::stable_sort(axes_, std::greater<>(), weight);
  }

  void choose_vector() {
    if (axes_.empty()) return;
    bool reductions_prefer_themselves = false;
    for (const Expr& r : reductions_) {
      if (!free_.of(r).contains(last_)) continue;
      reductions_prefer_themselves |=
          contiguity(r.operand(0), r.var()) > 0 && contiguity(r.operand(0), last_) <= 0;
    }
    if (reductions_prefer_themselves) return;
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k].index.var() == last_ && !axes_[k].extent.is_int(1)) vector_axis_ = k;
    }
  }

  // A transcendental of a reduction's body that the last axis computes again, variable for
  // variable, is stored to a row by the reduction and read by the axis.
  void find_rows() {
    if (axes_.empty() || !vector_axis_) return;
    const Axis& axis = axes_.back();
    if (axis.index.var() != last_) return;
    const auto longest = range_of(axis.extent).hi;
    for (const Expr& r : reductions_) {
      if (free_.of(r).contains(last_) || !(r.operand(1) == axis.extent)) continue;
      std::vector<Expr> candidates;
      for_each(r.operand(0), [&](Expr e) {
        if (is_transcendental(e.kind()) && depends_on(e, r.var())) candidates.push_back(e);
      });
      if (candidates.empty()) continue;
      const Expr inside = candidates.back();
      const Expr outside = substitute(inside, pool_, [&](Expr e) -> std::optional<Expr> {
        if (e.kind() == ExprKind::index && e.var() == r.var()) return axis.index;
        return std::nullopt;
      });
      bool used = false;
      for (const Output& out : outputs_) {
        for_each(out.value, [&](Expr e) { used |= e == outside; });
      }
      const bool kept = std::ranges::any_of(
          rows_, [&](const auto& row) { return row.second.outside == outside; });
      if (!used || kept) continue;
      if (own_row_ && may_overwrite(*own_row_, r, inside, outside)) {
        rows_[r.id()] = {*own_row_, inside, outside, Expr{}};
        own_row_.reset();
      } else if (longest <= kMaxRow) {
        rows_[r.id()] = {numbers_.buffer++, inside, outside, axis.extent};
      }
    }
  }

  /// Whether nothing is read of `row` once the reduction `r` has stored `inside` over it.
  bool may_overwrite(uint32_t row, Expr r, Expr inside, Expr outside) {
    const auto reads = [&](Expr root, Expr kept) {
      const Expr rest = substitute(root, pool_, [&](Expr e) -> std::optional<Expr> {
        if (e != kept && (e.kind() != ExprKind::reduce || e == root)) return std::nullopt;
        return is_float(e.dtype()) ? pool_.real(0, e.dtype()) : pool_.integer(0, e.dtype());
      });
      bool found = false;
      for_each(rest, [&](Expr e) { found |= e.kind() == ExprKind::load && e.buffer() == row; });
      return found;
    };
    if (r.dtype() != DType::f32 || inside.dtype() != DType::f32) return false;
    const std::vector<Expr> earlier = reductions(std::array{r});
    for (const Expr& other : reductions_) {
      if (std::ranges::find(earlier, other) == earlier.end() && reads(other, Expr{})) return false;
    }
    return !reads(r, inside) && std::ranges::none_of(outputs_, [&](const Output& out) {
      return reads(out.value, outside);
    });
  }

  struct Row {
    uint32_t buffer;
    Expr inside;   // in the reduction's variable
    Expr outside;  // in the axis' variable
    Expr extent;   // of a buffer of its own
  };

  void open_axis(Block& block, size_t depth, const VarSet& known) {
    for (const Output& out : outputs_) reduce_what_is_known(block, out.value, known);
    if (depth == axes_.size()) {
      for (const Output& out : outputs_) {
        block.push_back({Store{out.buffer, out.offset, rewrite(out.value),
                               out.predicate ? rewrite(out.predicate) : Expr{}}});
      }
      return;
    }
    const Axis& axis = axes_[depth];
    Loop loop{axis.index.var(), axis.extent, LoopMode::serial, {}};
    const bool vector = vector_axis_ == depth;
    if (vector) loop.mode = LoopMode::vector;
    VarSet inner = known;
    inner.insert(axis.index.var());
    in_vector_ += vector ? 1 : 0;
    open_axis(loop.body, depth + 1, inner);
    in_vector_ -= vector ? 1 : 0;
    block.push_back({std::move(loop)});
  }

  /// Runs every reduction of `root` whose variables are known and that has not run yet.
  void reduce_what_is_known(Block& block, Expr root, const VarSet& known) {
    const Expr roots[] = {root};
    for (const Expr& r : reductions(roots)) {
      if (!locals_.contains(r.id()) && contains(known, free_.of(r))) reduce(block, r, known);
    }
  }

  void reduce(Block& block, Expr r, const VarSet& known) {
    ReduceLoop loop;
    loop.var = r.var();
    loop.extent = r.operand(1);
    VarSet inner = known;
    inner.insert(r.var());
    const bool innermost = std::ranges::none_of(reductions(std::array{r.operand(0)}),
                                                [&](Expr e) { return !locals_.contains(e.id()); });
    const bool vector = in_vector_ == 0 && innermost && contiguity(r.operand(0), r.var()) >= 0;
    if (vector) loop.mode = LoopMode::vector;
    in_vector_ += vector ? 1 : 0;
    reduce_what_is_known(loop.body, r.operand(0), inner);
    if (const auto row = rows_.find(r.id()); row != rows_.end()) {
      const Row& it = row->second;
      const Expr value = rewrite(it.inside);
      if (it.extent) block.push_back({Alloc{it.buffer, it.inside.dtype(), it.extent}});
      const Expr index = index_expr(r.var());
      const LocalId local = fresh_local();
      loop.body.push_back({Let{local, value}});
      loop.body.push_back({Store{it.buffer, index, pool_.local(local, value.dtype()), Expr{}}});
      replaced_[it.inside.id()] = pool_.local(local, value.dtype());
    }
    in_vector_ -= vector ? 1 : 0;
    const LocalId local = fresh_local();
    loop.accumulators.push_back({local, r.reduce_kind(), rewrite(r.operand(0))});
    block.push_back({std::move(loop)});
    locals_.emplace(r.id(), pool_.local(local, r.dtype()));
    if (const auto row = rows_.find(r.id()); row != rows_.end()) {
      replaced_.erase(row->second.inside.id());
      const Row& it = row->second;
      replaced_[it.outside.id()] = pool_.load(it.buffer, it.outside.dtype(), axes_.back().index);
    }
  }

  Expr index_expr(VarId var) {
    return pool_.intern({ExprKind::index,
                         DType::i64,
                         {ExprPool::kNone, ExprPool::kNone, ExprPool::kNone},
                         var.value});
  }

  LocalId fresh_local() { return LocalId(numbers_.local++); }

  /// The expression with reductions that ran replaced by their locals.
  Expr rewrite(Expr root) {
    return substitute(root, pool_, [&](Expr e) -> std::optional<Expr> {
      if (const auto at = replaced_.find(e.id()); at != replaced_.end()) return at->second;
      if (e.kind() != ExprKind::reduce) return std::nullopt;
      const auto at = locals_.find(e.id());
      CHECK(at != locals_.end(), "a reduction ran before its use");
      return at->second;
    });
  }

  ExprPool& pool_;
  std::vector<Axis> axes_;
  std::vector<Output> outputs_;
  std::vector<Expr> reductions_;
  VarId last_;
  std::optional<size_t> vector_axis_;
  FreeVars free_;
  std::unordered_map<uint32_t, Expr> locals_;
  std::unordered_map<uint32_t, Expr> replaced_;
  std::unordered_map<uint32_t, Row> rows_;
  ScratchNumbers& numbers_;
  std::optional<uint32_t> own_row_;
  int in_vector_ = 0;
};

// ---- 4. parallel loops ------------------------------------------------------------------------

bool has_reduction(const Block& block) {
  return std::ranges::any_of(block, [](const Stmt& s) {
    if (std::holds_alternative<ReduceLoop>(s.is)) return true;
    if (const auto* loop = std::get_if<Loop>(&s.is)) return has_reduction(loop->body);
    return false;
  });
}

Block substitute_index(const Block& block, ExprPool& pool, VarId var, Expr by) {
  const auto at = [&](Expr e) {
    if (!e) return e;
    return substitute(e, pool, [&](Expr x) -> std::optional<Expr> {
      if (x.kind() == ExprKind::index && x.var() == var) return by;
      return std::nullopt;
    });
  };
  const auto inside = [&](const Block& b) { return substitute_index(b, pool, var, by); };
  Block result;
  for (const Stmt& stmt : block) {
    result.push_back(std::visit(
        [&]<class T>(const T& s) -> Stmt {
          if constexpr (std::is_same_v<T, Loop>) {
            return {Loop{s.var, at(s.extent), s.mode, inside(s.body)}};
          } else if constexpr (std::is_same_v<T, ReduceLoop>) {
            ReduceLoop copy{s.var, at(s.extent), s.mode, inside(s.body), s.accumulators};
            for (Accumulator& a : copy.accumulators) a.value = at(a.value);
            return {std::move(copy)};
          } else if constexpr (std::is_same_v<T, Let>) {
            return {Let{s.local, at(s.value)}};
          } else if constexpr (std::is_same_v<T, Store>) {
            return {Store{s.buffer, at(s.offset), at(s.value), at(s.predicate)}};
          } else if constexpr (std::is_same_v<T, Alloc>) {
            return {Alloc{s.buffer, s.dtype, at(s.elements)}};
          } else {
            return {If{at(s.condition), inside(s.body)}};
          }
        },
        stmt.is));
  }
  return result;
}

/// Cuts the loop into blocks: an outer loop over blocks and the old one inside a block.
void cut(Loop& loop, ExprPool& pool, int64_t block_size) {
  const Expr block = pool.fresh_index(ceildiv(loop.extent, block_size));
  const Expr first = block * block_size;
  const Expr extent = min(pool.integer(block_size), loop.extent - first);
  const Expr inner = pool.fresh_index(extent);
  Loop rest{inner.var(), extent, loop.mode,
            substitute_index(loop.body, pool, loop.var, first + inner)};
  loop = Loop{block.var(), ceildiv(loop.extent, block_size), LoopMode::parallel, {}};
  loop.body.push_back({std::move(rest)});
}

void mark_parallel(Block& block, ExprPool& pool) {
  Block* at = &block;
  bool outermost = true;
  while (at->size() == 1) {
    Loop* loop = std::get_if<Loop>(&(*at)[0].is);
    if (loop == nullptr) return;
    if (loop->mode == LoopMode::vector) {
      const int64_t size = has_reduction(loop->body) ? kReducingBlock : kBlock;
      const bool worth_it = range_of(loop->extent).hi > size;
      // A vector loop inside parallel loops is cut only where rows may be very long.
      if (worth_it && (outermost || has_reduction(loop->body))) cut(*loop, pool, size);
      return;
    }
    loop->mode = LoopMode::parallel;
    at = &loop->body;
    outermost = false;
  }
}

// ---- work -------------------------------------------------------------------------------------

/// Nanoseconds, times 16, that one evaluation of an expression takes on an ordinary core.
int64_t cost_of(Expr root, bool vector) {
  int64_t cost = 0;
  for_each(root, [&](Expr e) {
    if (e.kind() == ExprKind::load) {
      cost += vector ? 4 : 8;
    } else if (is_transcendental(e.kind())) {
      cost += vector ? 16 : 120;
    } else if (e.dtype() != DType::i64) {
      cost += vector ? 1 : 4;
    }
  });
  return std::max<int64_t>(cost, 1);
}

Expr block_cost(const Block& block, ExprPool& pool, bool vector) {
  Expr sum = pool.integer(0);
  for (const Stmt& stmt : block) {
    if (const auto* loop = std::get_if<Loop>(&stmt.is)) {
      const Expr inner = block_cost(loop->body, pool, vector || loop->mode == LoopMode::vector);
      sum = sum + (loop->mode == LoopMode::parallel ? inner : loop->extent * inner);
    } else if (const auto* reduction = std::get_if<ReduceLoop>(&stmt.is)) {
      const bool lanes = vector || reduction->mode == LoopMode::vector;
      Expr inner = block_cost(reduction->body, pool, lanes);
      for (const Accumulator& a : reduction->accumulators) inner = inner + cost_of(a.value, lanes);
      sum = sum + reduction->extent * inner;
    } else if (const auto* let = std::get_if<Let>(&stmt.is)) {
      sum = sum + cost_of(let->value, vector);
    } else if (const auto* store = std::get_if<Store>(&stmt.is)) {
      sum = sum + (cost_of(store->value, vector) + 4);
    } else if (const auto* branch = std::get_if<If>(&stmt.is)) {
      sum = sum + block_cost(branch->body, pool, vector);
    }
  }
  return sum;
}

}  // namespace

namespace {

/// Numbers of outputs that share their dims, in order of the first; a scattering one stands alone.
std::vector<std::vector<size_t>> same_space(const Graph& body) {
  std::vector<std::vector<size_t>> groups;
  for (size_t k = 0; k < body.outputs().size(); ++k) {
    const Type& type = body.type(body.outputs()[k].value);
    const auto fits = [&](const std::vector<size_t>& group) {
      const Type& other = body.type(body.outputs()[group[0]].value);
      return type.is_tensor() && other.is_tensor() && type.tensor.dims == other.tensor.dims;
    };
    const auto at = std::ranges::find_if(groups, fits);
    if (at == groups.end()) {
      groups.push_back({k});
    } else {
      at->push_back(k);
    }
  }
  return groups;
}

}  // namespace

Kernel schedule(Region& region, std::string name, std::vector<std::string> provenance) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.provenance = std::move(provenance);
  kernel.buffers = region.buffers();
  kernel.pool = region.body().shared_pool();
  const auto groups = same_space(region.body());
  ScratchNumbers numbers{static_cast<uint32_t>(region.buffers().size()), 0};
  for (const std::vector<size_t>& group : groups) {
    std::vector<Axis> axes;
    std::vector<Output> outputs;
    Space(region, group).build(axes, outputs);
    // Without elements there is nothing to store, and what stands in front of the loops may read
    // from tensors that are empty too.
    const auto is_empty = [](const Axis& axis) { return axis.extent.is_int(0); };
    if (std::ranges::any_of(axes, is_empty)) continue;
    Nest nest(region.pool(), std::move(axes), std::move(outputs), numbers);
    for (Stmt& stmt : nest.build()) kernel.body.push_back(std::move(stmt));
  }
  if (groups.size() == 1) mark_parallel(kernel.body, region.pool());
  return kernel;
}

Block schedule_row(ExprPool& pool, Expr value, Expr lane, Expr extent, uint32_t row,
                   ScratchNumbers& numbers) {
  VarSet known = FreeVars().of(value);
  known.erase(lane.var());
  std::vector<Output> outputs = {{row, lane, value, Expr{}}};
  return Nest(pool, {{lane, extent}}, std::move(outputs), numbers, row).build(known);
}

Expr estimate_unit_ns(const Kernel& kernel) {
  ExprPool& pool = *kernel.pool;
  // A block that was cut off may be shorter than the others: take its full size.
  const Expr cost = block_cost(kernel.body, pool, false);
  const Expr whole = substitute(cost, pool, [&](Expr e) -> std::optional<Expr> {
    if (e.kind() == ExprKind::index) return pool.integer(0);
    return std::nullopt;
  });
  return max(floordiv(whole, 16), pool.integer(1));
}

Expr unit_count(const Kernel& kernel) {
  Expr units = kernel.pool->integer(1);
  const Block* at = &kernel.body;
  while (at->size() == 1) {
    const Loop* loop = std::get_if<Loop>(&(*at)[0].is);
    if (loop == nullptr || loop->mode != LoopMode::parallel) break;
    units = units * loop->extent;
    at = &loop->body;
  }
  return units;
}

}  // namespace ingot
