// codegen/emit_gpu.cc: loop nests as kernels of a GPU language.
#include "codegen/emit_gpu.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "codegen/gpu_expr.h"

namespace ingot {
namespace {

/// Scratch of one thread that is kept in its registers or local memory.
constexpr int64_t kMaxPrivateBytes = 512;
/// Shared memory that reductions need beside scratch: a word of 8 bytes per warp, 8 accumulators.
constexpr int64_t kReductionBytes = int64_t{8} * 8 * 32;
/// Blocks of a launch that has scratch in global memory, which is as large as all of them need.
constexpr int64_t kMaxScratchBlocks = 1024;

// ---- What a statement touches

struct Touched {
  std::set<uint32_t> loaded;
  std::set<uint32_t> stored;
  std::set<SymbolId> symbols;
  std::set<VarId> vars;
  bool has_vector = false;  // a loop or reduction of mode vector
};

void touch(Expr root, Touched& touched) {
  if (!root) return;
  for_each(root, [&](Expr e) {
    if (e.kind() == ExprKind::load) touched.loaded.insert(e.buffer());
    if (e.kind() == ExprKind::symbol) touched.symbols.insert(e.symbol());
    if (e.kind() == ExprKind::index) touched.vars.insert(e.var());
  });
}

void touch(const Block& block, Touched& touched);

void touch(const Stmt& stmt, Touched& touched) {
  if (const auto* loop = std::get_if<Loop>(&stmt.is)) {
    touch(loop->extent, touched);
    touch(loop->body, touched);
    touched.has_vector |= loop->mode == LoopMode::vector;
  } else if (const auto* reduction = std::get_if<ReduceLoop>(&stmt.is)) {
    touch(reduction->extent, touched);
    touch(reduction->body, touched);
    for (const Accumulator& a : reduction->accumulators) touch(a.value, touched);
    touched.has_vector |= reduction->mode == LoopMode::vector;
  } else if (const auto* let = std::get_if<Let>(&stmt.is)) {
    touch(let->value, touched);
  } else if (const auto* store = std::get_if<Store>(&stmt.is)) {
    touch(store->offset, touched);
    touch(store->value, touched);
    touch(store->predicate, touched);
    touched.stored.insert(store->buffer);
  } else if (const auto* alloc = std::get_if<Alloc>(&stmt.is)) {
    touch(alloc->elements, touched);
  } else if (const auto* branch = std::get_if<If>(&stmt.is)) {
    touch(branch->condition, touched);
    touch(branch->body, touched);
  }
}

void touch(const Block& block, Touched& touched) {
  for (const Stmt& stmt : block) touch(stmt, touched);
}

Touched touched_by(const Stmt& stmt) {
  Touched touched;
  touch(stmt, touched);
  return touched;
}

Touched touched_by(Expr root) {
  Touched touched;
  touch(root, touched);
  return touched;
}

bool depends_on_any(Expr expr, const std::vector<const Loop*>& loops) {
  return std::ranges::any_of(loops, [&](const Loop* l) { return depends_on(expr, l->var); });
}

// ---- One launch

/// A nest: loops whose iterations are the units, and what each of them does.
struct Nest {
  std::vector<const Loop*> units;
  const Block* body = nullptr;
  bool is_cooperative = false;  // a block per unit
  int threads = 0;
};

/// Takes perfectly nested loops of one mode as units while their extents are the same everywhere.
void take_loops(LoopMode mode, Nest& nest) {
  while (nest.body->size() == 1) {
    const auto* loop = std::get_if<Loop>(&(*nest.body)[0].is);
    if (loop == nullptr || loop->mode != mode || depends_on_any(loop->extent, nest.units)) return;
    nest.units.push_back(loop);
    nest.body = &loop->body;
  }
}

/// The longest loop that the threads of a block share, as far as it is known.
int64_t longest_shared_loop(const Block& block) {
  int64_t longest = 0;
  for (const Stmt& stmt : block) {
    if (const auto* loop = std::get_if<Loop>(&stmt.is)) {
      const bool shared = loop->mode == LoopMode::vector;
      longest =
          std::max(longest, shared ? range_of(loop->extent).hi : longest_shared_loop(loop->body));
    } else if (const auto* reduction = std::get_if<ReduceLoop>(&stmt.is)) {
      const bool shared = reduction->mode == LoopMode::vector;
      longest = std::max(
          longest, shared ? range_of(reduction->extent).hi : longest_shared_loop(reduction->body));
    } else if (const auto* branch = std::get_if<If>(&stmt.is)) {
      longest = std::max(longest, longest_shared_loop(branch->body));
    }
  }
  return longest;
}

Nest plan_nest(const Block& block, const Dialect& dialect) {
  Nest nest;
  nest.body = &block;
  take_loops(LoopMode::parallel, nest);
  take_loops(LoopMode::vector, nest);
  Touched touched;
  touch(*nest.body, touched);
  const bool ends_in_vector = !nest.units.empty() && nest.units.back()->mode == LoopMode::vector;
  nest.is_cooperative = touched.has_vector && !ends_in_vector;
  nest.threads = dialect.threads_per_block;
  if (nest.is_cooperative) {
    // Whole warps, as many as have something to do.
    const int64_t longest = longest_shared_loop(*nest.body);
    const int64_t warps = longest / dialect.warp_size + (longest % dialect.warp_size != 0 ? 1 : 0);
    nest.threads = static_cast<int>(
        std::clamp<int64_t>(warps * dialect.warp_size, dialect.warp_size, nest.threads));
  }
  return nest;
}

/// Writes one nest as one function.
class LaunchEmitter {
 public:
  LaunchEmitter(const Kernel& kernel, const Dialect& dialect, const Block& block, std::string name)
      : kernel_(kernel),
        dialect_(dialect),
        pool_(*kernel.pool),
        nest_(plan_nest(block, dialect)),
        exprs_(out_) {
    launch_.name = std::move(name);
    launch_.threads = nest_.threads;
    launch_.units_per_block = nest_.is_cooperative ? 1 : nest_.threads;
    launch_.max_blocks = dialect.max_blocks;
    launch_.scratch_bytes = pool_.integer(0);
    Touched touched;
    touch(block, touched);
    take_parameters(touched);
    find_shared_state(touched);
  }

