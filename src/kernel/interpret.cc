// kernel/interpret.cc: the meaning of expressions and kernels, slow and obvious.
//
// Floating-point values are fp64 whatever their type, but casts to formats narrower than f32 round,
// and a buffer of such a format holds rounded values. Integers are exact in their width.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "kernel/program.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

class AskedLeaves : public Surroundings {
 public:
  AskedLeaves(ExprPool& pool, const std::function<Scalar(Expr)>& leaf) : pool_(pool), leaf_(leaf) {}

  Scalar symbol(SymbolId id) override {
    const std::string name = std::as_const(pool_).symbol_info(id).name;
    return leaf_(pool_.symbol(name));
  }
  Scalar index(VarId var) override {
    const auto bound = bound_.find(var);
    return bound != bound_.end() ? bound->second : leaf_(pool_.index(var));
  }
  Scalar param(Expr param) override { return leaf_(param); }
  Scalar local(Expr local) override { return leaf_(local); }
  Scalar load(Expr load, int64_t offset) override {
    return leaf_(pool_.load(load.buffer(), load.dtype(), pool_.integer(offset)));
  }
  void bind(VarId var, int64_t value) override { bound_[var] = make_integer(value, DType::i64); }

 private:
  ExprPool& pool_;
  const std::function<Scalar(Expr)>& leaf_;
  std::unordered_map<VarId, Scalar> bound_;
};

class SymbolValues : public Surroundings {
 public:
  explicit SymbolValues(std::span<const int64_t> values) : values_(values) {}

  Scalar symbol(SymbolId id) override {
    CHECK(id.index() < values_.size(), "no value for symbol ", id, ", got ", values_.size());
    return make_integer(values_[id.index()], DType::i64);
  }
  Scalar index(VarId) override {
    CHECK(false, "a dimension has no loop variables");
    return {};
  }
  Scalar param(Expr) override {
    CHECK(false, "a dimension has no params");
    return {};
  }
  Scalar local(Expr) override {
    CHECK(false, "a dimension has no locals");
    return {};
  }
  Scalar load(Expr, int64_t) override {
    CHECK(false, "a dimension has no loads");
    return {};
  }
  void bind(VarId, int64_t) override {}

 private:
  std::span<const int64_t> values_;
};

/// A buffer as the interpreter sees it.
struct Memory {
  std::string name;
  BufferValues* values = nullptr;
  int64_t elements = 0;
  std::vector<bool> defined;  // scratch only; empty: all of it
};

class Interpreter : public Surroundings {
 public:
  Interpreter(const Kernel& kernel, std::span<const int64_t> symbols,
              std::span<BufferValues> buffers)
      : kernel_(kernel), symbols_(symbols), buffers_(buffers) {}

  Status run() {
    TRY_STATUS(bind_buffers());
    run_block(kernel_.body);
    return mistake_ ? Status(*mistake_) : ok();
  }

  Scalar symbol(SymbolId id) override {
    if (id.index() < symbols_.size()) return make_integer(symbols_[id.index()], DType::i64);
    fail(fmt::format("symbol {} has no value", std::as_const(*kernel_.pool).symbol_info(id).name));
    return make_integer(0, DType::i64);
  }
  Scalar index(VarId var) override { return make_integer(indices_[var], DType::i64); }
  Scalar param(Expr param) override {
    fail(fmt::format("p{} has no value in a kernel", param.payload()));
    return make_integer(0, param.dtype());
  }
  Scalar local(Expr local) override {
    const auto found = locals_.find(static_cast<uint32_t>(local.payload()));
    if (found != locals_.end()) return found->second;
    fail(fmt::format("t{} is read before it is defined", local.payload()));
    return is_float(local.dtype()) ? make_real(0, local.dtype()) : make_integer(0, local.dtype());
  }
  Scalar load(Expr load, int64_t offset) override {
    const DType dtype = load.dtype();
    const Memory* memory = access(load.buffer(), dtype, offset, "load");
    if (memory == nullptr) return is_float(dtype) ? make_real(0, dtype) : make_integer(0, dtype);
    const size_t at = static_cast<size_t>(offset);
    if (!memory->defined.empty() && !memory->defined[at]) {
      fail(fmt::format("load of {}[{}], which nothing was stored to", memory->name, offset));
    }
    return is_float(dtype) ? make_real(memory->values->reals[at], dtype)
                           : make_integer(memory->values->ints[at], dtype);
  }
  void bind(VarId var, int64_t value) override { indices_[var] = value; }

 private:
  void fail(std::string_view what) {
    if (!mistake_) mistake_ = invalid_argument("kernel ", kernel_.name, ": ", what);
  }

  Status bind_buffers() {
    if (buffers_.size() != kernel_.buffers.size()) {
      return invalid_argument("kernel ", kernel_.name, ": expected ", kernel_.buffers.size(),
                              " buffers, got ", buffers_.size());
    }
    for (size_t k = 0; k < buffers_.size(); ++k) {
      const BufferParam& param = kernel_.buffers[k];
      BufferValues& values = buffers_[k];
      const int64_t elements = value(param.elements).integer;
      if (mistake_) return *mistake_;
      const size_t given = is_float(values.dtype) ? values.reals.size() : values.ints.size();
      if (values.dtype != param.dtype || static_cast<int64_t>(given) < elements) {
        return invalid_argument("kernel ", kernel_.name, ", buffer ", param.name, ": expected ",
                                elements, " elements of ", param.dtype, ", got ", given, " of ",
                                values.dtype);
      }
      memories_.emplace(static_cast<uint32_t>(k), Memory{param.name, &values, elements, {}});
    }
    return ok();
  }

