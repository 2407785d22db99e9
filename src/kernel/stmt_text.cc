// kernel/stmt_text.cc: the text form of kernels.
//
//   kernel row_sum
//   from "node of the model", "another"
//   symbol rows 0..2147483647 multiple_of 1
//   b0 "x": f32[rows * 4]
//   b1 "y": f32[rows] written
//   {
//     for i0 < rows parallel {
//       reduce i1 < 4 {
//       } sum t0 = b0[i0 * 4 + i1]
//       b1[i0] = t0 if i0 < 7
//     }
//   }
//
// Other statements: "t1 = value", "alloc b2: f32[16]", "if condition { ... }".
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "kernel/expr_text.h"
#include "kernel/reader.h"
#include "kernel/scalar.h"
#include "kernel/stmt.h"
#include "kernel/syntax.h"

namespace ingot {
namespace {

constexpr ReduceKind kReduceKinds[] = {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                       ReduceKind::max, ReduceKind::any,     ReduceKind::all};

/// Calls visit for every expression of a block.
void for_each_expr(const Block& block, const std::function<void(Expr)>& visit) {
  struct Visitor {
    const std::function<void(Expr)>& visit;
    void operator()(const Loop& loop) const {
      visit(loop.extent);
      for_each_expr(loop.body, visit);
    }
    void operator()(const ReduceLoop& loop) const {
      visit(loop.extent);
      for_each_expr(loop.body, visit);
      for (const Accumulator& accumulator : loop.accumulators) visit(accumulator.value);
    }
    void operator()(const Let& let) const { visit(let.value); }
    void operator()(const Store& store) const {
      visit(store.offset);
      visit(store.value);
      visit(store.predicate);
    }
    void operator()(const Alloc& alloc) const { visit(alloc.elements); }
    void operator()(const If& branch) const {
      visit(branch.condition);
      for_each_expr(branch.body, visit);
    }
  };
  for (const Stmt& stmt : block) std::visit(Visitor{visit}, stmt.is);
}

class Printer {
 public:
  std::string print(const Kernel& kernel) && {
    out_ += fmt::format("kernel {}\n", kernel.name);
    for (size_t k = 0; k < kernel.provenance.size(); ++k) {
      out_ += k == 0 ? "from " : ", ";
      out_ += quote_text(kernel.provenance[k]);
    }
    if (!kernel.provenance.empty()) out_ += '\n';
    print_symbols(kernel);
    for (size_t k = 0; k < kernel.buffers.size(); ++k) {
      const BufferParam& buffer = kernel.buffers[k];
      out_ += fmt::format("b{} {}: {}[{}]{}\n", k, quote_text(buffer.name), to_text(buffer.dtype),
                          text(buffer.elements), buffer.written ? " written" : "");
    }
    out_ += "{\n";
    print_block(kernel.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  static std::string text(Expr expr) { return to_text(expr, ExprTextOptions{.typed = false}); }

  void print_symbols(const Kernel& kernel) {
    std::set<SymbolId> used;
    const auto collect = [&](Expr expr) {
      if (!expr) return;
      for_each(expr, [&](Expr part) {
        if (part.kind() == ExprKind::symbol) used.insert(part.symbol());
      });
    };
    for (const BufferParam& buffer : kernel.buffers) collect(buffer.elements);
    for_each_expr(kernel.body, collect);
    for (const SymbolId id : used) {
      const Symbol& symbol = std::as_const(*kernel.pool).symbol_info(id);
      const bool is_plain = is_word(symbol.name) && !is_reserved(symbol.name);
      out_ += fmt::format("symbol {} {}..{}", is_plain ? symbol.name : quote_text(symbol.name),
                          symbol.range.lo, symbol.range.hi);
      if (symbol.divisor != 1) out_ += fmt::format(" multiple_of {}", symbol.divisor);
      if (symbol.data_dependent) out_ += " data_dependent";
      out_ += '\n';
    }
  }

  void line(int depth, std::string_view text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void print_block(const Block& block, int depth) {
    for (const Stmt& stmt : block) {
      std::visit([&](const auto& is) { print(is, depth); }, stmt.is);
    }
  }

  static std::string_view mode_text(LoopMode mode) {
    switch (mode) {
      case LoopMode::serial:
        return "";
      case LoopMode::parallel:
        return " parallel";
      case LoopMode::vector:
        return " vector";
    }
    INGOT_UNREACHABLE();
  }

  void print(const Loop& loop, int depth) {
    line(depth,
         fmt::format("for i{} < {}{} {{", loop.var.value, text(loop.extent), mode_text(loop.mode)));
    print_block(loop.body, depth + 1);
    line(depth, "}");
  }

  void print(const ReduceLoop& loop, int depth) {
    line(depth, fmt::format("reduce i{} < {}{} {{", loop.var.value, text(loop.extent),
                            mode_text(loop.mode)));
    print_block(loop.body, depth + 1);
    std::string end = "}";
    for (const Accumulator& accumulator : loop.accumulators) {
      end += fmt::format("{} {} t{} = {}", end.size() > 1 ? "," : "", name(accumulator.kind),
                         accumulator.local.value, text(accumulator.value));
    }
    line(depth, end);
  }

  void print(const Let& let, int depth) {
    line(depth, fmt::format("t{} = {}", let.local.value, text(let.value)));
  }

  void print(const Store& store, int depth) {
    std::string out =
        fmt::format("b{}[{}] = {}", store.buffer, text(store.offset), text(store.value));
    if (store.predicate) out += fmt::format(" if {}", text(store.predicate));
    line(depth, out);
  }

  void print(const Alloc& alloc, int depth) {
    line(depth, fmt::format("alloc b{}: {}[{}]", alloc.buffer, to_text(alloc.dtype),
                            text(alloc.elements)));
  }

  void print(const If& branch, int depth) {
    line(depth, fmt::format("if {} {{", text(branch.condition)));
    print_block(branch.body, depth + 1);
    line(depth, "}");
  }

  std::string out_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : reader_(text) {
    kernel_.pool = std::make_shared<ExprPool>();
    scope_.pool = kernel_.pool.get();
    scope_.name = [this](const Syntax& leaf) { return resolve(leaf); };
    scope_.buffer_dtype = [this](uint32_t buffer) -> std::optional<DType> {
      const auto found = buffers_.find(buffer);
      if (found == buffers_.end()) return std::nullopt;
      return found->second;
    };
    scope_.bound_index = [this](uint32_t number, Expr extent) { return declare(number, extent); };
  }

  Result<Kernel> parse() {
    TRY_STATUS(reader_.expect("kernel"));
    TRY(const std::string_view name, reader_.word("the kernel's name"));
    kernel_.name = name;
    if (reader_.accept("from")) {
      do {
        TRY(std::string origin, reader_.quoted("a node's name in quotes"));
        kernel_.provenance.push_back(std::move(origin));
      } while (reader_.accept(","));
    }
    while (reader_.accept("symbol")) TRY_STATUS(parse_symbol());
    while (reader_.peek() != "{") TRY_STATUS(parse_buffer());
    TRY(kernel_.body, parse_block());
    if (!reader_.at_end()) return reader_.mistake("the end of the kernel");
    return std::move(kernel_);
  }

 private:
  Result<Expr> resolve(const Syntax& leaf) {
    ExprPool& pool = *kernel_.pool;
    if (leaf.dtype) return reader_.mistake("a name without a type");
    if (leaf.was_quoted || !is_reserved(leaf.name)) {
      if (!pool.find_symbol(leaf.name)) {
        return invalid_argument(leaf.name, ": no symbol of that name is declared");
      }
      return pool.symbol(leaf.name);
    }
    if (const auto number = number_after('i', leaf.name)) {
      if (declared_.contains(*number)) return pool.index(VarId(*number));
    }
    if (const auto number = number_after('t', leaf.name)) {
      const auto found = locals_.find(*number);
      if (found != locals_.end()) return pool.local(LocalId(*number), found->second);
    }
    return invalid_argument(leaf.name, ": not defined before this use");
  }

  Result<Expr> parse_value() {
    const size_t start = reader_.position();
    TRY(const Syntax syntax, parse_syntax(reader_));
    return with_place(build(syntax, scope_), start);
  }

  /// An error of building with a note of where its text began; the reader's own say it already.
  Result<Expr> with_place(Result<Expr> result, size_t start) {
    if (result) return result;
    reader_.rewind(start);
    return add_note(std::move(result.error()), reader_.place());
  }

  Result<int64_t> parse_integer() {
    const bool is_negative = reader_.accept("-");
    TRY(const uint64_t value, reader_.natural("a number"));
    return static_cast<int64_t>(is_negative ? uint64_t{0} - value : value);
  }

  Status parse_symbol() {
    std::string name;
    if (reader_.peek().starts_with('"')) {
      TRY(name, reader_.quoted("a symbol's name"));
    } else {
      TRY(name, reader_.word("a symbol's name"));
    }
    if (kernel_.pool->find_symbol(name)) return reader_.mistake("a symbol declared only once");
    Symbol symbol = {.name = name, .range = {}, .divisor = 1, .data_dependent = false};
    TRY(symbol.range.lo, parse_integer());
    TRY_STATUS(reader_.expect(".."));
    TRY(symbol.range.hi, parse_integer());
    if (symbol.range.lo > symbol.range.hi) return reader_.mistake("a range that is not empty");
    if (reader_.accept("multiple_of")) {
      TRY(symbol.divisor, parse_integer());
      if (symbol.divisor < 1) return reader_.mistake("a positive divisor");
    }
    symbol.data_dependent = reader_.accept("data_dependent");
    const Expr expr = kernel_.pool->symbol(name);
    kernel_.pool->symbol_info(expr.symbol()) = symbol;
    return ok();
  }

  Result<DType> parse_dtype() {
    const auto dtype = dtype_from_name(reader_.peek());
    if (!dtype || !(is_float(*dtype) || is_integral(*dtype))) {
      return reader_.mistake("a type of numbers such as f32");
    }
    reader_.next();
    return *dtype;
  }

  Status parse_buffer() {
    TRY(const uint32_t number, reader_.numbered('b', "a buffer such as b0, or {"));
    if (number != kernel_.buffers.size()) {
      return reader_.mistake(fmt::format("buffer b{} next", kernel_.buffers.size()));
    }
    BufferParam buffer;
    TRY(buffer.name, reader_.quoted("the buffer's name in quotes"));
    TRY_STATUS(reader_.expect(":"));
    TRY(buffer.dtype, parse_dtype());
    TRY_STATUS(reader_.expect("["));
    TRY(buffer.elements, parse_value());
    TRY_STATUS(reader_.expect("]"));
    buffer.written = reader_.accept("written");
    buffers_[number] = buffer.dtype;
    kernel_.buffers.push_back(std::move(buffer));
    return ok();
  }

  Result<Block> parse_block() {
    constexpr int kDeepest = 64;
    TRY_STATUS(reader_.expect("{"));
    if (++depth_ > kDeepest) return reader_.mistake("at most 64 nested blocks");
    const auto outer_locals = locals_;
    const auto outer_buffers = buffers_;
    Block block;
    while (reader_.peek() != "}") {
      TRY(Stmt stmt, parse_stmt());
      block.push_back(std::move(stmt));
    }
    // What a reduction gathers is written behind its block and sees the names of it.
    inner_locals_ = std::move(locals_);
    inner_buffers_ = std::move(buffers_);
    locals_ = outer_locals;
    buffers_ = outer_buffers;
    --depth_;
    TRY_STATUS(reader_.expect("}"));
    return block;
  }

  Result<Stmt> parse_stmt() {
    if (reader_.accept("for")) return parse_loop();
    if (reader_.accept("reduce")) return parse_reduce();
    if (reader_.accept("alloc")) return parse_alloc();
    if (reader_.accept("if")) {
      If branch;
      TRY(branch.condition, parse_value());
      TRY(branch.body, parse_block());
      return Stmt{std::move(branch)};
    }
    if (number_after('t', reader_.peek())) {
      Let let;
      TRY(let.local, parse_local());
      TRY_STATUS(reader_.expect("="));
      TRY(let.value, parse_value());
      locals_[let.local.value] = let.value.dtype();
      return Stmt{let};
    }
    return parse_store();
  }

  Result<LocalId> parse_local() {
    TRY(const uint32_t number, reader_.numbered('t', "a local such as t0"));
    if (locals_.contains(number)) return reader_.mistake("a local that is not defined yet");
    return LocalId(number);
  }

  Result<Expr> declare(uint32_t number, Expr extent) {
    constexpr uint32_t kLargest = 1 << 20;  // the pool's table of variables goes up to the largest
    const VarId var{number};
    ExprPool& pool = *kernel_.pool;
    if (number > kLargest) return invalid_argument("i", number, ": expected a number up to 2^20");
    if (extent.dtype() != DType::i64) {
      return invalid_argument("i", number, ": expected an i64 extent, got ", extent.dtype());
    }
    declared_.insert(number);
    if (!pool.has_index(var)) return pool.numbered_index(var, extent);
    if (pool.extent(var) == extent) return pool.index(var);
    return invalid_argument("i", number, ": has another extent already, ",
                            to_text(pool.extent(var)));
  }

  struct Header {
    VarId var;
    Expr extent;
    LoopMode mode = LoopMode::serial;
  };

  Result<Header> parse_header() {
    Header header;
    const size_t start = reader_.position();
    TRY(const uint32_t number, reader_.numbered('i', "a loop variable such as i0"));
    TRY_STATUS(reader_.expect("<"));
    TRY(header.extent, parse_value());
    TRY([[maybe_unused]] const Expr index, with_place(declare(number, header.extent), start));
    header.var = VarId(number);
    if (reader_.accept("parallel")) header.mode = LoopMode::parallel;
    if (reader_.accept("vector")) header.mode = LoopMode::vector;
    return header;
  }

  Result<Stmt> parse_loop() {
    TRY(const Header header, parse_header());
    TRY(Block body, parse_block());
    return Stmt{Loop{header.var, header.extent, header.mode, std::move(body)}};
  }

  Result<ReduceKind> parse_reduce_kind() {
    for (const ReduceKind kind : kReduceKinds) {
      if (reader_.accept(name(kind))) return kind;
    }
    return reader_.mistake("a reduction such as sum");
  }

  bool is_at_reduce_kind() {
    return std::any_of(std::begin(kReduceKinds), std::end(kReduceKinds),
                       [&](ReduceKind kind) { return reader_.peek() == name(kind); });
  }

  Result<Stmt> parse_reduce() {
    TRY(const Header header, parse_header());
    ReduceLoop loop = {header.var, header.extent, header.mode, {}, {}};
    TRY(loop.body, parse_block());
    std::swap(locals_, inner_locals_);
    std::swap(buffers_, inner_buffers_);
    const auto outer_locals = inner_locals_;
    const auto outer_buffers = inner_buffers_;
    if (is_at_reduce_kind()) {
      do {
        Accumulator accumulator;
        TRY(accumulator.kind, parse_reduce_kind());
        TRY(accumulator.local, parse_local());
        TRY_STATUS(reader_.expect("="));
        TRY(accumulator.value, parse_value());
        loop.accumulators.push_back(accumulator);
      } while (reader_.accept(","));
    }
    locals_ = outer_locals;
    buffers_ = outer_buffers;
    for (const Accumulator& accumulator : loop.accumulators) {
      locals_[accumulator.local.value] = accumulator.value.dtype();
    }
    return Stmt{std::move(loop)};
  }

  Result<Stmt> parse_alloc() {
    Alloc alloc;
    TRY(alloc.buffer, reader_.numbered('b', "a buffer such as b0"));
    if (buffers_.contains(alloc.buffer)) return reader_.mistake("a buffer that does not exist yet");
    TRY_STATUS(reader_.expect(":"));
    TRY(alloc.dtype, parse_dtype());
    TRY_STATUS(reader_.expect("["));
    TRY(alloc.elements, parse_value());
    TRY_STATUS(reader_.expect("]"));
    buffers_[alloc.buffer] = alloc.dtype;
    return Stmt{alloc};
  }

  Result<Stmt> parse_store() {
    Store store;
    TRY(store.buffer, reader_.numbered('b', "a statement"));
    TRY_STATUS(reader_.expect("["));
    TRY(store.offset, parse_value());
    TRY_STATUS(reader_.expect("]"));
    TRY_STATUS(reader_.expect("="));
    TRY(store.value, parse_value());
    // "if" on a new line begins the next statement; on this line it is the predicate.
    if (reader_.accept_on_line("if")) {
      TRY(store.predicate, parse_value());
    }
    return Stmt{store};
  }

  Reader reader_;
  Kernel kernel_;
  Scope scope_;
  std::set<uint32_t> declared_;
  std::unordered_map<uint32_t, DType> locals_, inner_locals_;
  std::unordered_map<uint32_t, DType> buffers_, inner_buffers_;
  int depth_ = 0;
};

}  // namespace

std::string to_text(const Kernel& kernel) {
  return Printer().print(kernel);
}

Result<Kernel> parse_kernel(std::string_view text) {
  TRY(Kernel kernel, Parser(text).parse());
  TRY_STATUS(verify(kernel));
  return kernel;
}

}  // namespace ingot