  Result<GpuLaunch> emit(std::string& text) {
    launch_.units = pool_.integer(1);
    for (const Loop* loop : nest_.units) launch_.units = launch_.units * loop->extent;
    write_body();
    if (!error_.empty()) return unsupported(error_);
    if (!launch_.scratch_bytes.is_int(0)) launch_.max_blocks = kMaxScratchBlocks;
    text += signature() + " " + out_.take();
    return launch_;
  }

 private:
  // ---- Parameters

  void take_parameters(const Touched& touched) {
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (!touched.loaded.contains(b) && !touched.stored.contains(b)) continue;
      launch_.buffers.push_back(b);
      exprs_.name_buffer(b, concat(to_identifier(kernel_.buffers[b].name), "_", b));
      check_type(kernel_.buffers[b].dtype, kernel_.buffers[b].name);
    }
    for (const SymbolId symbol : touched.symbols) {
      launch_.symbols.push_back(symbol);
      exprs_.name_symbol(symbol, symbol_name(symbol));
    }
  }

  std::string symbol_name(SymbolId symbol) const {
    return concat(to_identifier(pool_.symbol_info(symbol).name), "_s", symbol.value);
  }

  void check_type(DType dtype, std::string_view buffer) {
    if (!storage_type(dtype).empty()) return;
    error_ = concat(dialect_.name, ": kernel '", kernel_.name, "': buffer '", buffer, "' holds ",
                    to_text(dtype), ", which GPU kernels cannot hold yet");
  }

  std::string signature() const {
    std::string text = fill(dialect_.kernel, {{"threads", concat(nest_.threads)}});
    std::string_view separator = "";
    text += concat(" ", launch_.name, "(");
    for (const uint32_t b : launch_.buffers) {
      const BufferParam& buffer = kernel_.buffers[b];
      text += concat(separator, buffer.written ? "" : "const ", storage_type(buffer.dtype), "* ",
                     exprs_.buffer_name(b));
      separator = ", ";
    }
    for (const SymbolId symbol : launch_.symbols) {
      text += concat(separator, "gpu::i64 ", symbol_name(symbol));
      separator = ", ";
    }
    if (!launch_.scratch_bytes.is_int(0)) text += concat(separator, "unsigned char* scratch");
    return text + ")";
  }