  Memory* access(uint32_t buffer, DType dtype, int64_t offset, std::string_view verb) {
    const auto found = memories_.find(buffer);
    if (found == memories_.end()) {
      fail(fmt::format("{} of b{}, which does not exist", verb, buffer));
      return nullptr;
    }
    Memory& memory = found->second;
    if (memory.values->dtype != dtype) {
      fail(fmt::format("{} of {} as {}, which holds {}", verb, memory.name, to_text(dtype),
                       to_text(memory.values->dtype)));
      return nullptr;
    }
    if (offset < 0 || offset >= memory.elements) {
      fail(fmt::format("{} of {}[{}], which has {} elements", verb, memory.name, offset,
                       memory.elements));
      return nullptr;
    }
    return &memory;
  }

  Scalar value(Expr expr) {
    auto& program = programs_[expr.id()];
    if (!program) program = std::make_unique<Program>(expr);
    return program->run(*this);
  }

  void run_block(const Block& block) {
    for (const Stmt& stmt : block) {
      if (mistake_) return;
      std::visit([&](const auto& is) { run_stmt(is); }, stmt.is);
    }
  }

  void run_stmt(const Loop& loop) {
    const int64_t extent = value(loop.extent).integer;
    for (int64_t k = 0; k < extent && !mistake_; ++k) {
      bind(loop.var, k);
      run_block(loop.body);
    }
  }

  void run_stmt(const ReduceLoop& loop) {
    const int64_t extent = value(loop.extent).integer;
    std::vector<Scalar> sums;
    for (const Accumulator& accumulator : loop.accumulators) {
      sums.push_back(neutral(accumulator.kind, accumulator.value.dtype()));
    }
    for (int64_t k = 0; k < extent && !mistake_; ++k) {
      bind(loop.var, k);
      run_block(loop.body);
      for (size_t a = 0; a < sums.size(); ++a) {
        const Accumulator& accumulator = loop.accumulators[a];
        sums[a] = gather(accumulator.kind, sums[a], value(accumulator.value));
      }
    }
    for (size_t a = 0; a < sums.size(); ++a) locals_[loop.accumulators[a].local.value] = sums[a];
  }

  void run_stmt(const Let& let) { locals_[let.local.value] = value(let.value); }

  void run_stmt(const Store& store) {
    if (store.predicate && value(store.predicate).integer == 0) return;
    const int64_t offset = value(store.offset).integer;
    const Scalar stored = value(store.value);
    Memory* memory = access(store.buffer, stored.dtype, offset, "store");
    if (memory == nullptr) return;
    const size_t at = static_cast<size_t>(offset);
    if (is_float(stored.dtype)) {
      memory->values->reals[at] = stored.real;
    } else {
      memory->values->ints[at] = stored.integer;
    }
    if (!memory->defined.empty()) memory->defined[at] = true;
  }

  void run_stmt(const Alloc& alloc) {
    const int64_t elements = value(alloc.elements).integer;
    constexpr int64_t kMost = int64_t{1} << 32;
    if (elements < 0 || elements > kMost) {
      return fail(
          fmt::format("b{}: expected a scratch size up to 2^32, got {}", alloc.buffer, elements));
    }
    auto& values = scratch_[alloc.buffer];
    if (!values) values = std::make_unique<BufferValues>();
    const size_t count = static_cast<size_t>(elements);
    values->dtype = alloc.dtype;
    values->reals.assign(is_float(alloc.dtype) ? count : 0, 0);
    values->ints.assign(is_float(alloc.dtype) ? 0 : count, 0);
    memories_[alloc.buffer] = {fmt::format("b{}", alloc.buffer), values.get(), elements,
                               std::vector<bool>(count, false)};
  }

  void run_stmt(const If& branch) {
    if (value(branch.condition).integer != 0) run_block(branch.body);
  }

  const Kernel& kernel_;
  std::span<const int64_t> symbols_;
  std::span<BufferValues> buffers_;
  std::unordered_map<uint32_t, Memory> memories_;
  std::unordered_map<uint32_t, std::unique_ptr<BufferValues>> scratch_;
  std::unordered_map<VarId, int64_t> indices_;
  std::unordered_map<uint32_t, Scalar> locals_;
  std::unordered_map<uint32_t, std::unique_ptr<Program>> programs_;
  std::optional<Error> mistake_;
};

}  // namespace

Scalar evaluate(Expr expr, const std::function<Scalar(Expr)>& leaf) {
  AskedLeaves leaves(expr.pool(), leaf);
  return Program(expr).run(leaves);
}

int64_t evaluate_dim(Expr expr, std::span<const int64_t> symbols) {
  if (const auto value = expr.as_int()) return *value;
  SymbolValues values(symbols);
  return Program(expr).run(values).integer;
}

Status interpret(const Kernel& kernel, std::span<const int64_t> symbols,
                 std::span<BufferValues> buffers) {
  return Interpreter(kernel, symbols, buffers).run();
}

}  // namespace ingot
