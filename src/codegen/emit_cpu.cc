// codegen/emit_cpu.cc: loop nests as C++ text on codegen/prelude/cpu.
#include "codegen/emit_cpu.h"

#include "base/text.h"

namespace ingot {
namespace {

class KernelWriter {
 public:
  KernelWriter(Writer& out, const Kernel& kernel)
      : out_(out), kernel_(kernel), exprs_(out, *kernel.pool), statements_(out, exprs_) {}

  void write() {
    write_provenance(out_, kernel_.provenance);
    out_.block(concat("void ", kernel_.name,
                      "([[maybe_unused]] const KernelArgs& args, i64 begin, i64 end)"),
               [&] { function_body(); });
  }

 private:
  void function_body() {
    for (uint32_t k = 0; k < kernel_.buffers.size(); ++k) {
      const BufferParam& buffer = kernel_.buffers[k];
      const std::string name = concat(to_identifier(buffer.name), "_", k);
      exprs_.name_buffer(k, name, buffer.dtype);
      out_.line(declare_operand(name, k, buffer.dtype, buffer.written));
    }
    declare_symbols();
    // The parallel loops become one loop over units.
    std::vector<const Loop*> parallel;
    const Block* at = &kernel_.body;
    while (at->size() == 1) {
      const Loop* loop = std::get_if<Loop>(&(*at)[0].is);
      if (loop == nullptr || loop->mode != LoopMode::parallel) break;
      parallel.push_back(loop);
      at = &loop->body;
    }
    out_.block("for (i64 unit = begin; unit < end; ++unit)", [&] {
      std::vector<std::string> names;
      for (const Loop* loop : parallel) names.push_back(statements_.name_var(loop->var, "i"));
      std::string rest = "unit";
      for (size_t k = parallel.size(); k-- > 0;) {
        const std::string extent = statements_.write_scalar(parallel[k]->extent);
        const std::string value = k == 0 ? rest : concat(rest, " % ", extent);
        out_.line("[[maybe_unused]] const i64 ", names[k], " = ", value, ";");
        if (k > 0) {
          const std::string next = exprs_.fresh("rest");
          out_.line("const i64 ", next, " = ", rest, " / ", extent, ";");
          rest = next;
        }
      }
      statements_.block(*at);
    });
  }

  void declare_symbols() {
    std::set<uint32_t> symbols;
    collect(kernel_.body, symbols);
    for (uint32_t id : symbols) {
      const Expr symbol = kernel_.pool->symbol(kernel_.pool->symbol_info(SymbolId(id)).name);
      out_.line("[[maybe_unused]] const i64 ", cpu_symbol(symbol), " = args.symbols[", id, "];");
    }
  }

  void collect(const Block& block, std::set<uint32_t>& symbols) {
    const auto add = [&](Expr e) {
      if (e) symbols.merge(symbols_of(e));
    };
    for (const Stmt& stmt : block) {
      std::visit(
          [&]<class T>(const T& s) {
            if constexpr (std::is_same_v<T, Loop>) {
              add(s.extent);
              collect(s.body, symbols);
            } else if constexpr (std::is_same_v<T, ReduceLoop>) {
              add(s.extent);
              collect(s.body, symbols);
              for (const Accumulator& a : s.accumulators) add(a.value);
            } else if constexpr (std::is_same_v<T, Let>) {
              add(s.value);
            } else if constexpr (std::is_same_v<T, Store>) {
              add(s.offset);
              add(s.value);
              add(s.predicate);
            } else if constexpr (std::is_same_v<T, Alloc>) {
              add(s.elements);
            } else {
              add(s.condition);
              collect(s.body, symbols);
            }
          },
          stmt.is);
    }
  }

  Writer& out_;
  const Kernel& kernel_;
  CpuExprWriter exprs_;
  CpuStmtWriter statements_;
};

}  // namespace

void write_provenance(Writer& out, const std::vector<std::string>& provenance) {
  constexpr size_t kMost = 8;
  for (size_t k = 0; k < std::min(provenance.size(), kMost); ++k) {
    out.line("// ", to_comment(provenance[k]));
  }
  if (provenance.size() > kMost) out.line("// and ", provenance.size() - kMost, " more");
}

std::string emit_cpu(const Kernel& kernel) {
  Writer out;
  KernelWriter(out, kernel).write();
  return out.take();
}

}  // namespace ingot