  // ---- The walk over units

  void write_body() {
    const std::string_view thread = dialect_.thread_index;
    const std::string_view block = dialect_.block_index;
    const std::string_view grid = dialect_.grid_size;
    out_.block("", [&] {
      const std::string units = exprs_.write_index(launch_.units);
      const std::string width = concat(nest_.threads, "ll");
      const std::string first =
          nest_.is_cooperative ? std::string(block) : concat(block, " * ", width, " + ", thread);
      const std::string step =
          nest_.is_cooperative ? std::string(grid) : concat(grid, " * ", width);
      out_.block(
          concat("for (gpu::i64 unit = ", first, "; unit < ", units, "; unit += ", step, ")"), [&] {
            split_unit();
            if (nest_.is_cooperative) {
              write_shared(*nest_.body);
              synchronize_if_pending();
            } else {
              write_private(*nest_.body);
            }
          });
    });
  }

  /// The loop variables of this unit that are used, the innermost loop running fastest.
  void split_unit() {
    Touched touched;
    touch(*nest_.body, touched);
    size_t first_used = 0;
    while (first_used < nest_.units.size() &&
           !touched.vars.contains(nest_.units[first_used]->var)) {
      ++first_used;
    }
    std::string rest = "unit";
    for (size_t k = nest_.units.size(); k-- > first_used;) {
      const Loop& loop = *nest_.units[k];
      const std::string var = GpuExprWriter::var_name(loop.var);
      if (k == 0) {
        out_.line("const gpu::i64 ", var, " = ", rest, ";");
        continue;
      }
      std::string extent = exprs_.write_index(loop.extent);
      if (extent.find(' ') != std::string::npos) extent = concat("(", extent, ")");
      if (touched.vars.contains(loop.var)) {
        out_.line("const gpu::i64 ", var, " = ", rest, " % ", extent, ";");
      }
      if (k == first_used) continue;
      const std::string next = concat("unit", k);
      out_.line("const gpu::i64 ", next, " = ", rest, " / ", extent, ";");
      rest = next;
    }
  }

  // ---- Code of one thread

  void write_private(const Block& block) {
    for (const Stmt& stmt : block) write_private(stmt);
  }

  void write_private(const Stmt& stmt) {
    if (const auto* loop = std::get_if<Loop>(&stmt.is)) {
      write_for(*loop, [&] { write_private(loop->body); });
    } else if (const auto* reduction = std::get_if<ReduceLoop>(&stmt.is)) {
      const std::vector<std::string> names = begin_reduction(*reduction, false);
      write_for(*reduction, [&] {
        write_private(reduction->body);
        gather(*reduction, names);
      });
    } else if (const auto* let = std::get_if<Let>(&stmt.is)) {
      write_let(*let);
    } else if (const auto* store = std::get_if<Store>(&stmt.is)) {
      write_store(*store, "");
    } else if (const auto* alloc = std::get_if<Alloc>(&stmt.is)) {
      place_private(*alloc);
    } else if (const auto* branch = std::get_if<If>(&stmt.is)) {
      out_.block(concat("if (", exprs_.write(branch->condition), ")"),
                 [&] { write_private(branch->body); });
    }
  }

  template <class AnyLoop, class Body>
  void write_for(const AnyLoop& loop, Body body, std::string_view first = "0",
                 std::string_view step = "") {
    const std::string var = GpuExprWriter::var_name(loop.var);
    std::string extent = exprs_.write_index(loop.extent);
    if (extent.find(' ') != std::string::npos) {
      const std::string name = concat("n", loop.var.value);
      out_.line("const gpu::i64 ", name, " = ", extent, ";");
      extent = name;
    }
    const std::string next = step.empty() ? concat("++", var) : concat(var, " += ", step);
    out_.block(
        concat("for (gpu::i64 ", var, " = ", first, "; ", var, " < ", extent, "; ", next, ")"),
        body);
  }

  void write_let(const Let& let) {
    const std::string value = exprs_.write(let.value);
    out_.line("const ", value_type(let.value.dtype()), " ", GpuExprWriter::local_name(let.local),
              " = ", value, ";");
  }

  /// `guard` is a further condition, or empty.
  void write_store(const Store& store, std::string guard) {
    if (store.predicate) {
      const std::string predicate = exprs_.write(store.predicate);
      guard = guard.empty() ? predicate : concat(guard, " && (", predicate, ")");
    }
    const auto write = [&] {
      const auto texts = exprs_.write({store.offset, store.value});
      const std::string offset =
          store.offset.as_int() ? exprs_.write_index(store.offset) : texts[0];
      out_.line(exprs_.buffer_name(store.buffer), "[", offset, "] = ", texts[1], ";");
    };
    if (guard.empty()) {
      write();
    } else {
      out_.block(concat("if (", guard, ")"), write);
    }
  }

  /// Declares the accumulators. Of a reduction that the block joins they hold a thread's part.
  std::vector<std::string> begin_reduction(const ReduceLoop& reduction, bool is_part) {
    std::vector<std::string> names;
    for (const Accumulator& a : reduction.accumulators) {
      const DType dtype = a.value.dtype();
      names.push_back((is_part ? "part_" : "") + GpuExprWriter::local_name(a.local));
      out_.line(value_type(dtype), " ", names.back(), " = ", GpuExprWriter::neutral(a.kind, dtype),
                ";");
    }
    return names;
  }

  void gather(const ReduceLoop& reduction, const std::vector<std::string>& names) {
    Exprs values;
    for (const Accumulator& a : reduction.accumulators) values.push_back(a.value);
    const auto texts = exprs_.write(values);
    for (size_t k = 0; k < names.size(); ++k) {
      const Accumulator& a = reduction.accumulators[k];
      out_.line(GpuExprWriter::join(a.kind, a.value.dtype(), names[k], texts[k]), ";");
    }
  }

  // ---- Code that the threads of a block run together. Control flow and locals are the same in
  // all of them; loops of mode vector are divided among them.

  void write_shared(const Block& block) {
    for (const Stmt& stmt : block) write_shared(stmt);
  }

  void write_shared(const Stmt& stmt) {
    if (const auto* loop = std::get_if<Loop>(&stmt.is)) {
      write_shared_loop(stmt, *loop);
    } else if (const auto* reduction = std::get_if<ReduceLoop>(&stmt.is)) {
      write_shared_reduction(stmt, *reduction);
    } else if (const auto* let = std::get_if<Let>(&stmt.is)) {
      before(touched_by(stmt));
      write_let(*let);
    } else if (const auto* store = std::get_if<Store>(&stmt.is)) {
      before(touched_by(stmt));
      write_store(*store, concat(dialect_.thread_index, " == 0"));
    } else if (const auto* alloc = std::get_if<Alloc>(&stmt.is)) {
      place_shared(*alloc);
    } else if (const auto* branch = std::get_if<If>(&stmt.is)) {
      before(touched_by(branch->condition));
      const Pending was_pending = pending_;
      out_.block(concat("if (", exprs_.write(branch->condition), ")"),
                 [&] { write_shared(branch->body); });
      pending_.add(was_pending);
    }
  }

  void write_shared_loop(const Stmt& stmt, const Loop& loop) {
    if (loop.mode == LoopMode::vector) {
      before(touched_by(stmt));
      write_for(
          loop, [&] { write_private(loop.body); }, dialect_.thread_index, concat(nest_.threads));
      return;
    }
    synchronize_before(touched_by(stmt));
    before(touched_by(loop.extent));
    write_rounds(loop, [&] { write_shared(loop.body); });
  }

  void write_shared_reduction(const Stmt& stmt, const ReduceLoop& reduction) {
    if (reduction.mode != LoopMode::vector) {
      synchronize_before(touched_by(stmt));
      before(touched_by(reduction.extent));
      const std::vector<std::string> names = begin_reduction(reduction, false);
      write_rounds(reduction, [&] {
        write_shared(reduction.body);
        Touched values;
        for (const Accumulator& a : reduction.accumulators) touch(a.value, values);
        before(values);
        gather(reduction, names);
      });
      return;
    }
    before(touched_by(stmt));
    const std::vector<std::string> names = begin_reduction(reduction, true);
    write_for(
        reduction,
        [&] {
          write_private(reduction.body);
          gather(reduction, names);
        },
        dialect_.thread_index, concat(nest_.threads));
    for (size_t k = 0; k < names.size(); ++k) {
      const Accumulator& a = reduction.accumulators[k];
      out_.line("const ", value_type(a.value.dtype()), " ", GpuExprWriter::local_name(a.local),
                " = ",
                fill(dialect_.block_reduce, {{"op", std::string(reduction_name(a.kind))},
                                             {"threads", concat(nest_.threads)},
                                             {"value", names[k]}}),
                ";");
    }
    // A block of one warp is joined without a barrier.
    if (nest_.threads > dialect_.warp_size && !names.empty()) pending_ = {};
  }

  /// A loop that all threads run. A round ends with nothing pending, since another may follow; what
  /// was pending before the loop may still be so afterwards unless it is known to run.
  template <class AnyLoop, class Body>
  void write_rounds(const AnyLoop& loop, Body body) {
    const Pending was_pending = pending_;
    write_for(loop, [&] {
      body();
      synchronize_if_pending();
    });
    if (range_of(loop.extent).lo < 1) pending_ = was_pending;
  }

  // ---- Barriers

  /// Accesses since the last barrier to memory through which threads can meet.
  struct Pending {
    std::set<uint32_t> loaded;
    std::set<uint32_t> stored;
    bool any() const { return !loaded.empty() || !stored.empty(); }
    void add(const Pending& other) {
      loaded.insert(other.loaded.begin(), other.loaded.end());
      stored.insert(other.stored.begin(), other.stored.end());
    }
  };

  /// Buffers that are written and read here; scratch of the block joins them when it is placed.
  void find_shared_state(const Touched& touched) {
    for (const uint32_t b : touched.stored) {
      if (b < kernel_.buffers.size() && touched.loaded.contains(b)) meeting_.insert(b);
    }
  }

  static bool meets(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
    return std::ranges::any_of(a, [&](uint32_t x) { return b.contains(x); });
  }

  /// Puts a barrier here if what comes next would meet accesses of other threads.
  void synchronize_before(const Touched& next) {
    if (meets(next.loaded, pending_.stored) || meets(next.stored, pending_.stored) ||
        meets(next.stored, pending_.loaded)) {
      synchronize();
    }
  }

  /// The same, and notes what comes next as pending.
  void before(const Touched& next) {
    synchronize_before(next);
    for (const uint32_t b : next.loaded) {
      if (meeting_.contains(b)) pending_.loaded.insert(b);
    }
    for (const uint32_t b : next.stored) {
      if (meeting_.contains(b)) pending_.stored.insert(b);
    }
  }

  void synchronize() {
    out_.line(dialect_.barrier, ";");
    pending_ = {};
  }

  void synchronize_if_pending() {
    if (pending_.any()) synchronize();
  }

  // ---- Scratch

  std::string name_scratch(const Alloc& alloc) {
    std::string name = concat("scratch_", alloc.buffer);
    exprs_.name_buffer(alloc.buffer, name);
    check_type(alloc.dtype, name);
    return name;
  }

  static int64_t element_bytes(const Alloc& alloc) { return bits(alloc.dtype) / 8; }

  /// Bytes of a scratch buffer at most; none if that is not known or absurd.
  static std::optional<int64_t> most_bytes(const Alloc& alloc) {
    const int64_t most = range_of(alloc.elements).hi;
    if (most < 0 || most > (int64_t{1} << 32)) return std::nullopt;
    return std::max<int64_t>(most, 1) * element_bytes(alloc);
  }

  void place_private(const Alloc& alloc) {
    const std::string name = name_scratch(alloc);
    const auto most = most_bytes(alloc);
    if (most && private_bytes_ + *most <= kMaxPrivateBytes) {
      private_bytes_ += *most;
      out_.line(storage_type(alloc.dtype), " ", name, "[", *most / element_bytes(alloc), "];");
      return;
    }
    place_global(alloc, name, nest_.threads, concat(dialect_.thread_index));
  }

  void place_shared(const Alloc& alloc) {
    const std::string name = name_scratch(alloc);
    meeting_.insert(alloc.buffer);
    const auto most = most_bytes(alloc);
    if (most && shared_bytes_ + *most + kReductionBytes <= dialect_.max_shared_bytes) {
      shared_bytes_ += *most;
      out_.line(fill(dialect_.shared, {{"type", std::string(storage_type(alloc.dtype))},
                                       {"name", name},
                                       {"count", concat(*most / element_bytes(alloc))}}),
                ";");
      return;
    }
    place_global(alloc, name, 1, "");
  }

  /// A piece of the launch's scratch: `copies` of it a block, this thread's at `index` among them.
  void place_global(const Alloc& alloc, const std::string& name, int64_t copies,
                    const std::string& index) {
    Expr elements = alloc.elements;
    if (depends_on_any(elements, nest_.units) || !is_dim(elements)) {
      // Its size differs from unit to unit; all get the largest.
      const auto most = most_bytes(alloc);
      if (!most) {
        error_ = concat(dialect_.name, ": kernel '", kernel_.name, "': scratch of ",
                        to_text(elements), " elements has no bound");
        return;
      }
      elements = pool_.integer(*most / element_bytes(alloc));
    }
    const Expr bytes = ceildiv(elements * element_bytes(alloc), 16) * 16;
    const Expr before = launch_.scratch_bytes;
    launch_.scratch_bytes = before + bytes * copies;
    // How much a block has in all is known at the end only, so pieces are laid out one after the
    // other, each for all blocks.
    const auto texts = exprs_.write({before, bytes});
    std::string number = concat(dialect_.block_index);
    if (copies > 1) number = concat("(", number, " * ", copies, "ll + ", index, ")");
    out_.line(storage_type(alloc.dtype), "* const ", name, " = reinterpret_cast<",
              storage_type(alloc.dtype), "*>(scratch + (", texts[0], ") * ", dialect_.grid_size,
              " + ", number, " * (", texts[1], "));");
  }

  static bool is_dim(Expr expr) {
    bool only_dims = true;
    for_each(expr, [&](Expr e) {
      only_dims &= e.kind() != ExprKind::index && e.kind() != ExprKind::local &&
                   e.kind() != ExprKind::load && e.kind() != ExprKind::reduce;
    });
    return only_dims;
  }

  const Kernel& kernel_;
  const Dialect& dialect_;
  ExprPool& pool_;
  const Nest nest_;
  Writer out_;
  GpuExprWriter exprs_;
  GpuLaunch launch_;
  std::string error_;
  std::set<uint32_t> meeting_;  // buffers through which threads of a block can meet
  Pending pending_;
  int64_t private_bytes_ = 0;
  int64_t shared_bytes_ = 0;
};

/// Nests at the top of a kernel run one after the other only if they are launches of their own.
bool is_sequence_of_nests(const Block& block) {
  return block.size() > 1 && std::ranges::all_of(block, [](const Stmt& stmt) {
           const auto* loop = std::get_if<Loop>(&stmt.is);
           return loop != nullptr && loop->mode == LoopMode::parallel;
         });
}

}  // namespace

Result<GpuKernel> emit_gpu(const Kernel& kernel, const Dialect& dialect) {
  std::vector<Block> nests;
  if (is_sequence_of_nests(kernel.body)) {
    for (const Stmt& stmt : kernel.body) nests.push_back({stmt});
  } else if (!kernel.body.empty()) {
    nests.push_back(kernel.body);
  }
  GpuKernel result;
  for (const std::string& node : kernel.provenance) {
    result.text += concat("// from ", to_comment(node), "\n");
  }
  for (size_t k = 0; k < nests.size(); ++k) {
    const std::string name = nests.size() == 1 ? kernel.name : concat(kernel.name, "_", k);
    TRY(GpuLaunch launch, LaunchEmitter(kernel, dialect, nests[k], name).emit(result.text));
    result.launches.push_back(std::move(launch));
  }
  return result;
}

int64_t block_count(const GpuLaunch& launch, std::span<const int64_t> symbols) {
  const int64_t units = evaluate_dim(launch.units, symbols);
  if (units <= 0) return 0;
  return std::min((units - 1) / launch.units_per_block + 1, launch.max_blocks);
}

}  // namespace ingot
